// The data of a Write call in order: each message must begin where the last one ended, and only the last may
// end it.
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

  /** Reads as far as the first message's name. */
  static async open(pieces: AsyncIterable<Buffer[]>, maxMessageBytes: number): Promise<WriteStream> {
    const stream = new WriteStream(pieces[Symbol.asyncIterator](), maxMessageBytes);
    try {
      while (!stream.#first) {
        if (!(await stream.#more())) throw refusal('there is no message');
      }
      return stream;
    } catch (error) {
      await stream.close();
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

  /** Where the client begins. */
  get offset(): number {
    return this.#first?.offset ?? 0;
  }

  /** Bytes of data until now, as they were sent. */
  get received(): number {
    return this.#arrivedBytes;
  }

  /** The client has said that this was all. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Somebody has taken data from it, which nobody else can have. */
  get isBeingRead(): boolean {
    return this.#isBeingRead;
  }

  /** In full chunks, the last one shorter: whoever takes them pays for each, and a copy costs less. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void, void> {
    this.#isBeingRead = true;
    const chunk = acquireBuffer();
    try {
      yield* this.#gathered(chunk);
    } finally {
      releaseBuffer(chunk);
    }
  }

  /** What came before a failure is handed on before the failure is. */
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

  /** Nothing more is read. */
  async close(): Promise<void> {
    await this.#pieces.return?.();
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
