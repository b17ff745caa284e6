// Ends a request if nothing moves for a time. The time stops while the server waits for this side.
import type { Progress } from './outgoing.ts';

export class Deadline implements Progress {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly idleMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(idleMs: number, caller: AbortSignal | undefined) {
    this.idleMs = idleMs;
    this.#caller = caller;
    caller?.addEventListener('abort', this.#abort, { once: true });
    if (caller?.aborted) this.#abort();
    else this.moved();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the request was ended because nothing moved. */
  get isOver(): boolean {
    return this.#isOver;
  }

  moved(): void {
    if (this.#timer) this.#timer.refresh();
    else if (!this.signal.aborted) this.#timer = setTimeout(this.#expire, this.idleMs);
  }

  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** The request is over, or is to end now. */
  end(): void {
    this.pause();
    this.#caller?.removeEventListener('abort', this.#abort);
    this.#controller.abort();
  }

  readonly #expire = (): void => {
    this.#isOver = true;
    this.end();
  };

  readonly #abort = (): void => this.end();
}
