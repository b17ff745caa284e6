// How long a run waits for a remote. Waiting runs up a debt; what arrives pays it off: bytes at the rate that is worth
// waiting for, and a little for each answer, so that a distant server with many small files is not taken for a dead one.
// When the debt passes the limit the remote is given up for the rest of the run, so all its faults together, whatever
// they are (no route, no answer, a trickle, a stall in the middle), cost one bounded time.
import { REMOTE } from '../../core/limits.ts';

export class Patience {
  readonly #now: () => number;
  readonly #end = new AbortController();
  #underWay = 0;
  #debtMs = 0;
  #countedTo = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Aborts when patience ends. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Counts the time that `work` takes against the limit. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#begin();
    try {
      return await work();
    } finally {
      this.#finish();
    }
  }

  received(bytes: number): void {
    this.#pay((bytes / REMOTE.bytesPerSecond) * 1000);
  }

  answered(): void {
    this.#pay(REMOTE.answerWorthMs);
  }

  giveUp(why: string): void {
    clearInterval(this.#timer);
    this.#end.abort(new Error(why));
  }

  #begin(): void {
    this.signal.throwIfAborted();
    if (this.#underWay++ > 0) return;
    this.#countedTo = this.#now();
    this.#timer = setInterval(() => this.#count(), REMOTE.tickMs);
  }

  #finish(): void {
    if (--this.#underWay > 0) return;
    this.#count();
    clearInterval(this.#timer);
  }

  #count(): void {
    const now = this.#now();
    this.#debtMs += now - this.#countedTo;
    this.#countedTo = now;
    if (this.#debtMs > REMOTE.patienceMs) this.giveUp('it is too slow, or does not answer');
  }

  #pay(milliseconds: number): void {
    this.#count();
    this.#debtMs = Math.max(0, this.#debtMs - milliseconds);
  }
}
