// Explains why no path set of a key leads to a result any more: names the first fact whose state differs.
import type { Hash } from '../../core/digest.ts';
import type { PathSet, StateOf } from '../../core/path-set.ts';
import { slots } from './path-sets.ts';
import type { Roots } from './roots.ts';
import type { States } from './states.ts';
import type { PathSetStorage } from './storage.ts';

/** For the path sets that are stored for a key. Undefined if there is none, or no difference. */
export async function firstDifference(
  key: Hash,
  storage: PathSetStorage,
  states: States,
): Promise<string | undefined> {
  const sets: PathSet[] = [];
  for await (const { set } of slots(key, storage, states.of)) {
    if (!set) break;
    sets.push(set);
  }
  return closestDifference(sets, states.roots, states.of);
}

/** Compares with the path set that has the fewest differences. Undefined if there is no difference. */
export function closestDifference(
  sets: readonly PathSet[],
  roots: Pick<Roots, 'shown'>,
  stateOf: StateOf,
): string | undefined {
  const differing = sets.map((set) => set.filter((seen) => stateOf(seen) !== seen.state));
  const [closest = []] = differing.sort((a, b) => a.length - b.length);
  // A note says what to do about the difference.
  const [first, ...more] = closest.toSorted((a, b) => Number(a.note === '') - Number(b.note === ''));
  if (!first) return undefined;
  const note = first.note === '' ? '' : `, ${first.note}`;
  const what = `${roots.shown(first)} ${words(first.state, stateOf(first))}${note}`;
  return more.length === 0 ? what : `${what} (and ${more.length} more)`;
}

function words(before: string, now: string): string {
  if (before === 'absent') return 'was not there before';
  if (now === 'absent') return 'is gone';
  return before.startsWith('value ') ? 'is another' : 'changed';
}
