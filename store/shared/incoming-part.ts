// One part of an upload while it is received. It can be stopped at any time, even while the sender is silent.
import { AssayError } from '../../core/errors.ts';
import type { Content } from '../store.ts';

export class IncomingPart {
  /** Resolves when this part will not touch the upload any more. */
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

  /** Undefined at the end. */
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

  /** Releases the content without waiting: a sender that is gone never answers. */
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
