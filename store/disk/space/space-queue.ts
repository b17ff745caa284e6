// The FIFO queue of writes that wait for space in a full store (S2 of space.ts).
// A small write never overtakes a large one, which could otherwise wait for ever.

export interface SpaceRequest {
  readonly bytes: number;
  /** Otherwise for a file. */
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

  /** The request of the first waiter. */
  get first(): SpaceRequest | undefined {
    return this.#waiters[0]?.request;
  }

  /** Resolves when the request is admitted, rejects when it is refused. */
  wait(request: SpaceRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ request, resolve, reject });
    });
  }

  /** Admits waiters from the front for as long as `take` finds space for them. */
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
