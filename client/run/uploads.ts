// Uploads results to the remote while the run goes on: a bounded number at a time, in the order of
// publishing.
// Results of earlier runs that are still in the outbox follow.
//
// At the end the run waits a bounded time. A result that is not uploaded by then stays in the outbox.
import type { Digest, Hash } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import type { StateOf } from '../../core/path-set.ts';
import type { Store } from '../../store/store.ts';
import { REMOTE } from '../limits.ts';
import type { Outbox, UnsharedResult } from '../local-store/outbox.ts';
import { handleFault, type Remote, WriteRefused } from '../remote/remote.ts';
import { upload } from '../remote/transfer.ts';
import type { Report } from '../terminal/events.ts';
import { share, unknownState } from './share.ts';

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
  readonly isFirst: boolean;
}

/** The remote has a result of the key, will never take this one, or could not be reached. */
export type UploadEnd = 'there' | 'refused' | 'away';

/** How many results are not shared yet, and why. */
export interface UnsharedCount {
  readonly results: number;
  readonly why: string;
}

export interface FinishOptions {
  /** The keys of actions that were up to date: no lookup brought them to the cache. */
  readonly hits?: readonly string[];
  /** Ends the wait. */
  readonly stop?: Promise<void>;
  /** Called at intervals with the number of results that are not sent yet. */
  sending?(results: number): void;
}

export class ResultUploads {
  readonly #options: UploadsOptions;
  readonly #waiting: Job[] = [];
  readonly #underWay = new Set<Promise<void>>();
  readonly #shared = new Set<Hash>();
  readonly #diverged = new Set<Hash>();
  /** All results that were added and are not shared. */
  readonly #left = new Set<Hash>();
  /** The uploads that have not ended. */
  readonly #open = new Map<Hash, PromiseWithResolvers<void>>();
  #why = '';
  #isOver = false;

  constructor(options: UploadsOptions) {
    this.#options = options;
  }

  /**
   * The local store has the result and all blobs to upload with it. `isFirst`: the remote listed no path set of
   * the action just now.
   */
  add(unshared: UnsharedResult, report: Report, stateOf: StateOf, isFirst: boolean): void {
    this.#options.outbox.add(unshared);
    this.#take({ unshared, report, stateOf, isFirst });
  }

  /**
   * Sends the messages of an action that left no result, so that a server can compare the next run of its step with it.
   * They are sent once: without them, the reason of a later miss is less exact.
   */
  addMessages(digests: readonly Digest[], report: Report): void {
    const { remote, store } = this.#options;
    if (remote.reportForm === 0 || !remote.usable || !remote.takesWrites) return;
    const sent = upload(digests, store.blobs, remote, report)
      .then(() => {})
      .catch((error: unknown) => {
        if (!this.#isOver) report(handleFault(remote, error));
      })
      .finally(() => this.#underWay.delete(sent));
    this.#underWay.add(sent);
  }

  /** Adds the results that earlier runs left in the outbox; returns their number. */
  addEarlier(report: Report): number {
    const { outbox } = this.#options;
    const fresh = outbox
      .entries()
      .filter(({ key: { hash } }) => !this.#shared.has(hash) && !this.#left.has(hash));
    for (const unshared of fresh) this.#take({ unshared, report, stateOf: unknownState, isFirst: false });
    return fresh.length;
  }

  /** Resolves when the upload of a result has ended, also if the remote was given up. */
  async settled(key: Hash): Promise<UploadEnd> {
    await this.#open.get(key)?.promise;
    if (this.#shared.has(key) || this.#diverged.has(key)) return 'there';
    return this.#left.has(key) ? 'away' : 'refused';
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
    for (const { unshared } of this.#waiting.splice(0)) this.#settle(unshared.key.hash);
    if (this.#underWay.size > 0) this.#options.remote.giveUp('the run is over');
    await this.#drained();
  }

  async #drained(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #take(job: Job): void {
    const { hash } = job.unshared.key;
    this.#left.add(hash);
    if (!this.#open.has(hash)) this.#open.set(hash, Promise.withResolvers());
    this.#waiting.push(job);
    this.#next();
  }

  #next(): void {
    while (this.#underWay.size < REMOTE.uploads) {
      const job = this.#waiting.shift();
      if (!job) return;
      const sent = this.#send(job).finally(() => {
        this.#underWay.delete(sent);
        this.#settle(job.unshared.key.hash);
        this.#next();
      });
      this.#underWay.add(sent);
    }
  }

  #settle(key: Hash): void {
    this.#open.get(key)?.resolve();
    this.#open.delete(key);
  }

  /** Never rejects. */
  async #send({ unshared, report, stateOf, isFirst }: Job): Promise<void> {
    const { remote, store, outbox } = this.#options;
    const { hash: key } = unshared.key;
    if (!remote.usable || !remote.takesWrites) return;
    try {
      const outcome = await share(unshared, { store, remote, report, stateOf, isFirst });
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
