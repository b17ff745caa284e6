// Long pieces of work, one in each turn of the event loop: whoever has a short request waits for one of them, not for all.

export class OnePerTick {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a turn that nobody else has been given. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#give);
    });
  }

  readonly #give = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#give);
  };
}
