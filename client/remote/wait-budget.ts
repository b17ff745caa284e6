// The wait budget: how long a run waits for a remote in total.
//
// Waiting uses up the budget; a response or received bytes refill some of it. When REMOTE.silentMs is used
// up, the run gives up the remote. So a remote that is down or silent costs one bounded time. A slow remote
// that makes progress is never given up here; worth.ts decides whether a slow download is worth its time.
//
// Requests and uploads have separate accounts. Sent bytes wait in the kernel's buffers first, and the kernel
// does not report when they leave. While bytes are unacknowledged, an upload may be silent for as long as a
// slow line needs.
//
// Time in which the client itself gets no CPU does not count: neither the time in which this thread ran or
// waited for a CPU, nor the delay of a late tick. REMOTE.starvedMs bounds even that.
import { REMOTE } from '../limits.ts';
import { type ThreadTime, threadTimeMs } from './thread-time.ts';

interface Account {
  pending: number;
  usedMs: number;
  /** Wall-clock time since the last progress. */
  silentMs: number;
}

export class WaitBudget {
  readonly #now: () => number;
  readonly #threadTime: ThreadTime;
  readonly #end = new AbortController();
  readonly #asking: Account = { pending: 0, usedMs: 0, silentMs: 0 };
  readonly #sending: Account = { pending: 0, usedMs: 0, silentMs: 0 };
  #unacknowledged = 0;
  #countedTo = 0;
  #threadTimeTo = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(now: () => number, own: ThreadTime = threadTimeMs) {
    this.#now = now;
    this.#threadTime = own;
  }

  /** Aborts when the budget is used up. */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** Counts the time of `work`, a request or a download. */
  ask<T>(work: () => Promise<T>): Promise<T> {
    return this.#during(this.#asking, work);
  }

  /** The same for an upload of `bytes`. */
  async send<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    this.#unacknowledged += bytes;
    try {
      return await this.#during(this.#sending, work);
    } finally {
      this.#unacknowledged -= bytes;
    }
  }

  /** A response has started, or a transfer that worth.ts judges has made progress. */
  moved(): void {
    this.#refill(REMOTE.movedWorthMs);
  }

  /** Progress of a response that worth.ts does not judge: it must keep a minimum rate. */
  received(bytes: number): void {
    this.#refill((bytes / REMOTE.slowBytesPerSecond) * 1000);
  }

  giveUp(why: string): void {
    clearInterval(this.#timer);
    this.#end.abort(new Error(why));
  }

  async #during<T>(account: Account, work: () => Promise<T>): Promise<T> {
    this.signal.throwIfAborted();
    if (this.#asking.pending + this.#sending.pending === 0) {
      [this.#countedTo, this.#threadTimeTo] = [this.#now(), this.#threadTime()];
      this.#timer = setInterval(() => this.#count(), REMOTE.tickMs);
    } else this.#count();
    if (account.pending++ === 0) account.silentMs = 0;
    try {
      return await work();
    } finally {
      this.#count();
      account.pending--;
      if (this.#asking.pending + this.#sending.pending === 0) clearInterval(this.#timer);
    }
  }

  #count(): void {
    const [now, own] = [this.#now(), this.#threadTime()];
    // A late tick means that this process was held up: stopped, swapped out or asleep.
    const elapsed = Math.min(now - this.#countedTo, REMOTE.lateTickMs);
    const waited = Math.max(0, elapsed - (own - this.#threadTimeTo));
    [this.#countedTo, this.#threadTimeTo] = [now, own];
    const inBuffers = Math.min(this.#unacknowledged, REMOTE.bufferedBytes);
    const drainMs = (inBuffers / REMOTE.slowBytesPerSecond) * 1000;
    this.#charge(this.#asking, waited, elapsed, REMOTE.silentMs);
    this.#charge(this.#sending, waited, elapsed, REMOTE.silentMs + drainMs);
  }

  #charge(account: Account, waited: number, elapsed: number, limit: number): void {
    if (account.pending === 0) return;
    account.usedMs += waited;
    account.silentMs += elapsed;
    const isOver = account.usedMs > limit || account.silentMs > limit + REMOTE.starvedMs;
    if (isOver) this.giveUp('it is too slow, or does not answer');
  }

  #refill(milliseconds: number): void {
    this.#count();
    for (const account of [this.#asking, this.#sending]) {
      account.usedMs = Math.max(0, account.usedMs - milliseconds);
      account.silentMs = 0;
    }
  }
}
