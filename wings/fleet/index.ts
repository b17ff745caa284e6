// The wing fleet: servers that share a store in PostgreSQL and a bucket; `assay db` and `assay store`.
import type { Wing } from '../../core/cli/wing.ts';
import type { EnginePort } from '../../server/commands/engine-port.ts';

export const wing: Wing & EnginePort = {
  commands: {
    db: {
      summary: 'create or update the tables of a fleet of servers',
      isServers: true,
      load: async () => (await import('./commands/db.ts')).dbCommand,
    },
    'store migrate': {
      summary: 'copy a store between a folder and a fleet of servers',
      isServers: true,
      load: async () => (await import('./commands/store.ts')).migrateCommand,
    },
    'store verify': {
      summary: 'read everything in a fleet of servers, and check it',
      isServers: true,
      load: async () => (await import('./commands/store.ts')).verifyFleetCommand,
    },
  },
  openStore: async (request) => (await import('./open-store.ts')).openStore(request),
};
