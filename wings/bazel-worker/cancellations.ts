// Cancellation of requests. Bazel cancels a request by another one with the same id and the field `cancel`.
// A cancelled request is still answered once; its tool is ended, or never started.
//
// @bazel/worker does not look at `cancel` and would run the tool without arguments. So cancel requests are
// taken out of the stream here. @bazel/worker serves requests in the order of the stream, without their ids,
// so the order tells which request it has begun.
import { BinaryReader } from '@bufbuild/protobuf/wire';

const REQUEST_ID = 3;
const CANCEL = 4;

interface Request {
  readonly id: number;
  readonly controller: AbortController;
}

export class Cancellations {
  /** Requests that @bazel/worker has not begun yet, in order. */
  readonly #waiting: Request[] = [];
  #current: Request | undefined;

  /** Passes on all requests but those that cancel another. */
  async *filter(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const frame of source) {
      const { id, cancels } = headerOf(frame);
      if (cancels) this.#cancel(id);
      else {
        this.#waiting.push({ id, controller: new AbortController() });
        yield frame;
      }
    }
  }

  /** The signal of the request that @bazel/worker begins now. */
  nextRequest(): AbortSignal {
    this.#current = this.#waiting.shift();
    return this.#current?.controller.signal ?? new AbortController().signal;
  }

  /** An unknown id is that of a request that was answered already. */
  #cancel(id: number): void {
    for (const request of [this.#current, ...this.#waiting])
      if (request?.id === id) request.controller.abort();
  }
}

/** `frame`: a length, then the message. A malformed message is left to @bazel/worker, which refuses it. */
function headerOf(frame: Buffer): { id: number; cancels: boolean } {
  const header = { id: 0, cancels: false };
  try {
    const reader = new BinaryReader(frame);
    reader.uint32();
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag();
      if (field === REQUEST_ID) header.id = reader.int32();
      else if (field === CANCEL) header.cancels = reader.bool();
      else reader.skip(type, field);
    }
  } catch {
    return { id: 0, cancels: false };
  }
  return header;
}
