// Promises: the store stays within its limit. What would go beyond waits until as much of the least recently used is gone,
// and is refused with ASSAY_STORE_FULL when all that is left is leased: a promise that was given is kept instead.
//
// Removing begins before the limit is reached, in the background, and then takes only a part of the time, unless somebody
// waits; who waits enters as soon as there is room for it. Reads wait for none of it. Several processes may do so on one
// store.
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import type { Reservation } from '../../layers/limit.ts';
import { STORE } from '../../limits.ts';
import { allocatedBytes } from '../index/byte-count.ts';
import { type Evicted, type Eviction, NOTHING_EVICTED, sumOf } from './eviction.ts';
import { type Need, SpaceQueue } from './space-queue.ts';
import { WakeableSleep } from './wakeable-sleep.ts';

/** What a store holds, in bytes. */
export interface Held {
  /** What the index uses of its file, and a part that must lie free there. */
  readonly index: number;
  /** The file never shrinks: what is not used of it is room for the index, and for nothing else. */
  readonly indexFile: number;
  /** Blobs, and what is staged. */
  readonly files: number;
}

export interface Holdings {
  /** As it is now. */
  held(): Held;
  /** Makes the next count cheaper. */
  fold(): Promise<void>;
}

export class Space {
  readonly #holdings: Holdings;
  readonly #eviction: Pick<Eviction, 'step' | 'preview'>;
  readonly #limit: () => number;
  readonly #onEvent: OnStoreEvent;
  readonly #queue = new SpaceQueue();
  readonly #rest = new WakeableSleep();
  #held: Held = { index: 0, indexFile: 0, files: 0 };
  #heldUntil = Number.NEGATIVE_INFINITY;
  #most = 0;
  #mostUntil = Number.NEGATIVE_INFINITY;
  /** What has been let in and is not counted yet, and the part of it that the index will hold. */
  #underWay = 0;
  #underWayToIndex = 0;
  /** When somebody was last refused, unless somebody was let in since. */
  #refusedAt: number | undefined;
  #background: Promise<void> | undefined;
  #isClosing = false;

  /** `limit` is asked again and again: a share of a disk may change. */
  constructor(
    holdings: Holdings,
    eviction: Pick<Eviction, 'step' | 'preview'>,
    limit: () => number,
    onEvent: OnStoreEvent,
  ) {
    this.#holdings = holdings;
    this.#eviction = eviction;
    this.#limit = limit;
    this.#onEvent = onEvent;
  }

  /** Asking the disk each time would cost a small put a tenth of its time. */
  get limit(): number {
    const now = performance.now();
    if (now >= this.#mostUntil) {
      this.#most = this.#limit();
      this.#mostUntil = now + STORE.usedMs;
    }
    return this.#most;
  }

  /** What lies on the disk. */
  used(): number {
    return onDisk(this.#heldNow());
  }

  #heldNow(): Held {
    const now = performance.now();
    if (now >= this.#heldUntil) this.#measure(now);
    return this.#held;
  }

  #measure(now: number): void {
    this.#held = this.#holdings.held();
    this.#heldUntil = now + STORE.usedMs;
  }

  /** For a while after a refusal: nobody knows before the next try whether there is room again. */
  get isRefusing(): boolean {
    return this.#refusedAt !== undefined && performance.now() - this.#refusedAt < STORE.refusingMs;
  }

  isFree(bytes: number): boolean {
    return this.limit === Number.POSITIVE_INFINITY || this.#isOpen(needOf(bytes));
  }

