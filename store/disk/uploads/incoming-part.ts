// A part of an upload while it arrives. It can be stopped from outside, also while it waits for a sender that is gone.
import { AssayError } from '../../../core/errors.ts';
import type { Content } from '../../store.ts';

export class IncomingPart {
  /** Resolves when nothing more happens to the upload's file because of this part. */
  readonly finished: Promise<void>;
  readonly finish: () => void;
  readonly #pieces: AsyncIterator<Uint8Array>;
  #isStopped = false;
  #fail: (why: AssayError) => void = () => {};

  constructor(content: Content) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.finish = resolve;
    this.#pieces = piecesOf(content);
  }

  /** The next piece, or undefined at the end. */
  next(): Promise<Uint8Array | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#isStopped) return reject(superseded());
      this.#fail = reject;
      this.#pieces.next().then(({ value, done }) => resolve(done ? undefined : value), reject);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#fail(superseded());
  }

  /** Lets go of the content. Nobody waits for a sender that may never answer. */
  close(): void {
    this.#pieces.return?.().catch(() => {});
  }
}

async function* piecesOf(content: Content): AsyncGenerator<Uint8Array> {
  if (content instanceof Uint8Array) yield content;
  else yield* content;
}

export function superseded(): AssayError {
  return new AssayError('ASSAY_BAD_OFFSET', 'the upload was taken over by another connection, or cancelled');
}
