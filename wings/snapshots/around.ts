// What surrounds the command of a step that declares state or checkpoints: both are restored before it starts.
// When it has ended, its state is saved, and the checkpoints of a published result are dropped.

import type { KeyedAction } from '../../client/inputs/keyed-action.ts';
import type { RunContext } from '../../client/run/context.ts';
import { execute } from '../../client/run/execute.ts';
import type { AroundCommand } from '../../client/run/step-hook.ts';
import { Checkpoints } from './checkpoint/checkpoints.ts';
import { executeWithCheckpoints } from './checkpoint/execute.ts';
import { StateAroundRun } from './state/state-around-run.ts';
import { StateStore } from './state/state-store.ts';

export async function around(action: KeyedAction, context: RunContext): Promise<AroundCommand> {
  const { state: folders, checkpoint: plan } = action.request;
  const state = folders.length > 0 ? await StateAroundRun.open(action, context) : undefined;
  const checkpoints = plan && (await Checkpoints.open(action, plan, context));
  const preparation = state ? { restoreState: () => state.prepare() } : {};
  return {
    execute: () =>
      checkpoints
        ? executeWithCheckpoints(action, checkpoints, context, preparation)
        : execute(action, context, preparation),
    async finish(published, stateOf) {
      await checkpoints?.finish(published);
      if (stateOf) await state?.save(stateOf);
    },
  };
}

export async function restoreState(
  action: KeyedAction,
  context: RunContext,
  folder: string,
): Promise<boolean> {
  const store = await StateStore.open(action, context);
  return (await store?.restoreNearest(folder)) !== undefined;
}
