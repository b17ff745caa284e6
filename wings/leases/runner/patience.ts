// How long a run waits for an answer, in the time that its thread really waits. A thread that gets no processor, or is
// stopped, can't see an answer that has come, and on a busy machine that takes seconds. `mostMs` bounds even that.
import { threadTimeMs } from '../../../client/remote/thread-time.ts';
import { RUNNER } from './limits.ts';

export class Patience {
  readonly #end = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #countedTo = performance.now();
  #threadTimeTo = threadTimeMs();
  #leftMs: number;

  constructor(patienceMs: number, mostMs: number) {
    this.#leftMs = patienceMs;
    const until = this.#countedTo + mostMs;
    this.#timer = setInterval(() => {
      this.#count();
      if (this.isOver || performance.now() >= until) this.#end.abort();
    }, RUNNER.patienceTickMs);
  }

  /** Aborts when the run waits no longer. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** The server did not answer in time. */
  get isOver(): boolean {
    return this.#leftMs <= 0;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #count(): void {
    const [now, own] = [performance.now(), threadTimeMs()];
    // A late tick means that this process was held up.
    const elapsed = Math.min(now - this.#countedTo, 2 * RUNNER.patienceTickMs);
    this.#leftMs -= Math.max(0, elapsed - (own - this.#threadTimeTo));
    [this.#countedTo, this.#threadTimeTo] = [now, own];
  }
}
