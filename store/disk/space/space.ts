// The space of a store: admits writes within the size limit, and evicts to make space.
//
// Invariants:
// S1 Usage plus reservations stay within the limit: a write is admitted only if its reservation fits. What
//    the index uses stays within STORE.indexShare of the limit.
// S2 Writes are admitted in order of arrival.
// S3 A waiting write is refused, with ASSAY_STORE_FULL, only after eviction for that write found nothing more
//    to remove (everything left is leased), or failed. A lease is never broken for a write.
// S4 A write that could not fit even in a store without files is refused at once, and nothing is evicted for
//    it.
// S5 Reads never wait for space.
// S6 Eviction runs in the background from STORE.evictFrom down to STORE.evictTo of the limit, and pauses
//    between steps unless a write waits.
//
//  request ─ fits, and no write waits ─> ADMITTED
//     │                                     ^ evicted enough
//     ├─ does not fit, or a write waits ─> WAITING ─ nothing left to evict, or eviction failed ─> REFUSED
//     └─ larger than the limit ─────────────────────────────────────────────────────────────────────^
//
// Several processes may share one store. Each counts its own reservations only, so together they may exceed
// the limit by these.
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import type { Reservation } from '../../layers/limit.ts';
import { STORE } from '../../limits.ts';
import { allocatedBytes } from '../index/byte-count.ts';
import { type Evicted, type Eviction, NOTHING_EVICTED, sumOf } from './eviction.ts';
import { SpaceQueue, type SpaceRequest } from './space-queue.ts';
import { WakeableSleep } from './wakeable-sleep.ts';

/** The bytes that a store uses. */
export interface Usage {
  /** Used bytes of the index file, plus the free part that LMDB needs beside them. */
  readonly index: number;
  /** The whole index file. It never shrinks, and only the index can use the free part of it. */
  readonly indexFile: number;
  /** Blob files, staged files and the quarantine. */
  readonly files: number;
}

export interface UsageSource {
  /** As it is now. */
  usage(): Usage;
  /** Makes the next `usage` cheaper. */
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
  /** Reserved bytes that are not counted as usage yet, and those of them that go into the index. */
  #reserved = 0;
  #reservedForIndex = 0;
  /** The time of the last refusal, unless a write was admitted since. */
  #refusedAt: number | undefined;
  #background: Promise<void> | undefined;
  #isClosing = false;

  /** `limit` is called repeatedly: a share of a disk may change. */
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

  /** Cached for STORE.usageMs: asking the disk each time would cost a small put a tenth of its time. */
  get limit(): number {
    const now = performance.now();
    if (now >= this.#limitUntil) {
      this.#limitBytes = this.#limit();
      this.#limitUntil = now + STORE.usageMs;
    }
    return this.#limitBytes;
  }

  /** The bytes on the disk. */
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

  /** Only the next write would show whether there is space again, so this ends after STORE.refusedMs. */
  get hasRefusedRecently(): boolean {
    return this.#refusedAt !== undefined && performance.now() - this.#refusedAt < STORE.refusedMs;
  }

  isAvailable(bytes: number): boolean {
    return this.limit === Number.POSITIVE_INFINITY || this.#isAvailable(requestFor(bytes));
  }

  #isAvailable(request: SpaceRequest): boolean {
    return this.#queue.isEmpty && this.#fits(request);
  }

  /** A small blob may use the free part of the index file. A file needs space beside the index file. */
  #fits({ bytes, isForIndex }: SpaceRequest): boolean {
    const usage = this.#currentUsage();
    const incoming = this.#reserved + bytes;
    if (!isForIndex) return onDisk(usage) + incoming <= this.limit;
    const inIndex = usage.index + this.#reservedForIndex + bytes;
    return inUse(usage) + incoming <= this.limit && inIndex <= STORE.indexShare * this.limit;
  }

  /** Runs `write` with that many bytes reserved. Waits for space if necessary. */
  async withReserved<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    if (this.limit === Number.POSITIVE_INFINITY) return write();
    const reservation = await this.#reserve(requestFor(bytes));
    try {
      return await write();
    } finally {
      reservation.end();
    }
  }

  /** For a write whose size is not known at the start, or whose bytes are counted before it ends. */
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

  /** Resolves to the bytes that were reserved. */
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

  /** Refuses a file that would not fit even without all other files (S4). */
  async #wait(request: SpaceRequest): Promise<void> {
    const { indexFile } = this.#currentUsage();
    if (!request.isForIndex && indexFile + request.bytes > this.limit)
      throw tooLargeBesideIndex(request, indexFile, this.limit);
    const admitted = this.#queue.wait(request);
    this.#sleep.wake();
    this.#background ??= this.#evictForQueue();
    await admitted;
  }

  #evictInBackground(): void {
    if (!this.#isClosing) this.#background ??= this.#evictForQueue();
  }

  /** Evicts until no write waits. Refuses a write for which nothing more could be evicted (S3). */
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

  /**
   * By how many bytes the store exceeds that part of the limit, including reservations and the first waiter.
   */
  #excess(usage: Usage, part: number): number {
    const { limit } = this;
    const { first: waiting } = this.#queue;
    const incoming = this.#reserved + (waiting?.bytes ?? 0);
    const toIndex = this.#reservedForIndex + (waiting?.isForIndex ? waiting.bytes : 0);
    const indexLimit = STORE.indexShare * limit;
    return Math.max(
      inUse(usage) - Math.min(limit - incoming, part * limit),
      usage.index - Math.min(indexLimit - toIndex, part * indexLimit),
      // The index grows inside its file; only removing files frees space beside it.
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
   * Another process may have evicted meanwhile. A write that arrived after the last eviction step is not
   * refused: nothing was evicted for it yet.
   */
  #rejectUnlessFitting(request: SpaceRequest): void {
    this.#measure(performance.now());
    this.#admitFitting();
    if (this.#queue.first !== request) return;
    this.#refusedAt = performance.now();
    this.#queue.rejectFirst(storeFull(this.limit));
  }

  /**
   * Evicts down to that many bytes, or until everything is leased. Pauses as long as each step took, and
   * awaits `onStep` after each.
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

  /** What `evict` would remove now. `onPage` is awaited after each page. */
  wouldEvict(target: number, onPage: () => Promise<void> = async () => {}): Promise<Evicted> {
    this.#measure(performance.now());
    return this.#eviction.preview(excessOver(target, this.#usage), onPage);
  }

  /** Removes at most `entries` per step. Other writers wait during a step. */
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
      const { uploads: _, ...removed } = step;
      if (removed.results + removed.blobs > 0) this.#onEvent({ type: 'evicted', ...removed });
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

/** Eviction can't help. */
function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit of the whole store is ${limit} bytes`);
}

/** Small blobs go into the index, larger ones into files. */
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
    `the index file takes ${indexFile} bytes of the limit of ${limit} and never shrinks; a file of ${bytes} bytes does not fit beside it; raise the limit, or create a new store`,
  );
}

function storeFull(limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `the limit of ${limit} bytes is reached, and everything in the store is leased; it can be evicted when its leases end`,
  );
}
