// Sends one result to the remote: its blobs, then the result, then the path set that leads to it.
// A reader never sees a result whose blobs are missing. A result with a rival is not sent: the first one stays.
//
// An Assay server takes the small blobs, the result and the set in one HTTP request. It also says whether the
// action has path sets by now. If it had none when this run looked, and has none then, there is no rival.
import type { Digest, Hash } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { decodePathSet, type PathSet, type StateOf } from '../../core/path-set.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Store, StoredResult } from '../../store/store.ts';
import { OBSERVED, REMOTE } from '../limits.ts';
import type { UnsharedResult } from '../local-store/outbox.ts';
import { isRefused } from '../path-sets/foreign-states.ts';
import { addRemotePathSet, isReadElsewhere, remoteCandidates } from '../path-sets/path-sets.ts';
import { remembering } from '../path-sets/remembered-states.ts';
import { hasRival } from '../path-sets/rivals.ts';
import { type PathSetStorage, remotePathSets } from '../path-sets/storage.ts';
import { listsOf, type Remote } from '../remote/remote.ts';
import { upload } from '../remote/transfer.ts';
import type { Report } from '../terminal/events.ts';

interface ShareOptions {
  readonly store: Store;
  readonly remote: Remote;
  readonly report: Report;
  readonly stateOf: StateOf;
  /** The remote listed no path set of the action when this run looked. */
  readonly isFirst: boolean;
}

/** `gone`: the local store no longer has the result. */
export async function share(
  unshared: UnsharedResult,
  options: ShareOptions,
): Promise<'shared' | 'diverged' | 'gone'> {
  const { key, action, set } = unshared;
  const { store, remote, report, stateOf, isFirst } = options;
  const stored = await store.results.get({ namespace: DEFAULT_NAMESPACE, key: key.hash });
  if (!stored) return 'gone';
  if (isFirst && remote.takesPublications) {
    const outcome = await publishWith(unshared, stored, options, true);
    if (outcome !== 'listed') return outcome;
  }
  const sets = new RemoteSets(action, remote, remotePathSets(remote, store, report), remembering(stateOf));
  if (set && (await sets.haveRival({ key: key.hash, result: stored.bytes }))) return 'diverged';
  if (remote.takesPublications) {
    const outcome = await publishWith(unshared, stored, options, false);
    return outcome === 'diverged' ? outcome : 'shared';
  }
  await upload(blobsOf(unshared, stored), store.blobs, remote, report);
  const outcome = await remote.putResult(key, stored.bytes);
  if (set) await sets.add(decodePathSet(await readBlob(set, store.blobs)));
  return outcome === 'diverged' ? 'diverged' : 'shared';
}

/** Each once. */
function blobsOf({ blobs }: UnsharedResult, { references }: StoredResult): Digest[] {
  const named = [...references, ...blobs].filter(({ size }) => size > 0);
  return [...new Map(named.map((digest) => [digest.hash, digest])).values()];
}

/** Sends the large blobs one by one, and everything else in one request. */
async function publishWith(
  unshared: UnsharedResult,
  stored: StoredResult,
  { store: { blobs }, remote, report }: ShareOptions,
  isFirst: boolean,
): Promise<'shared' | 'diverged' | 'listed'> {
  const { together, apart } = partition(blobsOf(unshared, stored));
  const sent = await upload(apart, blobs, remote, report);
  const small = together.map(async ({ hash }) => ({ hash, bytes: await readBlob(hash, blobs) }));
  const outcome = await remote.publish({
    action: unshared.action,
    key: unshared.key,
    result: stored.bytes,
    blobs: await Promise.all(small),
    set: await listedSet(unshared, blobs),
    isFirst,
  });
  if (outcome === 'listed') return outcome;
  const of = together.length + apart.length;
  const bytes = together.reduce((sum, { size }) => sum + size, sent);
  report({ type: 'transfer', direction: 'up', done: of, of, bytes });
  return outcome === 'diverged' ? outcome : 'shared';
}

function partition(digests: readonly Digest[]): { together: Digest[]; apart: Digest[] } {
  const together: Digest[] = [];
  const apart: Digest[] = [];
  let bytesLeft: number = REMOTE.publishedBytes;
  for (const digest of digests) {
    const { size } = digest;
    const fits = size <= REMOTE.askBytes && size <= bytesLeft && together.length < REMOTE.publishedBlobs;
    if (fits) bytesLeft -= size;
    (fits ? together : apart).push(digest);
  }
  return { together, apart };
}

/** Undefined also for a set that no client would read. */
async function listedSet({ set }: UnsharedResult, blobs: Store['blobs']): Promise<Hash | undefined> {
  if (!set) return undefined;
  const bytes = await readBlob(set, blobs);
  return isReadElsewhere(decodePathSet(bytes), bytes.length) ? set : undefined;
}

/** The path sets of one action at the remote. A path whose state is unknown or refused here is no fault. */
class RemoteSets {
  readonly #action: Hash;
  readonly #remote: Remote;
  readonly #slots: PathSetStorage;
  readonly #stateOf: StateOf;

  constructor(action: Hash, remote: Remote, slots: PathSetStorage, stateOf: StateOf) {
    this.#action = action;
    this.#remote = remote;
    this.#slots = slots;
    this.#stateOf = stateOf;
  }

  /** True if the remote has a result with other outputs whose path set holds now. */
  async haveRival(own: { readonly key: Hash; readonly result: Uint8Array }): Promise<boolean> {
    const action = { hash: this.#action, size: 0 };
    const admits = (set: PathSet) => this.#hasStates(set);
    const lists = listsOf(this.#remote, { purpose: 'compare' });
    const found = remoteCandidates(action, lists, this.#slots, this.#stateOf, admits);
    const isFound = await unlessUnknown(hasRival(own, found, ({ key }) => this.#remote.getResult(key)));
    return isFound ?? false;
  }

  /** Not added if the slots of the key are full, and the next ones depend on a state that is unknown here. */
  async add(set: PathSet): Promise<void> {
    await unlessUnknown(addRemotePathSet(this.#action, set, this.#remote, this.#slots, this.#stateOf));
  }

  #hasStates(set: PathSet): boolean {
    if (set.length > OBSERVED.maxForeignPaths) return false;
    try {
      for (const seen of set) this.#stateOf(seen);
      return true;
    } catch (error) {
      if (isUnknown(error)) return false;
      throw error;
    }
  }
}

async function unlessUnknown<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isUnknown(error)) return undefined;
    throw error;
  }
}

function isUnknown(error: unknown): boolean {
  return error instanceof UnknownState || isRefused(error);
}

/**
 * The state of a path at the time of an earlier run is not recorded. It is needed to compare with other
 * results, and if all slots of a key are full; then the remote gets the result but no path set that leads to
 * it.
 */
class UnknownState extends Error {}

export const unknownState: StateOf = () => {
  throw new UnknownState();
};
