// Runs a command with checkpoints. Restores its folders before the start, seals them periodically and on
// request, and drops them once the result is published.
//
// ASSAY_CHECKPOINT holds the number of the restored checkpoint (0: none), ASSAY_CHECKPOINT_DESK the folder
// for requests. Neither is in the key: a result must not depend on them.
import { join } from 'node:path';
import type { KeyedAction } from '../../../client/inputs/keyed-action.ts';
import type { RunContext } from '../../../client/run/context.ts';
import { type Execution, execute, type Preparation } from '../../../client/run/execute.ts';
import type { Checkpoints } from './checkpoints.ts';
import { RequestFolder } from './request-folder.ts';

export async function executeWithCheckpoints(
  action: KeyedAction,
  checkpoints: Checkpoints,
  context: RunContext,
  preparation: Preparation,
): Promise<Execution> {
  let number = 0;
  let requests: RequestFolder | undefined;
  const timer = setInterval(() => void checkpoints.sealPeriodically(), checkpoints.plan.everyMs);
  try {
    const execution = await execute(action, context, {
      // A second attempt must not see unsealed files of the first.
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
    // The time of earlier runs counts: a hit saves all of it.
    const { earlierMs } = checkpoints;
    const startedAt = execution.startedAt - earlierMs;
    return { ...execution, startedAt, commandMs: execution.commandMs + earlierMs };
  } finally {
    clearInterval(timer);
    requests?.close();
  }
}
