// What the last run of each step was seen to look at in the workspace beyond its declaration: a marked step depends on that as
// much as on its inputs. Known to the local store alone, so a machine that never ran a step knows nothing of it.
import type { Hash } from '../../core/digest.ts';
import { parentOf } from '../../core/path.ts';
import type { ObservedPath, PathSet } from '../../core/path-set.ts';
import type { Store } from '../../store/store.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { type HistoryEntry, historyOf, stepOf } from '../history/history.ts';
import { openUsableStore } from '../local-store/open.ts';
import { candidates } from '../path-sets/path-sets.ts';
import { ABSENT } from '../path-sets/states.ts';
import { localPathSets } from '../path-sets/storage.ts';
import type { ChangedPath } from './changed-paths.ts';
import type { Surroundings } from './step-reach.ts';

/** By the step's id; none for a step of which nothing is known. */
export type SeenPaths = ReadonlyMap<string, PathSet>;

/** How many earlier keys of a step are asked for. */
const KEYS = 10;

/** Of `asked`, or of all. Without a store nothing is known: that is no reason not to run. */
export async function readSeenPaths(
  folder: string,
  change: Omit<Surroundings, 'seen'>,
  asked: Iterable<Step> = change.steps.values(),
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

/** Here by its name; else, as on a machine that checks out to a new folder each time, by what it runs and makes. */
function lastRuns(
  step: Step,
  { root, steps, caller }: Omit<Surroundings, 'seen'>,
  entries: readonly HistoryEntry[],
): readonly HistoryEntry[] {
  const here = entries.filter(({ name, workspace }) => name === step.id && workspace === root);
  if (here.length > 0) return here;
  const same = stepOf(requestOf(step, { root, steps }, caller).request);
  return entries.filter((entry) => entry.step === same);
}

/** Of the newest that told something: one that failed, or was not watched, did not. */
async function lastSeen(runs: readonly HistoryEntry[], store: Store): Promise<PathSet | undefined> {
  for (const key of [...new Set(runs.map((run) => run.key))].slice(0, KEYS)) {
    const set = await inWorkspace(key, store);
    if (set) return set;
  }
  return undefined;
}

/** Of all runs with that key: which of them a change will meet is not known. */
async function inWorkspace(key: Hash, store: Store): Promise<PathSet | undefined> {
  let found: ObservedPath[] | undefined;
  const recordedState = ({ state }: ObservedPath) => state;
  try {
    for await (const { set } of candidates({ hash: key, size: 0 }, localPathSets(store), recordedState))
      if (set) found = [...(found ?? []), ...set.filter(({ root }) => root === 'workspace')];
  } catch {
    // What can't be read tells nothing more.
  }
  return found;
}

export function wasSeen({ path, isRepository }: ChangedPath, set: PathSet): boolean {
  return set.some((seen) => {
    if (seen.path === path || (seen.names && seen.path === parentOf(path))) return true;
    /* What was missing below a missing folder is told by that folder; a repository does not tell what changed in it. */
    return (seen.state === ABSENT && isBelow(path, seen.path)) || (isRepository && isBelow(seen.path, path));
  });
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}
