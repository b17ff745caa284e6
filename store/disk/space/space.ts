// The space of a store: admits writes within the size limit, and evicts to make space.
//
// Invariants:
// S1 Usage plus reservations stay within the limit: bytes are admitted only if their reservation fits. What
//    the index uses stays within STORE.indexShare of the limit.
// S2 Only bytes that have arrived reserve space and cause eviction. They are admitted in order of arrival.
// S3 A write is refused, with ASSAY_STORE_FULL, only after eviction found nothing more to remove (everything
//    left is leased), or failed. A lease is never broken for a write. Writes whose bytes still arrive make way
//    first: the slowest that is stalled, or the youngest if all of them wait for one another. None of them
//    ends in vain: without all of them the waiting bytes would fit.
// S4 A write that could not fit even in a store without files is refused at once, by its announced size if it
//    has one, and nothing is evicted for it.
// S5 Reads never wait for space.
// S6 Eviction runs in the background from STORE.evictFrom down to STORE.evictTo of the limit, and pauses
//    between steps unless a write waits. Reserved bytes count as used.
//
//  bytes arrived ─ fit, and none wait ─> ADMITTED
//     │                                     ^ evicted enough, or an unfinished write made way
//     ├─ do not fit, or others wait ───> WAITING ─ nothing left to evict, or eviction failed ─> REFUSED
//     └─ larger than the limit ─────────────────────────────────────────────────────────────────────^
//
// Several processes may share one store. Each counts its own reservations only, so together they may exceed
// the limit by these.
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import type { IncomingWrite, Reservation } from '../../layers/limit.ts';
import { STORE } from '../../limits.ts';
import type { Holder } from '../accounts/accounts.ts';
import { allocatedBytes, type Usage } from '../index/byte-count.ts';
import { type Evicted, type Eviction, type EvictionStep, NOTHING_EVICTED, sumOf } from './eviction.ts';
import { SpaceQueue, type SpaceRequest } from './space-queue.ts';
import { makingWay, UnfinishedWrite } from './unfinished-writes.ts';
import { WakeableSleep } from './wakeable-sleep.ts';

export interface UsageSource {
  /** As it is now. */
  usage(): Usage;
  /** Makes the next `usage` cheaper. */
  compact(): Promise<void>;
}

/** Bytes of unfinished writes, and those of them that are for the index. */
interface Held {
  readonly bytes: number;
  readonly inIndex: number;
}

const NOTHING_HELD: Held = { bytes: 0, inIndex: 0 };

/** The reservation of a store without a limit. */
const UNLIMITED: Reservation = {
  grow: () => undefined,
  markStored: () => {},
  complete: () => {},
  end: () => {},
};

/** The bytes that are kept free for others than this writer. */
type KeptFor = (writer: Holder | undefined) => number;

interface SpaceOptions {
  readonly source: UsageSource;
  readonly eviction: SpaceEviction;
  /** Called repeatedly: a share of a disk may change. */
  readonly limit: () => number;
  /** What a refusal calls the limit. */
  readonly name: string;
  readonly keptFor?: KeptFor;
}

/** Makes space, for a writer or in the background. */
export interface SpaceEviction extends Pick<Eviction, 'preview'> {
  step(wantedBytes: number, mostEntries: number, writer?: Holder): Promise<EvictionStep | undefined>;
}

export class Space {
  readonly #source: UsageSource;
  readonly #eviction: SpaceEviction;
  readonly #limit: () => number;
  readonly #name: string;
  readonly #keptFor: KeptFor;
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
  /** The writes whose bytes still arrive, in the order in which they began. */
  readonly #unfinished = new Set<UnfinishedWrite>();
  /** The other admitted writes. A commit counts their bytes as used before their reservation ends. */
  #finishing = 0;
  /** The wait for an admitted write. */
  readonly #settling = new WakeableSleep();
  #background: Promise<void> | undefined;
  #isClosing = false;
  readonly #alone: readonly Space[] = [this];

  constructor({ source, eviction, limit, name, keptFor = () => 0 }: SpaceOptions, onEvent: OnStoreEvent) {
    this.#source = source;
    this.#eviction = eviction;
    this.#limit = limit;
    this.#name = name;
    this.#keptFor = keptFor;
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

  isAvailable(bytes: number): boolean {
    return this.admitsNow(spaceRequestFor(bytes));
  }

  /** The request would not wait. */
  admitsNow(request: SpaceRequest): boolean {
    return this.limit === Number.POSITIVE_INFINITY || this.#isAvailable(request);
  }

  #isAvailable(request: SpaceRequest): boolean {
    return this.#queue.isEmpty && this.#fits(request);
  }

