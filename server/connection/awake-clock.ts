// A clock that counts only the time in which the server was awake. All limits for clients are measured by it.
//
// A server that was stopped, swapped out or busy for seconds comes to its timers first, and sees only afterwards what its
// clients sent meanwhile. That time must not count against them: a tick counts for two sweeps at most, however late it is.
import type { ServerLimits } from '../limits.ts';

export interface Clock {
  /** In milliseconds, as of the last tick. */
  readonly now: number;
  tick(): void;
}

const SWEEPS_A_TICK = 2;

export class AwakeClock implements Clock {
  readonly #mostMs: number;
  readonly #wallMs: () => number;
  #tickedAt: number;
  #now = 0;

  constructor({ sweepMs }: Pick<ServerLimits, 'sweepMs'>, wallMs = performance.now.bind(performance)) {
    this.#mostMs = SWEEPS_A_TICK * sweepMs;
    this.#wallMs = wallMs;
    this.#tickedAt = wallMs();
  }

  get now(): number {
    return this.#now;
  }

  tick(): void {
    const at = this.#wallMs();
    this.#now += Math.min(at - this.#tickedAt, this.#mostMs);
    this.#tickedAt = at;
  }
}
