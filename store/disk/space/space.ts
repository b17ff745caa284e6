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
import { SpaceQueue, type SpaceRequest } from './space-queue.ts';
import { WakeableSleep } from './wakeable-sleep.ts';

/** What a store holds, in bytes. */
export interface Usage {
  /** What the index uses of its file, and a part that must lie free there. */
  readonly index: number;
  /** The file never shrinks: what is not used of it is room for the index, and for nothing else. */
  readonly indexFile: number;
  /** Blobs, and what is staged. */
  readonly files: number;
}

export interface UsageSource {
  /** As it is now. */
  usage(): Usage;
  /** Makes the next count cheaper. */
  compact(): Promise<void>;
}

export class Space {
  readonly #source: UsageSource;
  readonly #eviction: Pick<Eviction, 'step' | 'preview'>;
  readonly #limit: () => number;
  readonly #onEvent: OnStoreEvent;
  readonly #queue = new SpaceQueue();
  readonly #sleep = new WakeableSleep();
  #usage: Usage = { index: 0, indexFile: 0, files: 0 };
  #usageUntil = Number.NEGATIVE_INFINITY;
  #limitBytes = 0;
  #limitUntil = Number.NEGATIVE_INFINITY;
  /** What has been let in and is not counted yet, and the part of it that the index will hold. */
  #reserved = 0;
  #reservedForIndex = 0;
  /** When somebody was last refused, unless somebody was let in since. */
  #refusedAt: number | undefined;
  #background: Promise<void> | undefined;
  #isClosing = false;

  /** `limit` is asked again and again: a share of a disk may change. */
  constructor(
    source: UsageSource,
    eviction: Pick<Eviction, 'step' | 'preview'>,
    limit: () => number,
    onEvent: OnStoreEvent,
  ) {
    this.#source = source;
    this.#eviction = eviction;
    this.#limit = limit;
    this.#onEvent = onEvent;
  }

  /** Asking the disk each time would cost a small put a tenth of its time. */
  get limit(): number {
    const now = performance.now();
    if (now >= this.#limitUntil) {
      this.#limitBytes = this.#limit();
      this.#limitUntil = now + STORE.usageMs;
    }
    return this.#limitBytes;
  }

  /** What lies on the disk. */
  used(): number {
    return onDisk(this.#currentUsage());
  }

  #currentUsage(): Usage {
    const now = performance.now();
    if (now >= this.#usageUntil) this.#measure(now);
    return this.#usage;
  }

  #measure(now: number): void {
    this.#usage = this.#source.usage();
    this.#usageUntil = now + STORE.usageMs;
  }

  /** For a while after a refusal: nobody knows before the next try whether there is room again. */
  get hasRefusedRecently(): boolean {
    return this.#refusedAt !== undefined && performance.now() - this.#refusedAt < STORE.refusedMs;
  }

  isAvailable(bytes: number): boolean {
    return this.limit === Number.POSITIVE_INFINITY || this.#isAvailable(requestFor(bytes));
  }

