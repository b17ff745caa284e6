// The wing check-hits: the check of a hit, for `assay run --check-hits`.
import type { StepHook } from '../../client/run/step-hook.ts';
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing = { commands: {} };

export const stepHook: StepHook = {
  checkHit: async (hit, action, context, execute) =>
    (await import('./check-hit.ts')).checkHit(hit, action, context, execute),
};
