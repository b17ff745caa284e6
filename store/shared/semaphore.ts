// A counting semaphore with a bounded FIFO queue and a timeout.
// `acquire` rejects with ASSAY_OVERLOADED if the queue is full or the wait takes longer than `waitMs`.
import { AssayError } from '../../core/errors.ts';

interface SemaphoreLimits {
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
  /** In order of arrival. */
  readonly #queue = new Set<Waiter>();
  #taken = 0;

  constructor(limits: SemaphoreLimits) {
    this.#limits = limits;
  }

  /** Each `acquire` that resolves needs exactly one `release`. `waitMs`: for this one, instead of the limit. */
  acquire(waitMs = this.#limits.waitMs): Promise<void> {
    if (this.tryAcquire()) return Promise.resolve();
    if (this.#queue.size >= this.#limits.maxWaiting)
      return Promise.reject(overloaded('too many operations are waiting'));
    return this.#wait(waitMs);
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    await this.acquire();
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  /** Never waits. Returns whether a permit was free. */
  tryAcquire(): boolean {
    if (this.#taken >= this.#limits.permits) return false;
    this.#taken++;
    return true;
  }

  get hasWaiters(): boolean {
    return this.#queue.size > 0;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Passes the permit to the first waiter. */
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

  #wait(waitMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.delete(waiter);
        reject(overloaded(`waited ${waitMs} ms for other operations to end`));
      }, waitMs);
      const waiter: Waiter = { admit: resolve, timer };
      this.#queue.add(waiter);
    });
  }
}

function overloaded(why: string): AssayError {
  return new AssayError('ASSAY_OVERLOADED', why);
}
