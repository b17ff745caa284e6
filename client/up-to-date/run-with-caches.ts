// A run of one action that is not remembered to be in place: the caches are opened for it and closed after
// it. If it turns out to be in place, that is remembered.

import type { RunRequest } from '../action/request.ts';
import { openCache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import type { KeyedAction } from '../run/key.ts';
import { type RunSummary, run } from '../run/run.ts';
import type { ActionState } from './action-state.ts';
import type { RunOptions } from './run-unless-up-to-date.ts';

export interface CachedRunOptions extends Omit<RunOptions, 'remote'> {
  readonly remoteUrl: URL | undefined;
  readonly state: ActionState;
}

export async function runWithCaches(
  request: RunRequest,
  { storeFolder, remoteUrl, token, state, force = false, ...options }: CachedRunOptions,
): Promise<RunSummary> {
  const began = Date.now();
  const { workspace } = request;
  const { report } = options;
  const cache = openCache({ storeFolder, workspace, remoteUrl, token, now: Date.now, report });
  let action: KeyedAction | undefined;
  const onKeyed = (made: KeyedAction) => {
    action = made;
  };
  try {
    const context: RunContext = { ...options, cache, now: Date.now, onKeyed };
    if (force) return await runForced(request, context);
    const summary = await run(request, context);
    const inPlace = action && cache.inPlace.looks(action);
    if (action && inPlace) state.record(action, inPlace, began);
    return summary;
  } finally {
    await cache.close();
  }
}

/** What it makes is compared with what is stored; nothing is remembered to be in place. */
async function runForced(request: RunRequest, context: RunContext): Promise<RunSummary> {
  const { storeOnly } = await import('../graph/cache-modes.ts');
  const summary = await run(request, { ...context, cache: storeOnly(context.cache), withoutState: true });
  return { ...summary, reason: 'forced' };
}
