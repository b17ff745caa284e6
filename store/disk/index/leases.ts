// Leases: a blob that an answer reports as present stays for `leaseMs` more, whichever process evicts.
//
// Invariants:
// L1 The lease is committed before the answer. If the index can't be written, the answer comes without a
//    lease, with an `unleased` event. A disk that refuses this commit refuses those of eviction too.
// L2 A blob whose tick is inside the renewal window (leaseMs / leaseWindows) needs no write. So a blob in
//    constant use is written once per window.
// L3 A lease lasts one window longer than `leaseMs`, which makes up for L2. So an answer at time t protects
//    its blobs until t + leaseMs at least.
// L4 A result's tick is never later than the tick of a present blob that it names: blobs are stamped first,
//    and the result gets the oldest of their ticks. Its lease lasts two windows longer.
// L5 A tick far ahead of the clock is damage, not a lease: the next use stamps the entry again.
//
//           stamp                 window ends             leaseMs + window + slack end         evicted
//   absent ───────> FRESH ─────────────────────> STALE ────────────────────────────> EXPIRED ─────────> absent
//                     ^                            │ use: stamp                         │ use: stamp
//                     └────────────────────────────┴────────────────────────────────────┘
//
// FRESH: a use writes nothing. STALE: still leased, and a use writes. EXPIRED: eviction may remove it.
import type { Digest, Hash } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import type { OnStoreEvent } from '../../events.ts';
import type { BlobEntry, Index } from './index.ts';
import type { LogicalClock } from './logical-clock.ts';
import { EVERYONE } from './records.ts';

/** A list of blobs that was found fresh. */
interface FreshList {
  readonly digests: readonly Digest[];
  /** The oldest tick in it. */
  readonly oldest: number;
  /** Has all of them. EVERYONE if nobody asked. */
  readonly holder: number;
}

export class Leases {
  readonly clock: LogicalClock;
  readonly #index: Index;
  readonly #onEvent: OnStoreEvent;
  /** The last list that was found fresh, and the oldest tick in it. Ticks do not go back. */
  #lastFresh: FreshList = { digests: [], oldest: 0, holder: EVERYONE };

  constructor(index: Index, clock: LogicalClock, onEvent: OnStoreEvent) {
    this.#index = index;
    this.clock = clock;
    this.#onEvent = onEvent;
  }

  /** FRESH: a use writes nothing. */
  isFresh({ tick }: BlobEntry): boolean {
    return isFreshTick(tick, this.clock.freshBlob());
  }

  /** Leases those that are present. Resolves to the oldest tick that any of them has now. */
  async renew(hashes: readonly Hash[]): Promise<number> {
    for (;;) {
      this.#index.refresh();
      const { stale, oldest } = this.#findStale(hashes);
      if (await this.#stampAll(stale)) return oldest;
    }
  }

  /**
   * True if the tenant has all of these blobs and they are FRESH in the current read view. A blob that is fresh
   * there is still present, and its tick is not earlier now. Also finds out whether the holder has them all.
   */
  areFresh(digests: readonly Digest[], tenant: number, holder = EVERYONE): boolean {
    if (this.#findFresh(digests, tenant, holder)) return true;
    return holder !== EVERYONE && this.#findFresh(digests, tenant, EVERYONE);
  }

  #findFresh(digests: readonly Digest[], tenant: number, holder: number): boolean {
    const fresh = this.clock.freshBlob();
    let oldest = Number.POSITIVE_INFINITY;
    for (const tick of this.#index.ticksOf(digests, tenant, holder)) {
      if (tick === undefined || !isFreshTick(tick, fresh)) return false;
      oldest = Math.min(oldest, tick);
    }
    this.#lastFresh = { digests, oldest, holder };
    return true;
  }

  /**
   * The oldest tick of these blobs, of whichever tenants, and not later than the tick of a stamp. Undefined unless
   * all are FRESH. A put has just asked whether the same list is: then it is not looked up again. `isHeld`: that
   * holder has all of them, and stays, because eviction takes no holder from a blob that is FRESH.
   */
  oldestIfFresh(
    digests: readonly Digest[],
    holder = EVERYONE,
  ): { tick: number; isHeld: boolean } | undefined {
    const { digests: last, oldest, holder: asked } = this.#lastFresh;
    const isKnown = last === digests && asked === holder && isFreshTick(oldest, this.clock.freshBlob());
    if (!isKnown && !this.areFresh(digests, EVERYONE, holder)) return undefined;
    const { oldest: found, holder: held } = this.#lastFresh;
    const tick = found <= this.clock.lastBegun() ? found : Math.min(found, this.clock.stamp().tick);
    return { tick, isHeld: held === holder };
  }

  #findStale(hashes: readonly Hash[]): { stale: [Hash, BlobEntry][]; oldest: number } {
    const fresh = this.clock.freshBlob();
    const stale: [Hash, BlobEntry][] = [];
    let oldest = this.clock.stamp().tick;
    for (const hash of hashes) {
      const entry = this.#index.find(hash);
      if (!entry) continue;
      if (isFreshTick(entry.tick, fresh)) oldest = Math.min(oldest, entry.tick);
      else stale.push([hash, entry]);
    }
    return { stale, oldest };
  }

  /** False if an entry has changed meanwhile: then all are read again. */
  async #stampAll(stale: readonly [Hash, BlobEntry][]): Promise<boolean> {
    if (stale.length === 0) return true;
    const stamp = this.clock.stamp();
    try {
      const renewed = await Promise.all(
        stale.map(([hash, entry]) => this.#index.stampBlob(hash, entry, stamp)),
      );
      return renewed.every(Boolean);
    } catch (error) {
      // A failed write does not fail the read (L1).
      this.#onEvent({ type: 'unleased', detail: messageOf(error) });
      return true;
    }
  }
}

/** A tick this far ahead of the clock was never reached: a flipped bit would lease the blob for ever (L5). */
const FAR_AHEAD = 2 ** 20;

export function isFreshTick(tick: number, fresh: number): boolean {
  return tick >= fresh && tick < fresh + FAR_AHEAD;
}
