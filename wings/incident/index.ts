// The wing incident: `assay forget` and `assay divergences`, and what they ask of a server, for after something bad was cached.
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {
    divergences: {
      summary: 'list keys that have two different results, and where those differ',
      load: async () => (await import('./divergences.ts')).divergencesCommand,
    },
    forget: {
      summary: 'remove results by key, namespace, writer, time or bundle, after an incident',
      load: async () => (await import('./forget.ts')).forgetCommand,
    },
  },
  server: async () => ({ routes: (await import('./server/api.ts')).adminApi }),
};
