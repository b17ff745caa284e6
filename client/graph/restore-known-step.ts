// Restores a step whose result is known from the up-to-date state but whose outputs were removed or changed.
// It needs no scan, key or path set. If anything prevents the restore, the step runs as usual.

import type { RunRequest } from '../action/request.ts';
import type { Step } from '../config/step.ts';
import type { IdentifiedAction } from '../inputs/keyed-action.ts';
import { withOutputLocks } from '../outputs/output-lock.ts';
import type { RunContext } from '../run/context.ts';
import type { Hit } from '../run/hit.ts';
import { outputStats } from '../run/in-place.ts';
import { resultAt } from '../run/lookup.ts';
import { isInPlace, restore } from '../run/restore-hit.ts';
import { finishHit, type RunSummary } from '../run/run.ts';
import type { RecordedResult } from '../up-to-date/state-recorder.ts';
import type { ExecuteContext } from './execute-step.ts';

export async function restoreKnown(
  step: Step,
  request: RunRequest,
  known: RecordedResult,
  context: ExecuteContext,
  own: RunContext,
): Promise<RunSummary | undefined> {
  const began = own.now();
  const hit = await resultAt(known.address, request, own);
  if (hit?.result !== known.result) return undefined;
  const action = { request, key: { hash: known.key } };
  const written =
    !known.lacksOutputs && isInPlace(hit, action, own)
      ? confirm(step, hit, action, context)
      : await write(step, hit, action, context, own);
  if (written === undefined) return undefined;
  const ran = finishHit(hit, written, action, own);
  const { receipt } = known;
  return { ...ran, key: known.key, ...(receipt && { receipt }), elapsedMs: own.now() - began };
}

/**
 * Outputs with a recent mtime count as unchanged for this run. The next run compares their contents again.
 */
function confirm(
  step: Step,
  { outputs }: Hit,
  action: IdentifiedAction,
  { recorder, cache }: ExecuteContext,
): number {
  const settled = cache.inPlace.of(action);
  if (settled) recorder.confirmed(step, settled);
  else recorder.restored(step, () => outputStats(outputs, action.request.workspace));
  return 0;
}

/** Undefined if the restore failed or another run held the lock; the step then runs as usual. */
function write(
  step: Step,
  hit: Hit,
  action: IdentifiedAction,
  { recorder, wrote, madeSteps }: ExecuteContext,
  own: RunContext,
): Promise<number | undefined> {
  const { request } = action;
  return withOutputLocks(request, own, async (waited, ownership) => {
    const restored = waited ? undefined : await restore(hit, action, { ...own, ownership });
    if (!restored || ownership.lost() !== undefined) return undefined;
    recorder.restored(step, () => outputStats(hit.outputs, request.workspace));
    wrote();
    if (restored.written > 0) madeSteps.add(step, action, hit, 'known', own.now());
    return restored.written;
  });
}
