// Sends a large blob to a client that may read slowly or not at all.
// Guarantee: a slow client holds at most one copy buffer, unless it has one of the few zero-copy permits.
//
// A chunk that is sent without a copy stays in memory until the client has it. Hundreds of slow clients would
// hold hundreds of megabytes. So only SERVER.maxZeroCopyChunks downloads send from their chunk. The others
// send small copies. They release the chunk and its file if a client takes no copy within
// SERVER.copyTimeoutMs.
import { AssayError } from '../../core/errors.ts';
import type { Semaphore } from '../../store/shared/semaphore.ts';
import type { LargeBlob } from '../../store/store.ts';
import type { Capacity } from '../capacity/capacity.ts';
import type { ServerLimits } from '../limits.ts';
import type { ByteRange } from './range.ts';

/** False if the client is gone or was cut. `bytes` must not change until the promise settles. */
type Send = (bytes: Buffer) => Promise<boolean>;

interface SendContext {
  readonly capacity: Pick<Capacity, 'downloads' | 'reads' | 'zeroCopies' | 'sends'>;
  readonly limits: Pick<
    ServerLimits,
    'readAheadChunks' | 'copyBufferBytes' | 'copyTimeoutMs' | 'maxWriteBytes' | 'kernelBufferBytes'
  >;
}

interface SendResult {
  /** Less than the range if the client is gone or the blob ends early. */
  readonly bytes: number;
  readonly isDelivered: boolean;
}

export async function sendLargeBlob(
  { capacity, limits }: SendContext,
  blob: LargeBlob,
  range: ByteRange,
  send: Send,
): Promise<SendResult> {
  const buffer = new CopyBuffer(limits.copyBufferBytes);
  let sent = 0;
  let continues = true;
  while (continues) {
    await capacity.downloads.acquire();
    const sender = new ChunkSender(capacity, limits, send, buffer);
    const readAhead = () => (sender.keepsUp && !capacity.downloads.hasWaiters ? limits.readAheadChunks : 1);
    const chunks = blob.chunks(range.offset + sent, range.length - sent, readAhead);
    continues = false;
    try {
      for await (const chunk of readChunks(chunks, capacity.reads)) {
        sent += await sender.take(chunk);
        continues =
          sent < range.length && (sender.isOver || sender.hasReleased || capacity.downloads.hasWaiters);
        if (continues) break;
      }
    } finally {
      sender.release();
    }
    if (!(await sender.lastWrite)) return { bytes: sent, isDelivered: false };
  }
  return { bytes: sent, isDelivered: true };
}

/** The caller throws it, so that the client does not accept a truncated blob. */
export function truncatedBlob(sent: number, announced: number): AssayError {
  return new AssayError('ASSAY_STORE_FAULT', `a blob ended after ${sent} of ${announced} bytes`);
}

/**
 * Reads each chunk under the `reads` semaphore. Verifying and sending a chunk blocks the event loop for
 * almost a millisecond. Without the semaphore, other requests would wait for the chunks of all downloads.
 */
async function* readChunks(chunks: AsyncIterable<Buffer>, reads: Semaphore): AsyncGenerator<Buffer> {
  const iterator = chunks[Symbol.asyncIterator]();
  try {
    for (let next = await reads.run(() => iterator.next()); !next.done; ) {
      yield next.value;
      next = await reads.run(() => iterator.next());
    }
  } finally {
    await iterator.return?.();
  }
}

/** One turn of a download: it begins with a permit of `downloads`, and ends when the chunk is released. */
class ChunkSender {
  readonly #capacity: SendContext['capacity'];
  readonly #limits: SendContext['limits'];
  readonly #send: Send;
  readonly #buffer: CopyBuffer;
  /** Settles when the last write is done. The write of a copy may outlast its chunk. */
  lastWrite: Promise<boolean> = Promise.resolve(true);
  /** The client did not take a write in time, or is gone. */
  isOver = false;
  /** Its download permit is released. It may still hold its chunk. */
  hasReleased = false;
  /** Bytes that the client took without a copy, since the last copy. */
  #takenBytes = 0;

