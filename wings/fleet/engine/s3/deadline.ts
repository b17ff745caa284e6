// Ends a request if nothing moves for a time, or no answer begins. The time stops while the server waits for this
// side.
import { AssayError } from '../../../../core/errors.ts';
import type { Progress } from './outgoing.ts';

/** The bucket took a request and answered nothing. Asking again would double the wait. */
export class NoAnswer extends AssayError {
  constructor(detail: string) {
    super('ASSAY_BUCKET_AWAY', detail);
  }
}

export class Deadline implements Progress {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal | undefined;
  readonly #idleMs: number;
  readonly #answerMs: number;
  readonly #onEnd: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isAnswering = false;
  #isEnded = false;
  #expired: 'nothing moved' | 'no answer' | undefined;

  /** `onEnd` is called once. */
  constructor(
    { idleMs, answerMs }: { readonly idleMs: number; readonly answerMs: number },
    caller: AbortSignal | undefined,
    onEnd: () => void,
  ) {
    this.#idleMs = idleMs;
    this.#answerMs = answerMs;
    this.#caller = caller;
    this.#onEnd = onEnd;
    caller?.addEventListener('abort', this.#abort, { once: true });
    if (caller?.aborted) this.#abort();
    else this.moved();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the request was ended here. */
  get expired(): 'nothing moved' | 'no answer' | undefined {
    return this.#expired;
  }

  /** How long it has waited then. */
  get expiredMs(): number {
    return this.#expired === 'no answer' ? this.#answerMs : this.#idleMs;
  }

  moved(): void {
    if (this.#timer && !this.#isAnswering) this.#timer.refresh();
    else this.#start(this.#idleMs, false);
  }

  /** The whole request is sent: the answer is due. */
  sent(): void {
    this.#start(this.#answerMs, true);
  }

  #start(milliseconds: number, isAnswering: boolean): void {
    this.pause();
    this.#isAnswering = isAnswering;
    if (!this.signal.aborted) this.#timer = setTimeout(this.#expire, milliseconds);
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
    if (!this.#isEnded) this.#onEnd();
    this.#isEnded = true;
  }

  readonly #expire = (): void => {
    this.#expired = this.#isAnswering ? 'no answer' : 'nothing moved';
    this.end();
  };

  readonly #abort = (): void => this.end();
}
