// The wing prune: `assay prune`, the part of a workspace that one package needs.
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    prune: {
      summary: 'copy the part of a workspace that a package needs, with its part of the lock file',
      load: async () => (await import('./command.ts')).pruneCommand,
    },
  },
};
