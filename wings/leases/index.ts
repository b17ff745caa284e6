// The wing leases: one run executes an action, and others wait for its result.
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {},
  server: async () => (await import('./part.ts')).leases(),
};
