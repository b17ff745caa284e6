// The wing agents, for programs that build and test all day: `assay status`, `assay mcp` and memoised calls.
import type { LibraryPort } from '../../client/library/library-port.ts';
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    mcp: {
      summary: 'serve the steps of this workspace to a coding agent',
      load: async () => (await import('./mcp/command.ts')).mcpCommand,
    },
    status: {
      summary: 'how each step ended last, and whether it would hit now',
      load: async () => (await import('./status/command.ts')).statusCommand,
    },
  },
};

export const library: LibraryPort = {
  call: async (...given) => (await import('./calls/call.ts')).call(...given),
};
