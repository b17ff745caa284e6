// A limit on bytes per second for background work. Unused time does not accumulate into a burst.
import { STORE } from '../limits.ts';

export class Throttle {
  readonly #bytesPerSecond: number;
  readonly #now: () => number;
  readonly #wait: (ms: number) => Promise<void>;
  #freeAt = 0;

  constructor(
    bytesPerSecond: number,
    now: () => number = performance.now.bind(performance),
    wait: (ms: number) => Promise<void> = pause,
  ) {
    this.#bytesPerSecond = bytesPerSecond;
    this.#now = now;
    this.#wait = wait;
  }

  /** Resolves when the next piece may be read. */
  async pass(bytes: number): Promise<void> {
    const now = this.#now();
    this.#freeAt = Math.max(this.#freeAt, now) + (bytes / this.#bytesPerSecond) * 1000;
    const ahead = this.#freeAt - now;
    if (ahead > STORE.shortestPauseMs) await this.#wait(ahead);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
