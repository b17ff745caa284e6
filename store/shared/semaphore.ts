// A bounded number of places, for whatever may be done only so many times at once. Who comes too many waits in turn, in a
// queue that has a bound too; who waits too long, or does not fit into the queue, is refused.
import { AssayError } from '../../core/errors.ts';

export interface PlacesLimits {
  readonly places: number;
  readonly waiting: number;
  readonly waitMs: number;
}

interface Waiting {
  readonly enter: () => void;
  readonly timer: NodeJS.Timeout;
}

export class Places {
  readonly #limits: PlacesLimits;
  /** In the order in which they came. */
  readonly #queue = new Set<Waiting>();
  #taken = 0;

  constructor(limits: PlacesLimits) {
    this.#limits = limits;
  }

  /** Each one that enters leaves exactly once. */
  enter(): Promise<void> {
    if (this.tryEnter()) return Promise.resolve();
    if (this.#queue.size >= this.#limits.waiting) return Promise.reject(overloaded('too many are waiting'));
    return this.#wait();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Without waiting: whether there was a place. */
  tryEnter(): boolean {
    if (this.#taken >= this.#limits.places) return false;
    this.#taken++;
    return true;
  }

  get isWaitedFor(): boolean {
    return this.#queue.size > 0;
  }

  /** The place goes to whoever has waited longest. */
  leave(): void {
    const [next] = this.#queue;
    if (!next) {
      this.#taken--;
      return;
    }
    this.#queue.delete(next);
    clearTimeout(next.timer);
    next.enter();
  }

  #wait(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#queue.delete(waiting);
        reject(overloaded(`no place became free within ${this.#limits.waitMs} ms`));
      }, this.#limits.waitMs);
      const waiting = { enter: resolve, timer };
      this.#queue.add(waiting);
    });
  }
}

function overloaded(why: string): AssayError {
  return new AssayError('ASSAY_OVERLOADED', why);
}
