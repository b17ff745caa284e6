// Who waits for room in a store that is full, in the order in which they came. Nobody is overtaken: a large write would
// otherwise wait for as long as small ones come.

interface Waiting {
  readonly room: number;
  enter(): void;
  refuse(error: unknown): void;
}

export class Queue {
  readonly #waiting: Waiting[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** What the first of them needs; 0 if there is none. */
  get wanted(): number {
    return this.#waiting[0]?.room ?? 0;
  }

  /** Resolves when it is let in, and rejects when it is refused. */
  wait(room: number): Promise<void> {
    return new Promise((enter, refuse) => {
      this.#waiting.push({ room, enter, refuse });
    });
  }

  /** Those at the front for whom `take` finds room; it is asked for one after the other. */
  letIn(take: (room: number) => boolean): void {
    for (let [first] = this.#waiting; first && take(first.room); [first] = this.#waiting) {
      this.#waiting.shift();
      first.enter();
    }
  }

  refuseFirst(error: unknown): void {
    this.#waiting.shift()?.refuse(error);
  }
}
