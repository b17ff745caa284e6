// The FIFO queue of writes that wait for space in a full store (S2 of space.ts).
// A small write never overtakes a large one, which could otherwise wait for ever.
import type { Holder } from '../accounts/accounts.ts';
import type { UnfinishedWrite } from './unfinished-writes.ts';

export interface SpaceRequest {
  readonly bytes: number;
  /** Otherwise for a file. */
  readonly isForIndex: boolean;
  /** The holder that writes. Undefined for what counts for no account, such as documents of runs. */
  readonly writer?: Holder | undefined;
  /** The write whose next bytes these are. Undefined if all bytes of the write have arrived. */
  readonly write?: UnfinishedWrite;
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

  /** Rejects the first waiter whose request matches. */
  reject(error: unknown, matches: (request: SpaceRequest) => boolean = () => true): void {
    const index = this.#waiters.findIndex(({ request }) => matches(request));
    if (index >= 0) this.#waiters.splice(index, 1)[0]?.reject(error);
  }
}
