// A run of one action that is not remembered to be in place: the caches are opened for it and closed after it. If it turns out
// to be in place, that is remembered.
import type { ActionMemory } from './action-memory.ts';
import type { Attendance } from './attended-run.ts';
import { openCache } from './cache.ts';
import type { KeyedAction } from './key.ts';
import type { RunRequest } from './request.ts';
import { type RunSummary, run } from './run.ts';

export interface OrdinaryAttendance extends Omit<Attendance, 'remote'> {
  readonly remoteUrl: URL | undefined;
  readonly memory: ActionMemory;
}

export async function runOrdinarily(
  request: RunRequest,
  { storeFolder, remoteUrl, token, memory, ...attendance }: OrdinaryAttendance,
): Promise<RunSummary> {
  const began = Date.now();
  const { workspace } = request;
  const { report } = attendance;
  const cache = openCache({ storeFolder, workspace, remoteUrl, token, now: Date.now, report });
  let action: KeyedAction | undefined;
  const keyed = (made: KeyedAction) => {
    action = made;
  };
  try {
    const summary = await run(request, { ...attendance, cache, now: Date.now, keyed });
    const inPlace = action && cache.hits.looks(action);
    if (action && inPlace) memory.learn(action, inPlace, began);
    return summary;
  } finally {
    await cache.close();
  }
}
