// The body of a request, from content whose pieces are valid only until the next one is asked for.
import type { Hash as Hasher } from 'node:crypto';
import { AssayError } from '../../../../core/errors.ts';
import { S3 } from './limits.ts';

/** Told about the waits of a body, so that only the server's time counts. */
export interface Progress {
  pause(): void;
  moved(): void;
  /** All of the body is on its way. */
  sent(): void;
}

/** Reads content piece by piece, for one request or for several one after another. */
export class ContentReader {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #rest: Uint8Array | undefined;
  #failure: { readonly error: unknown } | undefined;
  #hasBegun = false;
  #unsent = 0;
  readonly #isOneBody: boolean;

  /** Content of one request ends with it. That of several is checked by `expectEnd`. */
  constructor(content: AsyncIterable<Uint8Array>, isOneBody: boolean) {
    this.#isOneBody = isOneBody;
    this.#iterator = content[Symbol.asyncIterator]();
  }

  /** False while the request could still be repeated. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** False if the server answered before it had the whole body. */
  get isSent(): boolean {
    return this.#unsent === 0;
  }

  /** What the content threw. It is more telling than the request that failed because of it. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#failure;
  }

  /** The next piece, of at most `limit` bytes. Undefined at the end. */
  async next(limit: number): Promise<Uint8Array | undefined> {
    this.#hasBegun = true;
    while (this.#rest === undefined || this.#rest.length === 0) {
      const next = await this.#pull();
      if (next.done) return undefined;
      this.#rest = next.value;
    }
    const piece = this.#rest.subarray(0, limit);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  /**
   * Exactly `size` bytes as a body. The last piece is held back until the content has ended well: without it the
   * server keeps nothing. Content that ends earlier or later than its size has failed. `checksum` gets what is sent.
   */
  async *body(size: number, progress: Progress, checksum: Hasher | undefined): AsyncGenerator<Uint8Array> {
    for (this.#unsent = size; this.#unsent > 0; ) {
      progress.pause();
      let piece = await this.next(this.#unsent);
      if (piece === undefined) throw this.#fail(sizeMismatch('fewer'));
      if (piece.length === this.#unsent && this.#isOneBody) {
        piece = Buffer.from(piece);
        await this.expectEnd();
      }
      checksum?.update(piece);
      progress.moved();
      yield staysUntilSent(piece);
      this.#unsent -= piece.length;
    }
    progress.sent();
  }

  /** Content that goes on after its size is a failure of the content too. */
  async expectEnd(): Promise<void> {
    if ((await this.next(1)) !== undefined) throw this.#fail(sizeMismatch('more'));
  }

  /** Lets the content release what it holds. */
  async close(): Promise<void> {
    await this.#iterator.return?.();
  }

  async #pull(): Promise<IteratorResult<Uint8Array>> {
    try {
      return await this.#iterator.next();
    } catch (error) {
      throw this.#fail(error);
    }
  }

  #fail(error: unknown): unknown {
    this.#failure = { error };
    return error;
  }
}

function sizeMismatch(what: 'fewer' | 'more'): AssayError {
  return new AssayError('ASSAY_SIZE_MISMATCH', `the content has ${what} bytes than its size`);
}

/**
 * A socket that holds less than its high-water mark asks for the next piece while it still has this one. A piece
 * above the mark is asked for only after everything before it was handed to the kernel.
 */
function staysUntilSent(piece: Uint8Array): Uint8Array {
  return piece.length < S3.minUncopiedBytes ? Buffer.from(piece) : piece;
}
