// The wing init: `assay init`, which writes a first assay.json by watching what commands read and write.
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    init: {
      summary: 'write a first assay.json from scripts or a Makefile, by tracing them',
      load: async () => (await import('./command.ts')).initCommand,
    },
  },
};
