// A bounded number of places, for whatever may be done only so many times at once. Who comes too many waits in turn, in a
// queue that has a bound too; who waits too long, or does not fit into the queue, is refused.
import { AssayError } from '../../core/errors.ts';

export interface SemaphoreLimits {
  readonly permits: number;
  readonly maxWaiting: number;
  readonly waitMs: number;
}

interface Waiter {
  readonly admit: () => void;
  readonly timer: NodeJS.Timeout;
}

export class Semaphore {
  readonly #limits: SemaphoreLimits;
  /** In the order in which they came. */
  readonly #queue = new Set<Waiter>();
  #taken = 0;

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  /** Each one that enters leaves exactly once. */
  acquire(): Promise<void> {
    if (this.tryAcquire()) return Promise.resolve();
    if (this.#queue.size >= this.#limits.maxWaiting)
      return Promise.reject(overloaded('too many are waiting'));
    return this.#wait();
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.acquire();
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  /** Without waiting: whether there was a place. */
  tryAcquire(): boolean {
    if (this.#taken >= this.#limits.permits) return false;
    this.#taken++;
    return true;
  }

  get hasWaiters(): boolean {
    return this.#queue.size > 0;
  }

  /** The place goes to whoever has waited longest. */
  release(): void {
    const [next] = this.#queue;
    if (!next) {
      this.#taken--;
      return;
    }
    this.#queue.delete(next);
    clearTimeout(next.timer);
    next.admit();
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.delete(waiter);
        reject(overloaded(`no place became free within ${this.#limits.waitMs} ms`));
      }, this.#limits.waitMs);
      const waiter: Waiter = { admit: resolve, timer };
      this.#queue.add(waiter);
    });
  }
}

function overloaded(why: string): AssayError {
  return new AssayError('ASSAY_OVERLOADED', why);
}
