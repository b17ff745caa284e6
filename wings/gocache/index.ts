// The wing gocache: `assay gocacheprog`, the cache program of the go command.
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    gocacheprog: {
      summary: 'store the go command’s cache: the helper process for GOCACHEPROG',
      load: async () => (await import('./command.ts')).gocacheprogCommand,
    },
  },
};
