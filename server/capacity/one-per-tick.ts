// A queue that resumes one waiting task per iteration of the event loop.
// Guarantee: a short request waits for one long piece of work, not for all that are queued.

export class OnePerTick {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in an iteration of the event loop that no other task has. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(this.#resumeOne);
    });
  }

  readonly #resumeOne = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#resumeOne);
  };
}
