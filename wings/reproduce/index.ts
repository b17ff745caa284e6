// The wing reproduce: runs a command again under other conditions (`assay reproduce`, `assay audit --reproduce`).
import type { StepHook, StepHookPort } from '../../client/run/step-hook.ts';
import type { Wing } from '../../core/cli/wing.ts';

export const wing: Wing<StepHookPort> = {
  commands: {
    reproduce: {
      summary: 'run a command again under other conditions and report what its result depends on',
      load: async ({ stepHook }) => (await import('./command.ts')).reproduceCommand(stepHook),
    },
  },
};

export const stepHook: StepHook = {
  repeat: async (action, context, seen) =>
    (await import('./reproduce.ts')).reproduceAction(action, context, { seen }),
};
