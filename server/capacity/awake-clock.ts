// A clock that counts only the time in which this process ran. Every time limit for clients uses it.
// Guarantee: one tick advances it by two sweeps at most, however late the tick is.
//
// A process that was stopped, swapped out or busy runs its timers before it reads its sockets. A wall clock
// would therefore cut clients whose bytes arrived in time but were not read yet.
import type { ServerLimits } from '../limits.ts';

export interface Clock {
  /** Milliseconds, as of the last tick. */
  readonly now: number;
  tick(): void;
}

const MAX_SWEEPS_PER_TICK = 2;

export class AwakeClock implements Clock {
  readonly #maxTickMs: number;
  readonly #wallMs: () => number;
  #tickedAt: number;
  #now = 0;

  constructor({ sweepMs }: Pick<ServerLimits, 'sweepMs'>, wallMs = performance.now.bind(performance)) {
    this.#maxTickMs = MAX_SWEEPS_PER_TICK * sweepMs;
    this.#wallMs = wallMs;
    this.#tickedAt = wallMs();
  }

  get now(): number {
    return this.#now;
  }

  tick(): void {
    const at = this.#wallMs();
    this.#now += Math.min(at - this.#tickedAt, this.#maxTickMs);
    this.#tickedAt = at;
  }
}
