// The wing doctor: `assay doctor`, what is wrong with a set-up.
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    doctor: {
      summary: 'report what is wrong with this set-up, and how to fix it',
      load: async () => (await import('./command.ts')).doctorCommand,
    },
  },
};
