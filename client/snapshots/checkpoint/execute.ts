// Runs a command whose progress is kept: its folders are put into place before, sealed from time to time while it runs and
// whenever it asks, and dropped when its result is published.
//
// The command finds the number of the checkpoint that it starts from in ASSAY_CHECKPOINT (0: from the beginning), and in
// ASSAY_CHECKPOINT_DESK the folder where it may ask. Neither is in the key: a result must not depend on them.
import { join } from 'node:path';
import { usage } from '../../../core/cli/command.ts';
import type { CheckpointPlan } from '../../action/checkpoint-plan.ts';
import type { RunContext } from '../../run/context.ts';
import { type Execution, execute, type Preparation } from '../../run/execute.ts';
import type { KeyedAction } from '../../run/key.ts';
import { Checkpoints } from './checkpoints.ts';
import { RequestFolder } from './request-folder.ts';

export interface Checkpointed {
  readonly execution: Execution;
  readonly checkpoints: Checkpoints;
}

export async function executeWithCheckpoints(
  action: KeyedAction,
  plan: CheckpointPlan,
  context: RunContext,
  preparation: Preparation,
): Promise<Checkpointed> {
  if (action.request.sandbox)
    throw usage('a sandbox shows a command its declaration only, and no checkpoints');
  if (action.request.observed)
    throw usage(
      'checkpoints are found by what is declared: with --inputs=observed they may be of other inputs',
    );
  const checkpoints = await Checkpoints.open(action, plan, context);
  let number = 0;
  let requests: RequestFolder | undefined;
  const timer = setInterval(() => void checkpoints.sealPeriodically(), plan.everyMs);
  try {
    const execution = await execute(action, context, {
      // A second attempt must not find what the first one left there and did not seal.
      async restoreState() {
        number = await checkpoints.restore();
        return preparation.restoreState?.();
      },
      unkeyed({ tmp }) {
        const folder = join(tmp, 'assay-checkpoint');
        requests?.close();
        requests = new RequestFolder(folder, () => checkpoints.seal());
        return { ASSAY_CHECKPOINT: String(number), ASSAY_CHECKPOINT_DESK: folder };
      },
    });
    // What earlier runs did of it belongs to it: a hit saves all of that.
    const { earlierMs } = checkpoints;
    const startedAt = execution.startedAt - earlierMs;
    return {
      execution: { ...execution, startedAt, commandMs: execution.commandMs + earlierMs },
      checkpoints,
    };
  } finally {
    clearInterval(timer);
    requests?.close();
  }
}
