// The wing agents: what programs that build and test all day ask of Assay: `assay status`, and memoised calls.
import type { LibraryPort } from '../../client/library/library-port.ts';
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    status: {
      summary: 'how each step ended last, and whether it would hit now',
      load: async () => (await import('./status/command.ts')).statusCommand,
    },
  },
};

export const library: LibraryPort = {
  call: async (...given) => (await import('./calls/call.ts')).call(...given),
};
