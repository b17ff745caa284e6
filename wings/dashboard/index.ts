// The wing dashboard: what the server tells people, as pages and as JSON below /api/v1.
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {},
  server: async () => (await import('./part.ts')).dashboard(),
};
