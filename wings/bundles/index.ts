// The wing bundles: `assay export`, `assay import` and `assay show --bundle`, results that travel in one file.
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {
    export: {
      summary: 'write results with all that they name into one file',
      load: async () => (await import('./export-command.ts')).exportCommand,
    },
    import: {
      summary: 'take the results of such a file into the local store',
      load: async () => (await import('./import-command.ts')).importCommand,
    },
    'show --bundle': {
      summary: 'list what such a file has inside',
      load: async () => (await import('./show-command.ts')).showBundleCommand,
    },
  },
  server: async () => ({ routes: (await import('./server.ts')).bundlesApi }),
};
