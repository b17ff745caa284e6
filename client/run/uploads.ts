// Uploads results to the remote while the run goes on: a bounded number at a time, in the order of
// publishing.
// Results of earlier runs that are still in the outbox follow.
//
// At the end the run waits a bounded time. A result that is not uploaded by then stays in the outbox.
import type { Hash } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { decodePathSet, type PathSet, type StateOf } from '../../core/path-set.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Store } from '../../store/store.ts';
import { OBSERVED, REMOTE } from '../limits.ts';
import type { Outbox, UnsharedResult } from '../local-store/outbox.ts';
import { isRefused } from '../path-sets/foreign-states.ts';
import { addRemotePathSet, remoteCandidates } from '../path-sets/path-sets.ts';
import { remembering } from '../path-sets/remembered-states.ts';
import { hasRival } from '../path-sets/rivals.ts';
import { type PathSetStorage, remotePathSets } from '../path-sets/storage.ts';
import { handleFault, type Remote, WriteRefused } from '../remote/remote.ts';
import { upload } from '../remote/transfer.ts';
import type { Report } from '../terminal/events.ts';

export interface UploadsOptions {
  readonly outbox: Outbox;
  readonly store: Store;
  readonly remote: Remote;
  readonly now: () => number;
}

interface Job {
  readonly unshared: UnsharedResult;
  readonly report: Report;
  readonly stateOf: StateOf;
}

/** How many results are not shared yet, and why. */
export interface UnsharedCount {
  readonly results: number;
  readonly why: string;
}

export interface FinishOptions {
  /** Ends the wait. */
  readonly stop?: Promise<void>;
  /** Called at intervals with the number of results that are not sent yet. */
  sending?(results: number): void;
}

export class Uploads {
  readonly #options: UploadsOptions;
  readonly #waiting: Job[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #shared = new Set<Hash>();
  readonly #diverged = new Set<Hash>();
  /** All results that were added and are not shared. */
  readonly #left = new Set<Hash>();
  #why = '';
  #isOver = false;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /** The local store has the result and all blobs to upload with it. */
  add(unshared: UnsharedResult, report: Report, stateOf: StateOf): void {
    this.#options.outbox.add(unshared);
    this.#take({ unshared, report, stateOf });
  }

  /** Adds the results that earlier runs left in the outbox; returns their number. */
  addEarlier(report: Report): number {
    const { outbox } = this.#options;
    const fresh = outbox
      .entries()
      .filter(({ key: { hash } }) => !this.#shared.has(hash) && !this.#left.has(hash));
    for (const unshared of fresh) this.#take({ unshared, report, stateOf: unknownState });
    return fresh.length;
  }

  isShared(key: Hash): boolean {
    return this.#shared.has(key);
  }

  isDiverged(key: Hash): boolean {
    return this.#diverged.has(key);
  }

  get diverged(): number {
    return this.#diverged.size;
  }

  /** Waits until everything is sent, at most `milliseconds`. */
  async finish(
    milliseconds: number | undefined,
    { stop, sending }: FinishOptions = {},
  ): Promise<UnsharedCount | undefined> {
    const began = this.#options.now();
    const progress = setInterval(() => sending?.(this.#left.size), REMOTE.sendingMs);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      if (milliseconds !== undefined) timer = setTimeout(resolve, milliseconds);
    });
    const ends = stop ? [late, stop] : [late];
    while (this.#underWay.size > 0) {
      const isDone = await Promise.race([
        this.#drained().then(() => true),
        ...ends.map((end) => end.then(() => false)),
      ]);
      if (!isDone) break;
    }
    clearTimeout(timer);
    clearInterval(progress);
    if (this.#left.size === 0) return undefined;
    const took = this.#options.now() - began;
    if (this.#options.remote.usable) this.#why ||= `the upload took longer than ${Math.round(took / 1000)} s`;
    else if (took > REMOTE.movedWorthMs) this.#options.outbox.noteTry();
    this.#why ||= 'the remote was not usable';
    return { results: this.#left.size, why: this.#why };
  }

  /** Cancels the uploads in progress; their results stay in the outbox. */
  async close(): Promise<void> {
    this.#isOver = true;
    this.#waiting.length = 0;
    if (this.#underWay.size > 0) this.#options.remote.giveUp('the run is over');
    await this.#drained();
  }

  async #drained(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #take(job: Job): void {
    this.#left.add(job.unshared.key.hash);
    this.#waiting.push(job);
    this.#next();
  }

  #next(): void {
    while (this.#underWay.size < REMOTE.uploads) {
      const job = this.#waiting.shift();
      if (!job) return;
      const sent = this.#send(job).finally(() => {
        this.#underWay.delete(sent);
        this.#next();
      });
      this.#underWay.add(sent);
    }
  }

  /** Never rejects. */
  async #send({ unshared, report, stateOf }: Job): Promise<void> {
    const { remote, store, outbox } = this.#options;
    const { hash: key } = unshared.key;
    if (!remote.usable || !remote.takesWrites) return;
    try {
      const outcome = await share(unshared, stateOf, store, remote, report);
      if (outcome === 'diverged') {
        this.#diverged.add(key);
        report({ type: 'diverged', where: 'the remote' });
      } else if (outcome === 'shared') this.#shared.add(key);
      this.#forget(key, outbox);
    } catch (error) {
      if (this.#isOver) return;
      this.#why = messageOf(error);
      report(handleFault(remote, error));
      if (error instanceof WriteRefused && error.isPermanent) this.#forget(key, outbox);
    }
  }

  #forget(key: Hash, outbox: Outbox): void {
    this.#left.delete(key);
    outbox.remove(key);
  }
}

/** `gone`: the local store no longer has the result. */
async function share(
  { key, action, set, blobs }: UnsharedResult,
  stateOf: StateOf,
  store: Store,
  remote: Remote,
  report: Report,
): Promise<'shared' | 'diverged' | 'gone'> {
  const stored = await store.results.get({ namespace: DEFAULT_NAMESPACE, key: key.hash });
  if (!stored) return 'gone';
  const sets = new RemoteSets(action, remote, remotePathSets(remote, store, report), remembering(stateOf));
  if (set && (await sets.haveRival({ key: key.hash, result: stored.bytes }))) return 'diverged';
  const named = [...stored.references, ...blobs].filter(({ size }) => size > 0);
  await upload(named, store.blobs, remote, report);
  const outcome = await remote.putResult(key, stored.bytes);
  if (set) await sets.add(decodePathSet(await readBlob(set, store.blobs)));
  return outcome === 'diverged' ? 'diverged' : 'shared';
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
    const found = remoteCandidates(action, this.#remote, this.#slots, this.#stateOf, admits);
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

const unknownState: StateOf = () => {
  throw new UnknownState();
};
