// A bounded number of the steps of a run wait at once, because each wait is an open request. Further steps queue for it.
// Guarantee: the time in the queue is a part of the wait, so no step waits longer for it. A step without room runs.
import { Semaphore } from '../../../store/shared/semaphore.ts';
import { RUNNER } from './limits.ts';
import type { HeldByOther, LeasePlace } from './place.ts';

export class WaitQueue {
  readonly #maxQueued: number;
  readonly #places: Semaphore;

  constructor(waits: number = RUNNER.waits, maxQueued: number = RUNNER.queuedWaits) {
    this.#maxQueued = maxQueued;
    this.#places = new Semaphore({ permits: waits, maxWaiting: maxQueued, waitMs: RUNNER.queueMs });
  }

  /** As `place.wait`, when it is this step's turn. */
  async wait(place: LeasePlace, held: HeldByOther, leftMs: number): ReturnType<LeasePlace['wait']> {
    if (this.#places.waiting >= this.#maxQueued) return { outcome: 'none' };
    const began = performance.now();
    try {
      await this.#places.acquire(Math.min(leftMs, RUNNER.queueMs));
    } catch {
      return held;
    }
    try {
      return await place.wait(held, Math.max(0, leftMs - (performance.now() - began)));
    } finally {
      this.#places.release();
    }
  }
}
