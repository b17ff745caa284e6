// How long a run waits for a remote. Waiting runs up a debt, and whatever the remote does pays some of it off: an answer, bytes.
// When the debt passes REMOTE.silentMs the remote is given up for the rest of the run. So a remote that is down or silent costs
// one bounded time, and one that is slow but moves is never given up here: whether a slow download is worth its time
// is decided by who wants it (worth.ts).
//
// Questions and uploads have an account each. What was sent lies in the kernel's buffers first, and nobody tells when it
// has left them: while bytes are unacknowledged, an upload may be silent for as long as a slow line takes to carry them.
//
// The client's own starvation never counts: not the time in which this thread ran or waited for a processor, and not by how
// much a tick comes late. REMOTE.starvedMs bounds even that.
import { REMOTE } from '../limits.ts';
import { type ThreadTime, threadTimeMs } from './thread-time.ts';

interface Account {
  pending: number;
  usedMs: number;
  /** Since something came, whatever this process did meanwhile. */
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

  /** Counts the time that `work` waits: for an answer, or for a download. */
  ask<T>(work: () => Promise<T>): Promise<T> {
    return this.#during(this.#asking, work);
  }

  /** The same for an upload of so many bytes. */
  async send<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    this.#unacknowledged += bytes;
    try {
      return await this.#during(this.#sending, work);
    } finally {
      this.#unacknowledged -= bytes;
    }
  }

  /** An answer has begun, or some of a transfer has moved whose worth somebody else judges. */
  moved(): void {
    this.#refill(REMOTE.movedWorthMs);
  }

  /** Of an answer whose worth nobody can judge: it must come at some rate. */
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
    // A tick that comes much later than it was due says that this process was held up: stopped, swapped out, or asleep.
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
