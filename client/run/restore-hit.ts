// Puts the outputs of a hit in place, or finds that they are.
import { messageOf } from '../../core/errors.ts';
import type { IdentifiedAction } from '../inputs/keyed-action.ts';
import { type RestoredOutputs, restoreOutputs, wrongOutputs } from '../outputs/restore.ts';
import type { RunContext } from './context.ts';
import type { Hit } from './hit.ts';

/**
 * Whether all outputs are correct; if so, records the check. No lock is needed: a change meanwhile is like
 * one just after.
 */
export function isInPlace(hit: Hit, action: IdentifiedAction, { cache, now }: RunContext): boolean {
  const checkedAt = now();
  try {
    if (wrongOutputs(hit.outputs, action.request.workspace, cache.digests).length > 0) return false;
  } catch {
    return false;
  }
  if (!hit.isKeptFailure) cache.inPlace.record(action, hit, checkedAt, cache.systemFiles);
  return true;
}

/** Undefined if the restore failed for any reason: the workspace is unchanged, and the command can run. */
export async function restore(
  hit: Hit,
  action: IdentifiedAction,
  { cache, report, ownership }: RunContext,
): Promise<RestoredOutputs | undefined> {
  try {
    const store = await cache.openStore();
    if (!store) return undefined;
    const { workspace } = action.request;
    return await restoreOutputs(hit.outputs, workspace, store.blobs, cache.digests, { ownership });
  } catch (error) {
    report({ type: 'hit-unusable', why: messageOf(error) });
    return undefined;
  }
}
