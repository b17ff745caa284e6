// A limit on bytes per second for background work. Unused time does not accumulate into a burst.

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
    if (ahead > MIN_PAUSE_MS) await this.#wait(ahead);
  }
}

/** Shorter pauses are added up: timers are no finer. */
const MIN_PAUSE_MS = 5;

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
