// The workspace paths that the last run of each step accessed beyond its declaration.
// Only the local store has them, so a machine that never ran a step has none for it.

import type { Hash } from '../../core/digest.ts';
import { parentOf } from '../../core/path.ts';
import { type ObservedPath, type PathSet, recordedState } from '../../core/path-set.ts';
import type { Store } from '../../store/store.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { type HistoryEntry, historyOf, stepOf } from '../history/history.ts';
import { HISTORY } from '../limits.ts';
import { openUsableStore } from '../local-store/open.ts';
import { candidates } from '../path-sets/path-sets.ts';
import { ABSENT_STATE } from '../path-sets/states.ts';
import { localPathSets } from '../path-sets/storage.ts';
import type { ChangedPath } from './changed-paths.ts';
import type { ReachContext } from './step-reach.ts';

/** By step id; absent for a step without a known run. */
export type SeenPaths = ReadonlyMap<string, PathSet>;

/** For the steps `asked`. Without a usable store the answer is empty. */
export async function readSeenPaths(
  folder: string,
  change: Omit<ReachContext, 'seen'>,
  asked: Iterable<Step>,
): Promise<SeenPaths> {
  const seen = new Map<string, PathSet>();
  const entries = historyOf(folder).entries();
  const store = entries.length > 0 ? await openUsableStore(folder, () => {}) : undefined;
  if (!store) return seen;
  try {
    for (const step of asked) {
      const set = await lastSeen(lastRuns(step, change, entries), store);
      if (set) seen.set(step.id, set);
    }
    return seen;
  } finally {
    await store.close();
  }
}

/** Runs in this workspace by name; else, as in CI with a new checkout each time, by command and outputs. */
function lastRuns(
  step: Step,
  { root, steps, caller }: Omit<ReachContext, 'seen'>,
  entries: readonly HistoryEntry[],
): readonly HistoryEntry[] {
  const here = entries.filter(({ name, workspace }) => name === step.id && workspace === root);
  if (here.length > 0) return here;
  const same = stepOf(requestOf(step, { root, steps }, caller));
  return entries.filter((entry) => entry.step === same);
}

/** From the newest run that recorded paths: failed and unwatched runs record none. */
async function lastSeen(runs: readonly HistoryEntry[], store: Store): Promise<PathSet | undefined> {
  for (const key of [...new Set(runs.map((run) => run.key))].slice(0, HISTORY.triedKeys)) {
    const set = await inWorkspace(key, store);
    if (set) return set;
  }
  return undefined;
}

/** The union over all runs with that key, because a change may concern any of them. */
async function inWorkspace(key: Hash, store: Store): Promise<PathSet | undefined> {
  let found: ObservedPath[] | undefined;
  try {
    for await (const { set } of candidates({ hash: key, size: 0 }, localPathSets(store), recordedState))
      if (set) found = [...(found ?? []), ...set.filter(({ root }) => root === 'workspace')];
  } catch {
    // An unreadable record adds no paths.
  }
  return found;
}

export function wasSeen({ path, isRepository }: ChangedPath, set: PathSet): boolean {
  return set.some((seen) => {
    if (seen.path === path || (seen.names && seen.path === parentOf(path))) return true;
    /* An absent folder stands for every path below it. Changes inside a nested repository are not listed. */
    return (
      (seen.state === ABSENT_STATE && isBelow(path, seen.path)) || (isRepository && isBelow(seen.path, path))
    );
  });
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
