// The path sets of a key: found one after the other, and kept where the next free place is (see core/path-set.ts).
import type { Digest, Hash } from '../../core/digest.ts';
import {
  nextKey,
  type PathSet,
  pathSetAddress,
  resultKey,
  type StateOf,
  samePaths,
} from '../../core/path-set.ts';
import { OBSERVED } from '../limits.ts';
import type { PathSetStorage } from './storage.ts';

/** A key under which a result may lie, and the path set that led there; none for the action's own key. */
export interface Candidate {
  readonly key: Digest;
  readonly set?: PathSet;
}

/**
 * Where no run has told what it looked at, a result may lie under the action's own key. `admits`: false for a set that is not
 * looked at.
 */
export async function* candidates(
  key: Digest,
  shelf: PathSetStorage,
  stateOf: StateOf,
  admits: (set: PathSet) => boolean = () => true,
): AsyncGenerator<Candidate> {
  let isWatched = false;
  for await (const { set } of slots(key.hash, shelf, stateOf)) {
    if (!set) break;
    isWatched = true;
    if (!admits(set)) continue;
    yield { key: resultKey(key.hash, set, stateOf), set };
  }
  if (!isWatched) yield { key };
}

export async function addPathSet(
  key: Hash,
  set: PathSet,
  shelf: PathSetStorage,
  stateOf: StateOf,
): Promise<void> {
  for await (const { place, set: known } of slots(key, shelf, stateOf)) {
    if (known ? samePaths(known, set) : await shelf.put(place, set)) return;
  }
}

/** All path sets of a key, one after the other, and the first free place. Who asks on has found that it is taken now. */
export async function* slots(
  key: Hash,
  shelf: PathSetStorage,
  stateOf: StateOf,
): AsyncGenerator<{ place: Digest; set: PathSet | undefined }> {
  let branch = key;
  for (let step = 0; step < OBSERVED.steps; step++) {
    const sets: PathSet[] = [];
    while (sets.length < OBSERVED.slots) {
      const place = pathSetAddress(branch, sets.length);
      const set = await shelf.get(place);
      yield { place, set };
      sets.push(set ?? (await shelf.get(place)) ?? []);
    }
    branch = nextKey(branch, sets, stateOf);
  }
}