  #isOpen(need: Need): boolean {
    return this.#queue.isEmpty && this.#fits(need);
  }

  /** What goes into the index finds room in its file. A file of its own needs room beside it. */
  #fits({ bytes, isForIndex }: Need): boolean {
    const held = this.#heldNow();
    const coming = this.#underWay + bytes;
    if (!isForIndex) return onDisk(held) + coming <= this.limit;
    const inIndex = held.index + this.#underWayToIndex + bytes;
    return inUse(held) + coming <= this.limit && inIndex <= STORE.indexShare * this.limit;
  }

  /** Around a write of that many bytes; at once, if there is room for them. */
  async during<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    if (this.limit === Number.POSITIVE_INFINITY) return write();
    const reservation = await this.#hold(needOf(bytes));
    try {
      return await write();
    } finally {
      reservation.end();
    }
  }

  /** Room for a write whose size is known only in part, or that is counted before it ends. */
  reserve(bytes: number): Promise<Reservation> {
    return this.#hold({ bytes: allocatedBytes(bytes), isForIndex: false });
  }

  async #hold(need: Need): Promise<Reservation> {
    const { isForIndex } = need;
    let held = await this.#take(need);
    const settle = (bytes: number) => {
      const settled = Math.min(bytes, held);
      held -= settled;
      this.#enter({ bytes: -settled, isForIndex });
      this.#held = added(this.#held, { bytes: settled, isForIndex });
    };
    return {
      grow: async (more) => {
        held += await this.#take({ bytes: allocatedBytes(more), isForIndex });
      },
      settle,
      end: () => settle(held),
    };
  }

  /** Resolves to what is taken of the room. */
  async #take(need: Need): Promise<number> {
    const { limit } = this;
    if (limit === Number.POSITIVE_INFINITY) return 0;
    if (need.bytes > limit) throw tooLarge(limit);
    if (this.#isOpen(need)) this.#enter(need);
    else await this.#wait(need);
    this.#refusedAt = undefined;
    if (this.#excess(this.#heldNow(), STORE.evictFrom) > 0) this.#beginInBackground();
    return need.bytes;
  }

  #enter({ bytes, isForIndex }: Need): void {
    this.#underWay += bytes;
    if (isForIndex) this.#underWayToIndex += bytes;
  }

  /** Nothing is removed for a file that would not fit if all others were gone. */
  async #wait(need: Need): Promise<void> {
    const { indexFile } = this.#heldNow();
    if (!need.isForIndex && indexFile + need.bytes > this.limit)
      throw besideIndex(need, indexFile, this.limit);
    const entered = this.#queue.wait(need);
    this.#rest.wake();
    this.#background ??= this.#makeRoom();
    await entered;
  }

  #beginInBackground(): void {
    if (!this.#isClosing) this.#background ??= this.#makeRoom();
  }

  /** Until no write waits. A write that finds no room although all went that could is refused. */
  async #makeRoom(): Promise<void> {
    try {
      do {
        let evictedFor: Need | undefined;
        await this.#evictWhile(
          (held) => {
            evictedFor = this.#queue.first;
            return this.#excess(held, STORE.evictTo);
          },
          (tookMs) => this.#restUnlessWaitedFor(tookMs),
          STORE.evictEntries,
        );
        if (evictedFor) this.#refuseUnlessFitting(evictedFor);
      } while (!this.#queue.isEmpty);
    } catch (error) {
      this.#onEvent({ type: 'eviction-failed', detail: messageOf(error) });
      while (!this.#queue.isEmpty) this.#queue.rejectFirst(error);
    } finally {
      this.#background = undefined;
    }
  }

  /** How much too much there is, with what is to come, where so large a part of the limit may be in use. */
  #excess(held: Held, part: number): number {
    const { limit } = this;
    const { first: wanted } = this.#queue;
    const coming = this.#underWay + (wanted?.bytes ?? 0);
    const toIndex = this.#underWayToIndex + (wanted?.isForIndex ? wanted.bytes : 0);
    const indexLimit = STORE.indexShare * limit;
    return Math.max(
      inUse(held) - Math.min(limit - coming, part * limit),
      held.index - Math.min(indexLimit - toIndex, part * indexLimit),
      // What goes into the index finds room in its file, and only files can make it less that lies beside it.
      Math.min(onDisk(held) + coming - toIndex - limit, held.files),
    );
  }

  async #restUnlessWaitedFor(tookMs: number): Promise<void> {
    if (this.#queue.isEmpty) await this.#rest.sleep(STORE.evictPauseFactor * tookMs);
  }

  #letIn(): void {
    this.#queue.admit((need) => {
      const isFitting = this.#fits(need);
      if (isFitting) this.#enter(need);
      return isFitting;
    });
  }

  /**
   * Another process may just have made room. A write that began to wait after the last eviction step is not refused: nothing
   * was removed for it yet.
   */
  #refuseUnlessFitting(need: Need): void {
    this.#measure(performance.now());
    this.#letIn();
    if (this.#queue.first !== need) return;
    this.#refusedAt = performance.now();
    this.#queue.rejectFirst(full(this.limit));
  }

  /**
   * Down to so many bytes, or until all that is left is leased; leaves half of the time to others. `onStep` is awaited
   * after each.
   */
  evict(target: number, onStep: () => Promise<void> = async () => {}): Promise<Evicted> {
    return this.#evictWhile(
      (held) => excessOver(target, held),
      async (tookMs) => {
        await onStep();
        await pause(tookMs);
      },
      STORE.gcEntries,
    );
  }

  /** What `evict` would remove now. `onPage` is awaited now and then. */
  wouldEvict(target: number, onPage: () => Promise<void> = async () => {}): Promise<Evicted> {
    this.#measure(performance.now());
    return this.#eviction.preview(excessOver(target, this.#held), onPage);
  }

  /** `entries` go in one step, at most; nobody else can write meanwhile. */
  async #evictWhile(
    excessOf: (held: Held) => number,
    rest: (tookMs: number) => Promise<void>,
    entries: number,
  ): Promise<Evicted> {
    let evicted = NOTHING_EVICTED;
    for (;;) {
      const began = performance.now();
      this.#measure(began);
      this.#letIn();
      const excess = excessOf(this.#held);
      const step = excess > 0 && !this.#isClosing ? await this.#eviction.step(excess, entries) : undefined;
      if (!step) break;
      const { results, blobs, bytes } = step;
      if (results + blobs > 0) this.#onEvent({ type: 'evicted', results, blobs, bytes });
      evicted = sumOf(evicted, step);
      await this.#holdings.fold();
      await rest(performance.now() - began);
    }
    this.#heldUntil = Number.NEGATIVE_INFINITY;
    return evicted;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#rest.wake();
    await this.#background;
  }
}

/** No eviction could make room for it. */
function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit of the whole store is ${limit} bytes`);
}

/** As blobs are cut: what is no larger is written into the index, and the rest into files. */
function needOf(bytes: number): Need {
  return { bytes: allocatedBytes(bytes), isForIndex: bytes <= STORE.inlineBytes };
}

function added({ index, indexFile, files }: Held, { bytes, isForIndex }: Need): Held {
  return isForIndex ? { index: index + bytes, indexFile, files } : { index, indexFile, files: files + bytes };
}

function inUse({ index, files }: Held): number {
  return index + files;
}

function onDisk({ index, indexFile, files }: Held): number {
  return Math.max(index, indexFile) + files;
}

function excessOver(target: number, held: Held): number {
  return Math.max(inUse(held) - target, Math.min(onDisk(held) - target, held.files));
}

function besideIndex({ bytes }: Need, indexFile: number, limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `the index takes ${indexFile} bytes of the limit of ${limit}, and only a new store has a smaller one; a file of ${bytes} bytes can’t lie beside it`,
  );
}

function full(limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `what is in use fills the limit of ${limit} bytes; nothing of it is removed before its lease ends`,
  );
}
