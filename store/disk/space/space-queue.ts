// Who waits for room in a store that is full, in the order in which they came. Nobody is overtaken: a large write would
// otherwise wait for as long as small ones come.

export interface Need {
  readonly bytes: number;
  /** Otherwise it is for a file. */
  readonly isForIndex: boolean;
}

interface Waiting {
  readonly need: Need;
  enter(): void;
  refuse(error: unknown): void;
}

export class SpaceQueue {
  readonly #waiting: Waiting[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** What the first of them needs. */
  get first(): Need | undefined {
    return this.#waiting[0]?.need;
  }

  /** Resolves when it is let in, and rejects when it is refused. */
  wait(need: Need): Promise<void> {
    return new Promise((enter, refuse) => {
      this.#waiting.push({ need, enter, refuse });
    });
  }

  /** Those at the front for whom `take` finds room; it is asked for one after the other. */
  admit(take: (need: Need) => boolean): void {
    for (let [first] = this.#waiting; first && take(first.need); [first] = this.#waiting) {
      this.#waiting.shift();
      first.enter();
    }
  }

  rejectFirst(error: unknown): void {
    this.#waiting.shift()?.refuse(error);
  }
}