  #isAvailable(request: SpaceRequest): boolean {
    return this.#queue.isEmpty && this.#fits(request);
  }

  /** What goes into the index finds room in its file. A file of its own needs room beside it. */
  #fits({ bytes, isForIndex }: SpaceRequest): boolean {
    const usage = this.#currentUsage();
    const incoming = this.#reserved + bytes;
    if (!isForIndex) return onDisk(usage) + incoming <= this.limit;
    const inIndex = usage.index + this.#reservedForIndex + bytes;
    return inUse(usage) + incoming <= this.limit && inIndex <= STORE.indexShare * this.limit;
  }

  /** Around a write of that many bytes; at once, if there is room for them. */
  async withReserved<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    if (this.limit === Number.POSITIVE_INFINITY) return write();
    const reservation = await this.#reserve(requestFor(bytes));
    try {
      return await write();
    } finally {
      reservation.end();
    }
  }

  /** Room for a write whose size is known only in part, or that is counted before it ends. */
  reserve(bytes: number): Promise<Reservation> {
    return this.#reserve({ bytes: allocatedBytes(bytes), isForIndex: false });
  }

  async #reserve(request: SpaceRequest): Promise<Reservation> {
    const { isForIndex } = request;
    let reserved = await this.#acquire(request);
    const markStored = (bytes: number) => {
      const stored = Math.min(bytes, reserved);
      reserved -= stored;
      this.#addReserved({ bytes: -stored, isForIndex });
      this.#usage = plus(this.#usage, { bytes: stored, isForIndex });
    };
    return {
      grow: async (more) => {
        reserved += await this.#acquire({ bytes: allocatedBytes(more), isForIndex });
      },
      markStored,
      end: () => markStored(reserved),
    };
  }

  /** Resolves to what is taken of the room. */
  async #acquire(request: SpaceRequest): Promise<number> {
    const { limit } = this;
    if (limit === Number.POSITIVE_INFINITY) return 0;
    if (request.bytes > limit) throw tooLarge(limit);
    if (this.#isAvailable(request)) this.#addReserved(request);
    else await this.#wait(request);
    this.#refusedAt = undefined;
    if (this.#excess(this.#currentUsage(), STORE.evictFrom) > 0) this.#evictInBackground();
    return request.bytes;
  }

  #addReserved({ bytes, isForIndex }: SpaceRequest): void {
    this.#reserved += bytes;
    if (isForIndex) this.#reservedForIndex += bytes;
  }

  /** Nothing is removed for a file that would not fit if all others were gone. */
  async #wait(request: SpaceRequest): Promise<void> {
    const { indexFile } = this.#currentUsage();
    if (!request.isForIndex && indexFile + request.bytes > this.limit)
      throw tooLargeBesideIndex(request, indexFile, this.limit);
    const entered = this.#queue.wait(request);
    this.#sleep.wake();
    this.#background ??= this.#evictForQueue();
    await entered;
  }

  #evictInBackground(): void {
    if (!this.#isClosing) this.#background ??= this.#evictForQueue();
  }

  /** Until no write waits. A write that finds no room although all went that could is refused. */
  async #evictForQueue(): Promise<void> {
    try {
      do {
        let evictedFor: SpaceRequest | undefined;
        await this.#evictWhile(
          (usage) => {
            evictedFor = this.#queue.first;
            return this.#excess(usage, STORE.evictTo);
          },
          (tookMs) => this.#pauseUnlessWaited(tookMs),
          STORE.evictEntries,
        );
        if (evictedFor) this.#rejectUnlessFitting(evictedFor);
      } while (!this.#queue.isEmpty);
    } catch (error) {
      this.#onEvent({ type: 'eviction-failed', detail: messageOf(error) });
      while (!this.#queue.isEmpty) this.#queue.rejectFirst(error);
    } finally {
      this.#background = undefined;
    }
  }

  /** How much too much there is, with what is to come, where so large a part of the limit may be in use. */
  #excess(usage: Usage, part: number): number {
    const { limit } = this;
    const { first: waiting } = this.#queue;
    const incoming = this.#reserved + (waiting?.bytes ?? 0);
    const toIndex = this.#reservedForIndex + (waiting?.isForIndex ? waiting.bytes : 0);
    const indexLimit = STORE.indexShare * limit;
    return Math.max(
      inUse(usage) - Math.min(limit - incoming, part * limit),
      usage.index - Math.min(indexLimit - toIndex, part * indexLimit),
      // What goes into the index finds room in its file, and only files can make it less that lies beside it.
      Math.min(onDisk(usage) + incoming - toIndex - limit, usage.files),
    );
  }

  async #pauseUnlessWaited(tookMs: number): Promise<void> {
    if (this.#queue.isEmpty) await this.#sleep.sleep(STORE.evictPauseFactor * tookMs);
  }

  #admitFitting(): void {
    this.#queue.admit((request) => {
      const isFitting = this.#fits(request);
      if (isFitting) this.#addReserved(request);
      return isFitting;
    });
  }

  /**
   * Another process may just have made room. A write that began to wait after the last eviction step is not refused: nothing
   * was removed for it yet.
   */
  #rejectUnlessFitting(request: SpaceRequest): void {
    this.#measure(performance.now());
    this.#admitFitting();
    if (this.#queue.first !== request) return;
    this.#refusedAt = performance.now();
    this.#queue.rejectFirst(storeFull(this.limit));
  }

  /**
   * Down to so many bytes, or until all that is left is leased; leaves half of the time to others. `onStep` is awaited
   * after each.
   */
  evict(target: number, onStep: () => Promise<void> = async () => {}): Promise<Evicted> {
    return this.#evictWhile(
      (usage) => excessOver(target, usage),
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
    return this.#eviction.preview(excessOver(target, this.#usage), onPage);
  }

  /** `entries` go in one step, at most; nobody else can write meanwhile. */
  async #evictWhile(
    excessOf: (usage: Usage) => number,
    pauseAfter: (tookMs: number) => Promise<void>,
    entries: number,
  ): Promise<Evicted> {
    let evicted = NOTHING_EVICTED;
    for (;;) {
      const began = performance.now();
      this.#measure(began);
      this.#admitFitting();
      const excess = excessOf(this.#usage);
      const step = excess > 0 && !this.#isClosing ? await this.#eviction.step(excess, entries) : undefined;
      if (!step) break;
      const { results, blobs, bytes } = step;
      if (results + blobs > 0) this.#onEvent({ type: 'evicted', results, blobs, bytes });
      evicted = sumOf(evicted, step);
      await this.#source.compact();
      await pauseAfter(performance.now() - began);
    }
    this.#usageUntil = Number.NEGATIVE_INFINITY;
    return evicted;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#sleep.wake();
    await this.#background;
  }
}

/** No eviction could make room for it. */
function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit of the whole store is ${limit} bytes`);
}

/** As blobs are cut: what is no larger is written into the index, and the rest into files. */
function requestFor(bytes: number): SpaceRequest {
  return { bytes: allocatedBytes(bytes), isForIndex: bytes <= STORE.inlineBytes };
}

function plus({ index, indexFile, files }: Usage, { bytes, isForIndex }: SpaceRequest): Usage {
  return isForIndex ? { index: index + bytes, indexFile, files } : { index, indexFile, files: files + bytes };
}

function inUse({ index, files }: Usage): number {
  return index + files;
}

function onDisk({ index, indexFile, files }: Usage): number {
  return Math.max(index, indexFile) + files;
}

function excessOver(target: number, usage: Usage): number {
  return Math.max(inUse(usage) - target, Math.min(onDisk(usage) - target, usage.files));
}

function tooLargeBesideIndex({ bytes }: SpaceRequest, indexFile: number, limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `the index takes ${indexFile} bytes of the limit of ${limit}, and only a new store has a smaller one; a file of ${bytes} bytes can’t lie beside it`,
  );
}

function storeFull(limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `what is in use fills the limit of ${limit} bytes; nothing of it is removed before its lease ends`,
  );
}
