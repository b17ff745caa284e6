// The wing vite-plus: the remote cache protocol of Vite+ (`vp run`), on the port of a server.
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {},
  server: async () => ({ routes: (await import('./routes.ts')).vitePlusRoutes }),
};
