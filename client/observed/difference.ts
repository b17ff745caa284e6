// Why no path set of a key leads to a result any more: the first path that is not as it was for the run that told it.
import type { Hash } from '../../core/digest.ts';
import { places } from './sets.ts';
import type { Shelf } from './shelf.ts';
import type { States } from './states.ts';

/** By the latest set of the action. Undefined where nothing is known, or all is as it was. */
export async function whatDiffers(key: Hash, shelf: Shelf, states: States): Promise<string | undefined> {
  let found: string | undefined;
  for await (const { set } of places(key, shelf, states.of)) {
    if (!set) break;
    const differs = set.find((seen) => states.of(seen) !== seen.state);
    if (differs) found = `${states.roots.shown(differs)} ${words(differs.state, states.of(differs))}`;
  }
  return found;
}

function words(before: string, now: string): string {
  if (before === 'absent') return 'was not there before';
  return now === 'absent' ? 'is gone' : 'is another than before';
}
