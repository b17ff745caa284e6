// Who waits for room in a store that is full, in the order in which they came. Nobody is overtaken: a large write would
// otherwise wait for as long as small ones come.

export interface SpaceRequest {
  readonly bytes: number;
  /** Otherwise it is for a file. */
  readonly isForIndex: boolean;
}

interface Waiter {
  readonly request: SpaceRequest;
  resolve(): void;
  reject(error: unknown): void;
}

export class SpaceQueue {
  readonly #waiters: Waiter[] = [];

  get isEmpty(): boolean {
    return this.#waiters.length === 0;
  }

  /** What the first of them needs. */
  get first(): SpaceRequest | undefined {
    return this.#waiters[0]?.request;
  }

  /** Resolves when it is let in, and rejects when it is refused. */
  wait(request: SpaceRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ request, resolve, reject });
    });
  }

  /** Those at the front for whom `take` finds room; it is asked for one after the other. */
  admit(take: (request: SpaceRequest) => boolean): void {
    for (let [first] = this.#waiters; first && take(first.request); [first] = this.#waiters) {
      this.#waiters.shift();
      first.resolve();
    }
  }

  rejectFirst(error: unknown): void {
    this.#waiters.shift()?.reject(error);
  }
}
