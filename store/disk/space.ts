// Promises: the store stays within its limit. What would go beyond waits until as much of the least recently used is gone,
// and is refused with ASSAY_STORE_FULL when all that is left is leased: a promise that was given is kept instead.
//
// Removing begins before the limit is reached, in the background, and then takes only a part of the time, unless somebody
// waits; who waits enters as soon as there is room for it. Reads wait for none of it. Several processes may do so on one
// store.
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../../core/errors.ts';
import { STORE } from '../../core/limits.ts';
import type { OnStoreEvent } from '../events.ts';
import type { Reservation } from '../limit.ts';
import { type Evicted, type Eviction, NOTHING_EVICTED, sumOf } from './eviction.ts';
import { Queue } from './queue.ts';
import { Rest } from './rest.ts';
import { roomOf } from './tally.ts';

/** What a store holds. */
export interface Holdings {
  /** In files, in the index and in uploads, as it is now. */
  bytes(): number;
  /** Makes the next count cheaper. */
  fold(): Promise<void>;
}

export class Space {
  readonly #holdings: Holdings;
  readonly #eviction: Pick<Eviction, 'step' | 'foresee'>;
  readonly #limit: () => number;
  readonly #onEvent: OnStoreEvent;
  readonly #queue = new Queue();
  readonly #rest = new Rest();
  #used = 0;
  #usedUntil = Number.NEGATIVE_INFINITY;
  #most = 0;
  #mostUntil = Number.NEGATIVE_INFINITY;
  /** What has been let in and is not in the index yet. */
  #underWay = 0;
  /** When somebody was last refused, unless somebody was let in since. */
  #refusedAt: number | undefined;
  #background: Promise<void> | undefined;
  #isClosing = false;

  /** `limit` is asked again and again: a share of a disk may change. */
  constructor(
    holdings: Holdings,
    eviction: Pick<Eviction, 'step' | 'foresee'>,
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

  used(): number {
    const now = performance.now();
    if (now >= this.#usedUntil) this.#measure(now);
    return this.#used;
  }

  #measure(now: number): void {
    this.#used = this.#holdings.bytes();
    this.#usedUntil = now + STORE.usedMs;
  }

  /** For a while after a refusal: nobody knows before the next try whether there is room again. */
  get isRefusing(): boolean {
    return this.#refusedAt !== undefined && performance.now() - this.#refusedAt < STORE.refusingMs;
  }

  isFree(bytes: number): boolean {
    return this.limit === Number.POSITIVE_INFINITY || this.#isOpen(roomOf(bytes));
  }

  #isOpen(room: number): boolean {
    return this.#queue.isEmpty && this.#fits(room);
  }

  #fits(room: number): boolean {
    return this.used() + this.#underWay + room <= this.limit;
  }

  /** Around a write of that many bytes; at once, if there is room for them. */
  async during<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    if (this.limit === Number.POSITIVE_INFINITY) return write();
    const reservation = await this.reserve(bytes);
    try {
      return await write();
    } finally {
      reservation.end();
    }
  }

  /** Room for a write whose size is known only in part, or that is counted before it ends. */
  async reserve(bytes: number): Promise<Reservation> {
    let held = await this.#take(bytes);
    const settle = (room: number) => {
      const settled = Math.min(room, held);
      held -= settled;
      this.#underWay -= settled;
      this.#used += settled;
    };
    return {
      grow: async (more) => {
        held += await this.#take(more);
      },
      settle,
      end: () => settle(held),
    };
  }

  /** Resolves to what is taken of the room. */
  async #take(bytes: number): Promise<number> {
    const { limit } = this;
    if (limit === Number.POSITIVE_INFINITY) return 0;
    const room = roomOf(bytes);
    if (room > limit) throw tooLarge(limit);
    if (this.#isOpen(room)) this.#underWay += room;
    else await this.#wait(room);
    this.#refusedAt = undefined;
    if (this.used() + this.#underWay > STORE.evictFrom * limit) this.#beginInBackground();
    return room;
  }

  async #wait(room: number): Promise<void> {
    const entered = this.#queue.wait(room);
    this.#rest.end();
    this.#background ??= this.#makeRoom();
    await entered;
  }

  #beginInBackground(): void {
    if (!this.#isClosing) this.#background ??= this.#makeRoom();
  }

  /** Until nobody waits; who finds no room although all went that could is refused. */
  async #makeRoom(): Promise<void> {
    try {
      do {
        await this.#evictTo(
          () => this.#target,
          (tookMs) => this.#restUnlessWaitedFor(tookMs),
          STORE.evictEntries,
        );
        if (!this.#queue.isEmpty) this.#refuseFirst();
      } while (!this.#queue.isEmpty);
    } catch (error) {
      this.#onEvent({ type: 'eviction-failed', detail: messageOf(error) });
      while (!this.#queue.isEmpty) this.#queue.refuseFirst(error);
    } finally {
      this.#background = undefined;
    }
  }

  get #target(): number {
    return Math.min(this.limit - this.#underWay - this.#queue.wanted, STORE.evictTo * this.limit);
  }

  async #restUnlessWaitedFor(tookMs: number): Promise<void> {
    if (this.#queue.isEmpty) await this.#rest.during(STORE.evictRest * tookMs);
  }

  #letIn(): void {
    this.#queue.letIn((room) => {
      const isFitting = this.#fits(room);
      if (isFitting) this.#underWay += room;
      return isFitting;
    });
  }

  /** Unless another process has just made room. */
  #refuseFirst(): void {
    this.#measure(performance.now());
    this.#letIn();
    if (this.#queue.isEmpty) return;
    this.#refusedAt = performance.now();
    this.#queue.refuseFirst(full(this.limit));
  }

  /**
   * Down to so many bytes, or until all that is left is leased; leaves half of the time to others. `onStep` is awaited
   * after each.
   */
  evict(target: number, onStep: () => Promise<void> = async () => {}): Promise<Evicted> {
    return this.#evictTo(
      () => target,
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
    return this.#eviction.foresee(this.#used - target, onPage);
  }

  /** `entries` go in one step, at most; nobody else can write meanwhile. */
  async #evictTo(
    target: () => number,
    rest: (tookMs: number) => Promise<void>,
    entries: number,
  ): Promise<Evicted> {
    let evicted = NOTHING_EVICTED;
    for (;;) {
      const began = performance.now();
      this.#measure(began);
      this.#letIn();
      const excess = this.#used - target();
      const step = excess > 0 && !this.#isClosing ? await this.#eviction.step(excess, entries) : undefined;
      if (!step) break;
      const { results, blobs, bytes } = step;
      if (results + blobs > 0) this.#onEvent({ type: 'evicted', results, blobs, bytes });
      evicted = sumOf(evicted, step);
      await this.#holdings.fold();
      await rest(performance.now() - began);
    }
    this.#usedUntil = Number.NEGATIVE_INFINITY;
    return evicted;
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    this.#rest.end();
    await this.#background;
  }
}

/** No eviction could make room for it. */
function tooLarge(limit: number): AssayError {
  return new AssayError('ASSAY_TOO_LARGE', `the limit of the whole store is ${limit} bytes`);
}

function full(limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `what is in use fills the limit of ${limit} bytes; nothing of it is removed before its lease ends`,
  );
}