  /** A small blob may use the free part of the index file. A file needs space beside the index file. */
  #fits({ bytes, isForIndex, writer }: SpaceRequest, without = NOTHING_HELD): boolean {
    const usage = this.#currentUsage();
    const incoming = this.#reserved + bytes - without.bytes;
    const limit = this.limit - this.#keptFor(writer);
    if (!isForIndex) return onDisk(usage) + incoming <= limit;
    const inIndex = usage.index + this.#reservedForIndex + bytes - without.inIndex;
    return inUse(usage) + incoming <= limit && inIndex <= STORE.indexShare * this.limit;
  }

  /** Runs `write` with that many bytes reserved, which have arrived. Waits for space if necessary. */
  withReserved<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    return withinAll(this.#alone, spaceRequestFor(bytes), write);
  }

  /** Reserves bytes that have arrived: a promise if they have to wait. `leave` ends it. */
  enter(request: SpaceRequest): Promise<void> | undefined {
    if (this.limit === Number.POSITIVE_INFINITY) return undefined;
    const waiting = this.#acquire(request);
    if (waiting) return waiting.then(() => void this.#finishing++);
    this.#finishing++;
    return undefined;
  }

  /** After `enter`, when the write has ended. */
  leave(request: SpaceRequest): void {
    if (this.limit === Number.POSITIVE_INFINITY) return;
    this.#settle(request);
    this.#finish();
  }

  /** Begins a write whose bytes still arrive. Reserves nothing yet. */
  begin(incoming: IncomingWrite, writer?: Holder): Reservation {
    const { announced } = incoming;
    if (this.limit === Number.POSITIVE_INFINITY) return UNLIMITED;
    if (announced !== undefined) this.#refuseTooLarge(spaceRequestFor(announced));
    const write = new UnfinishedWrite(this.#admission, incoming, writer);
    this.#unfinished.add(write);
    return write;
  }

  readonly #admission = {
    acquire: (request: SpaceRequest) => this.#acquire(request),
    settle: (request: SpaceRequest) => this.#settle(request),
    complete: (write: UnfinishedWrite) => {
      if (this.#unfinished.delete(write)) this.#finishing++;
    },
    end: (write: UnfinishedWrite) => {
      if (this.#unfinished.delete(write)) this.#settling.wake();
      else this.#finish();
    },
    changed: () => this.#settling.wake(),
  };

  #finish(): void {
    this.#finishing--;
    this.#settling.wake();
  }

  /** The reserved bytes count as usage from now on. */
  #settle({ bytes, isForIndex }: SpaceRequest): void {
    this.#addReserved({ bytes: -bytes, isForIndex });
    this.#usage = plus(this.#usage, { bytes, isForIndex });
  }

  /** Reserves the bytes. A promise if they have to wait. */
  #acquire(request: SpaceRequest): Promise<void> | undefined {
    if (!this.#isAvailable(request)) return this.#wait(request);
    this.#addReserved(request);
    this.evictInAdvance();
    return undefined;
  }

  /** Begins to evict in the background if the space is nearly full. */
  evictInAdvance(): void {
    if (this.#excess(this.#currentUsage(), STORE.evictFrom) > 0) this.#evictInBackground();
  }

  #addReserved({ bytes, isForIndex }: SpaceRequest): void {
    this.#reserved += bytes;
    if (isForIndex) this.#reservedForIndex += bytes;
  }

  async #wait(request: SpaceRequest): Promise<void> {
    const { bytes, isForIndex, write } = request;
    this.#refuseTooLarge({ bytes: bytes + (write?.held ?? 0), isForIndex });
    const admitted = this.#queue.wait(request);
    this.#sleep.wake();
    this.#background ??= this.#evictForQueue();
    await admitted;
    this.evictInAdvance();
  }

  /** Eviction can't help (S4). */
  #refuseTooLarge({ bytes, isForIndex }: SpaceRequest): void {
    const { limit } = this;
    if (bytes > limit) throw new AssayError('ASSAY_TOO_LARGE', `${this.#name} is ${limit} bytes`);
    const { indexFile } = this.#currentUsage();
    if (!isForIndex && indexFile + bytes > limit) throw tooLargeBesideIndex(bytes, limit);
  }

  #evictInBackground(): void {
    if (!this.#isClosing) this.#background ??= this.#evictForQueue();
  }

  /** Evicts until no write waits. If nothing more can be evicted, a write makes way or is refused (S3). */
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
        if (evictedFor) await this.#makeWay(evictedFor);
      } while (!this.#queue.isEmpty);
    } catch (error) {
      this.#onEvent({ type: 'eviction-failed', detail: messageOf(error) });
      while (!this.#queue.isEmpty) this.#queue.reject(error);
    } finally {
      this.#background = undefined;
    }
  }

  /**
   * By how many bytes the store exceeds that part of the limit, including reservations and the first waiter.
   * For a file that waits, files are removed down to STORE.evictFrom: its next bytes need not wait again.
   */
  #excess(usage: Usage, part: number): number {
    const { limit } = this;
    const { first: waiting } = this.#queue;
    const incoming = waiting ? waiting.bytes + this.#keptFor(waiting.writer) : 0;
    const toIndex = waiting?.isForIndex ? waiting.bytes : 0;
    const [used, inIndex] = [inUse(usage) + this.#reserved, usage.index + this.#reservedForIndex];
    const indexLimit = STORE.indexShare * limit;
    const forFiles = incoming > toIndex ? STORE.evictFrom * limit : limit;
    return Math.max(
      used + Math.max(incoming - limit, -part * limit),
      inIndex + Math.max(toIndex - indexLimit, -part * indexLimit),
      // The index grows inside its file; only removing files frees space beside it.
      Math.min(
        onDisk(usage) + this.#reserved - this.#reservedForIndex + incoming - toIndex - forFiles,
        usage.files,
      ),
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
  async #makeWay(request: SpaceRequest): Promise<void> {
    this.#measure(performance.now());
    this.#admitFitting();
    if (this.#queue.first !== request) return;
    const { write } = request;
    const isOpen = !this.#isClosing;
    if (isOpen && this.#finishing > 0) return this.#settling.sleep(STORE.slowWriteMs);
    const found =
      isOpen && this.#fits(request, this.#heldByOthers(write))
        ? makingWay(this.#unfinished, write, performance.now())
        : undefined;
    if (found && 'inMs' in found) return this.#settling.sleep(found.inMs);
    const error = storeFull(this.#name, this.limit);
    found?.cancel(error);
    this.#queue.reject(error, found && found !== write ? ({ write: of }) => of === found : undefined);
    if (isOpen) await (found ?? write)?.ended;
  }

  /** What would be free without the unfinished writes of others. */
  #heldByOthers(own: UnfinishedWrite | undefined): Held {
    const held = { bytes: 0, inIndex: 0 };
    for (const write of this.#unfinished) {
      if (write === own) continue;
      held.bytes += write.held;
      if (write.isForIndex) held.inIndex += write.held;
    }
    return held;
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
      const step =
        excess > 0 && !this.#isClosing
          ? await this.#eviction.step(excess, entries, this.#queue.first?.writer)
          : undefined;
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
    this.#settling.wake();
    await this.#background;
  }
}

/** Small blobs go into the index, larger ones into files. */
export function spaceRequestFor(bytes: number, writer?: Holder): SpaceRequest {
  return { bytes: allocatedBytes(bytes), isForIndex: bytes <= STORE.inlineBytes, writer };
}

/** Runs `write` with the bytes reserved in each space. It waits for one space after another, in their order. */
export async function withinAll<T>(
  spaces: readonly Space[],
  request: SpaceRequest,
  write: () => Promise<T>,
): Promise<T> {
  let entered = 0;
  try {
    for (const space of spaces) {
      const waiting = space.enter(request);
      if (waiting) await waiting;
      entered++;
    }
    return await write();
  } finally {
    while (entered > 0) spaces[--entered]?.leave(request);
  }
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

/** Does not say how large the index is: that would tell what others store. */
function tooLargeBesideIndex(bytes: number, limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `the index file never shrinks, and a file of ${bytes} bytes does not fit beside it into the limit of ${limit}; raise the limit, or create a new store`,
  );
}

function storeFull(name: string, limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `${name} of ${limit} bytes is reached, and everything that could be evicted for it is leased, or kept for others; it can be evicted when its leases end`,
  );
}
