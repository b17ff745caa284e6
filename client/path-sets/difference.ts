// Explains why no path set of a key leads to a result any more: names the first path whose state differs.
import type { Hash } from '../../core/digest.ts';
import type { PathSet } from '../../core/path-set.ts';
import { slots } from './path-sets.ts';
import type { States } from './states.ts';
import type { PathSetStorage } from './storage.ts';

/**
 * Compares with the path set that has the fewest differences. Undefined if there is no path set, or no
 * difference.
 */
export async function firstDifference(
  key: Hash,
  storage: PathSetStorage,
  states: States,
): Promise<string | undefined> {
  let closest: PathSet | undefined;
  for await (const { set } of slots(key, storage, states.of)) {
    if (!set) break;
    const differing = set.filter((seen) => states.of(seen) !== seen.state);
    if (!closest || differing.length < closest.length) closest = differing;
  }
  const [first, ...more] = closest ?? [];
  if (!first) return undefined;
  const what = `${states.roots.shown(first)} ${words(first.state, states.of(first))}`;
  return more.length === 0 ? what : `${what} (and ${more.length} more)`;
}

function words(before: string, now: string): string {
  if (before === 'absent') return 'was not there before';
  return now === 'absent' ? 'is gone' : 'changed';
}
