// Runs one action that is not up to date: opens the caches, runs it, and records its state if it was found in
// place.
//
// This file is apart from run-unless-up-to-date.ts because an up-to-date action must not load what it
// imports:
// scripts/build.ts makes a chunk of each of the two.
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
  { storeFolder, remoteUrl, token, state, force = false, sendReport, ...options }: CachedRunOptions,
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
    const summary = await (force ? runForced : run)(request, context);
    const inPlace = action && !force ? cache.inPlace.of(action) : undefined;
    if (action && inPlace) state.record(action, inPlace, began);
    const remote = await cache.openedRemote();
    if (!remoteUrl || !remote?.usable || !remote.takesReports) return summary;
    const page = await sendReport?.(summary, { url: remoteUrl, token });
    return page === undefined ? summary : { ...summary, page };
  } finally {
    await cache.close();
  }
}

const FORCED = { kind: 'forced' } as const;

/** Runs the command whatever is stored, and compares its result with the stored one. Records no state. */
async function runForced(request: RunRequest, context: RunContext): Promise<RunSummary> {
  const { storeOnly } = await import('../graph/cache-modes.ts');
  const summary = await run(request, { ...context, cache: storeOnly(context.cache), withoutState: true });
  return { ...summary, reason: 'forced', ...(summary.outcome === 'miss' && { cause: FORCED }) };
}
