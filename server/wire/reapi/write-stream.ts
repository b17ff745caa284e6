// The data of a Write call: the pieces of its messages in order, each of which must begin where the last one ended.
import { AssayError } from '../../../core/errors.ts';
import { readWriteRequest, type WriteRequest } from './write-request.ts';

export class WriteStream implements AsyncIterable<Uint8Array> {
  readonly first: WriteRequest;
  readonly #rest: AsyncIterator<Buffer>;
  #received = 0;
  #isFinished = false;

  /** Undefined for a call without a message. */
  static async open(messages: AsyncIterable<Buffer>): Promise<WriteStream | undefined> {
    const iterator = messages[Symbol.asyncIterator]();
    const { value, done } = await iterator.next();
    return done ? undefined : new WriteStream(readWriteRequest(value), iterator);
  }

  private constructor(first: WriteRequest, rest: AsyncIterator<Buffer>) {
    this.first = first;
    this.#rest = rest;
  }

  /** Bytes of data until now, as they were sent. */
  get received(): number {
    return this.#received;
  }

  /** The client has said that this was all. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, void> {
    for (let request: WriteRequest | undefined = this.first; request; request = await this.#next()) {
      this.#check(request);
      this.#received += request.data.length;
      this.#isFinished = request.isLast;
      if (request.data.length > 0) yield request.data;
    }
  }

  /** Nothing more is read: the client is told when the call ends. */
  async close(): Promise<void> {
    await this.#rest.return?.();
  }

  async #next(): Promise<WriteRequest | undefined> {
    const { value, done } = await this.#rest.next();
    return done ? undefined : readWriteRequest(value);
  }

  #check({ resourceName, offset, data }: WriteRequest): void {
    if (this.#isFinished) throw refusal('there is a message after the one that finishes the write');
    if (resourceName !== '' && resourceName !== this.first.resourceName) {
      throw refusal('a later message names another resource');
    }
    const expected = this.first.offset + this.#received;
    if (offset !== expected && data.length > 0) {
      throw refusal(`a message begins at ${offset} instead of ${expected}`);
    }
  }
}

function refusal(detail: string): AssayError {
  return new AssayError('ASSAY_MESSAGE_MALFORMED', detail);
}
