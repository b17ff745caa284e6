// Finds and adds the path sets of a key (core/path-set.ts), in the local store or at a remote.
//
// An Assay server lists the path sets of a key (listed.ts). The local store and other servers have numbered
// slots for them, which are filled in order and never overwritten.
import { type Digest, digestOf, type Hash } from '../../core/digest.ts';
import {
  encodePathSet,
  nextKey,
  type PathSet,
  pathSetAddress,
  resultKey,
  type StateOf,
  samePaths,
} from '../../core/path-set.ts';
import { OBSERVED } from '../limits.ts';
import type { Remote, RemoteLists } from '../remote/remote.ts';
import { listedCandidates, readList } from './listed.ts';
import type { PathSetStorage } from './storage.ts';

/** A key that may have a result, and the path set that leads to it; no set for the action's own key. */
export interface Candidate {
  readonly key: Digest;
  readonly set?: PathSet;
  /** The result, if it came together with the answer about the key. */
  readonly result?: Uint8Array;
}

/** False for a set that is skipped. */
export type Admits = (set: PathSet) => boolean;

/** The keys to look up, in order. Without any path set the result may lie under the action's own key. */
export async function* candidates(
  key: Digest,
  storage: PathSetStorage,
  stateOf: StateOf,
  admits: Admits = () => true,
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

/** The same at a remote. `slotsThere`: its slots, if it keeps no lists. `onList`: called with its list. */
export async function* remoteCandidates(
  key: Digest,
  remote: RemoteLists,
  slotsThere: PathSetStorage,
  stateOf: StateOf,
  admits: Admits,
  onList: (sets: readonly PathSet[]) => void = () => {},
): AsyncGenerator<Candidate> {
  const listed = await readList(key.hash, remote);
  if (listed) onList(listed.sets.map(({ set }) => set));
  if (!listed) yield* candidates(key, slotsThere, stateOf, admits);
  else if (listed.sets.length > 0) yield* listedCandidates(key.hash, listed, remote, stateOf, admits);
  else if (listed.predicted?.key === key.hash) yield { key, result: listed.predicted.use() };
  else if (!listed.isMiss) yield { key };
}

export async function addPathSet(
  key: Hash,
  set: PathSet,
  storage: PathSetStorage,
  stateOf: StateOf,
): Promise<void> {
  for await (const { address, set: present } of slots(key, storage, stateOf)) {
    if (present ? samePaths(present, set) : await storage.put(address, set, key)) return;
  }
}

/** The path sets in the slots of a key, up to the first that cannot be read. */
export async function setsIn(key: Hash, storage: PathSetStorage, stateOf: StateOf): Promise<PathSet[]> {
  const sets: PathSet[] = [];
  try {
    for await (const { set } of slots(key, storage, stateOf)) {
      if (!set) break;
      sets.push(set);
    }
  } catch {
    // The caller that reads or writes the slots next meets the same fault and reports it.
  }
  return sets;
}

/** Whether other clients read a set of this size. */
export function isReadElsewhere(set: PathSet, encodedBytes: number): boolean {
  return encodedBytes <= OBSERVED.maxForeignSetBytes && set.length <= OBSERVED.maxForeignPaths;
}

/** Adds a path set at a remote that has it as a blob. A set that no client would read is not added. */
export async function addRemotePathSet(
  key: Hash,
  set: PathSet,
  remote: Remote,
  slotsThere: PathSetStorage,
  stateOf: StateOf,
): Promise<void> {
  const { hash, size } = digestOf(encodePathSet(set));
  if (!isReadElsewhere(set, size)) return;
  if (!(await remote.addPathSet(key, hash))) await addPathSet(key, set, slotsThere, stateOf);
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
