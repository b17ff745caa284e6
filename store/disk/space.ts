// Promises: the store stays within its limit. What would go beyond waits until as much of the least recently used is gone,
// and is refused with ASSAY_STORE_FULL when all that is left is leased: a promise that was given is kept instead.
//
// Removing begins before the limit is reached, in the background, and then takes only a part of the time; reads wait for
// none of it. Several processes may do so on one store.
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../../core/errors.ts';
import { STORE } from '../../core/limits.ts';
import type { OnStoreEvent } from '../events.ts';
import { type Evicted, type Eviction, NOTHING_EVICTED } from './eviction.ts';
import type { Index } from './index.ts';
import { roomOf } from './tally.ts';

export class Space {
  readonly #index: Index;
  readonly #eviction: Eviction;
  readonly #staged: () => number;
  readonly #limit: () => number;
  readonly #onEvent: OnStoreEvent;
  #used = 0;
  #usedUntil = Number.NEGATIVE_INFINITY;
  /** What has been let in and is not in the index yet. */
  #underWay = 0;
  #background: Promise<void> | undefined;
  #urgent: Promise<boolean> | undefined;
  #isClosing = false;

  /** `staged`: what has arrived of uploads in parts. `limit` is asked each time: a share of a disk may change. */
  constructor(
    index: Index,
    eviction: Eviction,
    staged: () => number,
    limit: () => number,
    onEvent: OnStoreEvent,
  ) {
    this.#index = index;
    this.#eviction = eviction;
    this.#staged = staged;
    this.#limit = limit;
    this.#onEvent = onEvent;
  }

  get limit(): number {
    return this.#limit();
  }

  /** Everything in files, in the index and in uploads. */
  used(): number {
    const now = performance.now();
    if (now >= this.#usedUntil) this.#measure(now);
    return this.#used;
  }

  #measure(now: number): void {
    this.#index.refresh();
    this.#used = this.#index.tables.usedBytes() + this.#index.tally.bytes() + this.#staged();
    this.#usedUntil = now + STORE.usedMs;
  }

  isFree(bytes: number): boolean {
    return this.limit === Number.POSITIVE_INFINITY || this.#fits(roomOf(bytes));
  }

  #fits(room: number): boolean {
    return this.used() + this.#underWay + room <= this.limit;
  }

  /** Around a write of that many bytes; at once, if there is room for them. */
  async during<T>(bytes: number, write: () => Promise<T>): Promise<T> {
    if (this.limit === Number.POSITIVE_INFINITY) return write();
    const room = roomOf(bytes);
    if (!this.#fits(room)) await this.#makeFit(room);
    this.#underWay += room;
    if (this.used() + this.#underWay > STORE.evictFrom * this.limit) this.#beginInBackground();
    try {
      return await write();
    } finally {
      this.#underWay -= room;
      this.#used += room;
    }
  }

  async #makeFit(room: number): Promise<void> {
    while (!this.#fits(room)) {
      this.#urgent ??= this.#makeRoom(room).finally(() => {
        this.#urgent = undefined;
      });
      if (!(await this.#urgent) && this.#isBeyond(room)) throw full(this.limit);
    }
  }

  #isBeyond(room: number): boolean {
    this.#measure(performance.now());
    return !this.#fits(room);
  }

  /** False when nothing more can go. */
  async #makeRoom(room: number): Promise<boolean> {
    const target = Math.min(this.limit - room - this.#underWay, STORE.evictTo * this.limit);
    return (await this.#evictTo(target, async () => {})).isDone;
  }

  #beginInBackground(): void {
    if (this.#isClosing) return;
    this.#background ??= this.evict(STORE.evictTo * this.limit)
      .then(
        () => {},
        (error: unknown) => this.#onEvent({ type: 'eviction-failed', detail: messageOf(error) }),
      )
      .finally(() => {
        this.#background = undefined;
      });
  }

  /** Down to so many bytes, or until all that is left is leased; leaves most of the machine to others. */
  async evict(target: number): Promise<Evicted> {
    const { evicted } = await this.#evictTo(target, (tookMs) => pause(STORE.evictRest * tookMs));
    return evicted;
  }

  /** What `evict` would remove now. */
  wouldEvict(target: number): Promise<Evicted> {
    this.#measure(performance.now());
    return this.#eviction.foresee(this.#used - target);
  }

  async #evictTo(
    target: number,
    rest: (tookMs: number) => Promise<void>,
  ): Promise<{ evicted: Evicted; isDone: boolean }> {
    let evicted = NOTHING_EVICTED;
    let isDone = false;
    for (;;) {
      const began = performance.now();
      this.#measure(began);
      isDone = this.#used <= target;
      const step = isDone || this.#isClosing ? undefined : await this.#eviction.step(this.#used - target);
      if (!step) break;
      evicted = sum(evicted, step);
      await rest(performance.now() - began);
    }
    if (evicted.results + evicted.blobs > 0) this.#onEvent({ type: 'evicted', ...evicted });
    await this.#index.tally.fold();
    this.#usedUntil = Number.NEGATIVE_INFINITY;
    return { evicted, isDone };
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#background;
    await this.#urgent;
  }
}

function sum(a: Evicted, b: Evicted): Evicted {
  return { results: a.results + b.results, blobs: a.blobs + b.blobs, bytes: a.bytes + b.bytes };
}

function full(limit: number): AssayError {
  return new AssayError(
    'ASSAY_STORE_FULL',
    `what is in use fills the limit of ${limit} bytes; nothing of it is removed before its lease ends`,
  );
}
