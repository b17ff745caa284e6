// The wing backup: `assay store backup` and `assay store restore`.
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = {
  commands: {
    'store backup': {
      summary: 'copy a store into a folder, while servers use it',
      isServers: true,
      load: async () => (await import('./backup.ts')).backupCommand,
    },
    'store restore': {
      summary: 'make a new store from a backup',
      isServers: true,
      load: async () => (await import('./restore.ts')).restoreStoreCommand,
    },
  },
};
