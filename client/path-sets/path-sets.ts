// Finds and adds the path sets of a key (core/path-set.ts).
// Path sets lie in numbered slots that are filled in order and never overwritten.
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

/** A key that may have a result, and the path set that leads to it; no set for the action's own key. */
export interface Candidate {
  readonly key: Digest;
  readonly set?: PathSet;
}

/**
 * The keys to look up, in order. Without any path set the result may lie under the action's own key.
 * `admits`: false for a set that is skipped.
 */
export async function* candidates(
  key: Digest,
  storage: PathSetStorage,
  stateOf: StateOf,
  admits: (set: PathSet) => boolean = () => true,
): AsyncGenerator<Candidate> {
  let hasSets = false;
  for await (const { set } of slots(key.hash, storage, stateOf)) {
    if (!set) break;
    hasSets = true;
    if (!admits(set)) continue;
    yield { key: resultKey(key.hash, set, stateOf), set };
  }
  if (!hasSets) yield { key };
}

export async function addPathSet(
  key: Hash,
  set: PathSet,
  storage: PathSetStorage,
  stateOf: StateOf,
): Promise<void> {
  for await (const { address, set: present } of slots(key, storage, stateOf)) {
    if (present ? samePaths(present, set) : await storage.put(address, set)) return;
  }
}

/**
 * The path sets of a key in order, then the first free slot. A caller that continues has found that slot
 * filled.
 */
export async function* slots(
  key: Hash,
  storage: PathSetStorage,
  stateOf: StateOf,
): AsyncGenerator<{ address: Digest; set: PathSet | undefined }> {
  let branch = key;
  for (let step = 0; step < OBSERVED.steps; step++) {
    const sets: PathSet[] = [];
    while (sets.length < OBSERVED.slots) {
      const address = pathSetAddress(branch, sets.length);
      const set = await storage.get(address);
      yield { address, set };
      sets.push(set ?? (await storage.get(address)) ?? []);
    }
    branch = nextKey(branch, sets, stateOf);
  }
}
