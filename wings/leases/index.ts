// The wing leases: one run executes an action, and others wait for its result.
import type { StepHook } from '../../client/run/step-hook.ts';
import type { Wing } from '../../core/cli/wing.ts';
import type { ServerPort } from '../../server/server-port.ts';

export const wing: Wing & ServerPort = {
  commands: {},
  server: async () => (await import('./part.ts')).leases(),
};

export const stepHook: StepHook = {
  lease: async (action, context, asked) => (await import('./runner/lease.ts')).lease(action, context, asked),
};
