// Promises: what this says is there stays there for the time of a lease, whichever process evicts. That a blob is in use
// is written down before anybody is told of it; but where it was written down a short while ago, that counts for now too,
// since a lease is longer than it says by as much. So a blob that is used all the time is written once in a while.
import type { Hash } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import type { Entry, Index } from './index.ts';
import type { LogicalClock } from './logical-clock.ts';

export class Leases {
  readonly clock: LogicalClock;
  readonly #index: Index;
  readonly #onEvent: OnStoreEvent;

  constructor(index: Index, clock: LogicalClock, onEvent: OnStoreEvent) {
    this.#index = index;
    this.clock = clock;
    this.#onEvent = onEvent;
  }

  /** Nothing needs to be written for it. */
  isLeased({ tick }: Entry): boolean {
    return isFresh(tick, this.clock.freshBlob());
  }

  /** Resolves to the oldest tick that any of those which are there has now. */
  async renew(hashes: readonly Hash[]): Promise<number> {
    for (;;) {
      this.#index.refresh();
      const { stale, oldest } = this.#findStale(hashes);
      if (await this.#stampAll(stale)) return oldest;
    }
  }

  #findStale(hashes: readonly Hash[]): { stale: [Hash, Entry][]; oldest: number } {
    const fresh = this.clock.freshBlob();
    const stale: [Hash, Entry][] = [];
    let oldest = this.clock.stamp().tick;
    for (const hash of hashes) {
      const entry = this.#index.find(hash);
      if (!entry) continue;
      if (isFresh(entry.tick, fresh)) oldest = Math.min(oldest, entry.tick);
      else stale.push([hash, entry]);
    }
    return { stale, oldest };
  }

  /** False if some of them have changed meanwhile and must be looked at again. */
  async #stampAll(stale: readonly [Hash, Entry][]): Promise<boolean> {
    if (stale.length === 0) return true;
    const stamp = this.clock.stamp();
    try {
      const renewed = await Promise.all(
        stale.map(([hash, entry]) => this.#index.stampBlob(hash, entry, stamp)),
      );
      return renewed.every(Boolean);
    } catch (error) {
      // Nothing can be written, so nothing can be evicted either: a read is not refused for that.
      this.#onEvent({ type: 'unleased', detail: messageOf(error) });
      return true;
    }
  }
}

/** A tick that is so far ahead was never reached: a bit of it has flipped, and it would be leased for ever. */
const FAR_AHEAD = 2 ** 20;

export function isFresh(tick: number, fresh: number): boolean {
  return tick >= fresh && tick < fresh + FAR_AHEAD;
}
