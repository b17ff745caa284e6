// The wing verify-release: `assay verify-release`, the check of downloaded packages of Assay itself.
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    'verify-release': {
      summary: 'check downloaded packages of Assay: their digests, and who signed them',
      load: async () => (await import('./command.ts')).verifyReleaseCommand,
    },
  },
};
