// The data of a Write call as a stream. Each message must begin where the last one ended, and only the last
// may set finish_write.
import { AssayError } from '../../../core/errors.ts';
import { acquireBuffer, releaseBuffer } from '../../../store/shared/buffers.ts';
import { WriteParser, type WriteRequest } from './write-parser.ts';

export class WriteStream implements AsyncIterable<Buffer> {
  readonly #pieces: AsyncIterator<Buffer[]>;
  readonly #parser: WriteParser;
  #first: WriteRequest | undefined;
  #arrived: Buffer[] = [];
  #arrivedBytes = 0;
  #isFinished = false;
  #isBeingRead = false;

  /** Reads the first message up to its resource name. */
  static async open(pieces: AsyncIterable<Buffer[]>, maxMessageBytes: number): Promise<WriteStream> {
    const stream = new WriteStream(pieces[Symbol.asyncIterator](), maxMessageBytes);
    try {
      while (!stream.#first) {
        if (!(await stream.#more())) throw refusal('there is no message');
      }
      return stream;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  private constructor(pieces: AsyncIterator<Buffer[]>, maxMessageBytes: number) {
    this.#pieces = pieces;
    const sink = {
      request: (request: WriteRequest) => this.#begin(request),
      data: (piece: Buffer) => {
        this.#arrived.push(piece);
        this.#arrivedBytes += piece.length;
      },
    };
    this.#parser = new WriteParser(sink, maxMessageBytes);
  }

  get resourceName(): string {
    return this.#first?.resourceName ?? '';
  }

  /** The offset of the first message. */
  get offset(): number {
    return this.#first?.offset ?? 0;
  }

  /** The bytes of data received so far, before decompression. */
  get received(): number {
    return this.#arrivedBytes;
  }

  /** The client has set finish_write. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** A consumer has read data, so the stream cannot be read again. */
  get isBeingRead(): boolean {
    return this.#isBeingRead;
  }

  /**
   * Yields full chunks, the last one shorter. Copying into chunks costs less than the consumer's cost for
   * each piece.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    this.#isBeingRead = true;
    const chunk = acquireBuffer();
    try {
      yield* this.#gathered(chunk);
    } finally {
      releaseBuffer(chunk);
    }
  }

  /** Data that came before a failure is yielded before the failure is thrown. */
  async *#gathered(chunk: Buffer): AsyncGenerator<Buffer, void, void> {
    let filled = 0;
    let failure: { readonly reason: unknown } | undefined;
    for (let isMore = true; isMore; ) {
      const pieces = this.#arrived;
      this.#arrived = [];
      for (const piece of pieces) {
        for (let taken = 0; taken < piece.length; ) {
          const count = piece.copy(chunk, filled, taken);
          taken += count;
          filled += count;
          if (filled < chunk.length) continue;
          yield chunk;
          filled = 0;
        }
      }
      isMore = await this.#more().catch((reason: unknown) => {
        failure = { reason };
        return false;
      });
    }
    if (filled > 0) yield chunk.subarray(0, filled);
    if (failure) throw failure.reason;
  }

  /** Stops reading. Does not wait: the answer to a silent sender would come too late. */
  close(): void {
    this.#pieces.return?.().catch(() => {});
  }

  async #more(): Promise<boolean> {
    const { value, done } = await this.#pieces.next();
    if (!done) for (const piece of value) this.#parser.push(piece);
    else if (!this.#parser.isBetweenMessages) {
      throw new AssayError('ASSAY_SIZE_MISMATCH', 'the call ended in the middle of a message');
    }
    return !done;
  }

  #begin(request: WriteRequest): void {
    const { resourceName, offset, isLast } = request;
    this.#first ??= request;
    if (this.#isFinished) throw refusal('there is a message after the one that finishes the write');
    if (resourceName !== '' && resourceName !== this.#first.resourceName) {
      throw refusal('a later message names another resource');
    }
    const expected = this.#first.offset + this.#arrivedBytes;
    if (offset !== expected) throw refusal(`a message begins at ${offset} instead of ${expected}`);
    this.#isFinished = isLast;
  }
}

function refusal(detail: string): AssayError {
  return new AssayError('ASSAY_MESSAGE_MALFORMED', detail);
}