  constructor(
    capacity: SendContext['capacity'],
    limits: SendContext['limits'],
    send: Send,
    buffer: CopyBuffer,
  ) {
    this.#buffer = buffer;
    this.#capacity = capacity;
    this.#limits = limits;
    this.#send = send;
  }

  /** True if the client took more than the kernels can buffer, so it must have read. */
  get keepsUp(): boolean {
    return this.#takenBytes >= this.#limits.kernelBufferBytes;
  }

  /** Returns how many bytes of the chunk are sent, or are in flight as a copy. */
  take(chunk: Buffer): Promise<number> {
    return this.#capacity.zeroCopies.tryAcquire() ? this.#sendWithoutCopy(chunk) : this.#sendCopies(chunk);
  }

  release(): void {
    if (this.hasReleased) return;
    this.hasReleased = true;
    this.#capacity.downloads.release();
  }

  async #sendWithoutCopy(chunk: Buffer): Promise<number> {
    let sent = 0;
    let sentAtLastCheck = -1;
    // A client that pauses keeps its chunk, but releases its permit if other downloads wait.
    const watch = setInterval(() => {
      if (sent === sentAtLastCheck && this.#capacity.downloads.hasWaiters) this.release();
      sentAtLastCheck = sent;
    }, this.#limits.copyTimeoutMs);
    try {
      while (sent < chunk.length && !this.isOver) {
        const slice = await this.#sliceOf(chunk.subarray(sent));
        this.lastWrite = this.#send(slice);
        this.isOver = !(await this.lastWrite);
        if (!this.isOver) sent += slice.length;
        if (!this.isOver) this.#takenBytes += slice.length;
      }
      return sent;
    } finally {
      clearInterval(watch);
      this.#capacity.zeroCopies.release();
    }
  }

  /**
   * The next bytes to write. The kernel's copy blocks the event loop, so writes are small while downloads
   * wait. The minimum rate sees progress only when a write completes, so they are small too until the client
   * has read.
   */
  async #sliceOf(rest: Buffer): Promise<Buffer> {
    if (this.#capacity.downloads.hasWaiters) await this.#capacity.sends.next();
    else if (this.keepsUp) return rest;
    return rest.subarray(0, this.#limits.maxWriteBytes);
  }

  async #sendCopies(chunk: Buffer): Promise<number> {
    let copied = 0;
    this.#takenBytes = 0;
    const timeLimit = new TimeLimit(this.#limits.copyTimeoutMs);
    while (copied < chunk.length && !this.isOver) {
      if (copied % this.#limits.maxWriteBytes === 0) await this.#capacity.sends.next();
      const copy = this.#buffer.copyOf(chunk.subarray(copied, copied + this.#limits.copyBufferBytes));
      this.lastWrite = this.#send(copy);
      copied += copy.length;
      this.isOver = !(await timeLimit.isMetBy(this.lastWrite));
    }
    timeLimit.end();
    return copied;
  }
}

/** One buffer for all copies of a download: new ones would be garbage faster than it is collected. */
class CopyBuffer {
  readonly #size: number;
  #memory: Buffer | undefined;

  constructor(size: number) {
    this.#size = size;
  }

  copyOf(bytes: Buffer): Buffer {
    this.#memory ??= Buffer.allocUnsafeSlow(this.#size);
    return this.#memory.subarray(0, bytes.copy(this.#memory));
  }
}

/** A time limit for one promise after the other. A new timer for each would cost as much as a write. */
class TimeLimit {
  readonly #timer: NodeJS.Timeout;
  #settle: (isMet: boolean) => void = () => {};

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#pass(), ms);
  }

  /** True if the promise resolves to true in time. */
  isMetBy(promise: Promise<boolean>): Promise<boolean> {
    this.#timer.refresh();
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      promise.then(resolve, reject);
    });
  }

  /** A busy process runs late timers before it sees completed writes. setImmediate lets it see them. */
  #pass(): void {
    const settle = this.#settle;
    setImmediate(() => settle(false));
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
