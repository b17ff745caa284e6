// A large blob on its way to a client, who may take its time or take nothing at all.
//
// A chunk that is being sent stays in memory until the client has taken it, and hundreds of clients that do not would hold
// hundreds of megabytes. So only a few are sent straight from their chunk. Everybody else is sent a small copy at a time,
// and keeps neither the chunk nor its file open when one is not taken at once.
import { AssayError } from '../../core/errors.ts';
import type { Semaphore } from '../../store/shared/semaphore.ts';
import type { LargeBlob } from '../../store/store.ts';
import type { Capacity } from '../capacity/capacity.ts';
import type { ServerLimits } from '../limits.ts';
import type { ByteRange } from './range.ts';

/** False when the client is gone or was cut off. The memory of what it is given is read until it settles. */
export type Send = (portion: Buffer) => Promise<boolean>;

export interface SendContext {
  readonly capacity: Pick<Capacity, 'downloads' | 'reads' | 'zeroCopies' | 'sends'>;
  readonly limits: Pick<
    ServerLimits,
    'readAheadChunks' | 'copyBufferBytes' | 'copyTimeoutMs' | 'maxWriteBytes' | 'kernelBufferBytes'
  >;
}

export interface SendResult {
  /** Less than was asked for when the client is gone, or when the blob ends early. */
  readonly bytes: number;
  readonly isDelivered: boolean;
}

export async function sendLargeBlob(
  { capacity, limits }: SendContext,
  blob: LargeBlob,
  range: ByteRange,
  send: Send,
): Promise<SendResult> {
  const copy = new Copy(limits.copyBufferBytes);
  let sent = 0;
  let goesOn = true;
  while (goesOn) {
    await capacity.downloads.acquire();
    const turn = new ChunkSender(capacity, limits, send, copy);
    const atOnce = () => (turn.keepsUp && !capacity.downloads.hasWaiters ? limits.readAheadChunks : 1);
    const chunks = blob.chunks(range.offset + sent, range.length - sent, atOnce);
    goesOn = false;
    try {
      for await (const chunk of inTurn(chunks, capacity.reads)) {
        sent += await turn.take(chunk);
        goesOn = sent < range.length && (turn.isOver || turn.hasLeft || capacity.downloads.hasWaiters);
        if (goesOn) break;
      }
    } finally {
      turn.leave();
    }
    if (!(await turn.lastIsTaken)) return { bytes: sent, isDelivered: false };
  }
  return { bytes: sent, isDelivered: true };
}

/** What a caller throws, so that its client does not take what was sent for the whole. */
export function truncatedBlob(sent: number, announced: number): AssayError {
  return new AssayError('ASSAY_STORE_FAULT', `a blob ended after ${sent} of ${announced} bytes`);
}

/**
 * A chunk that has been read is checked and sent in one go, which takes most of a millisecond. If all downloads had theirs
 * read at the same moment, everybody else would wait for all of them.
 */
async function* inTurn(chunks: AsyncIterable<Buffer>, reads: Semaphore): AsyncGenerator<Buffer> {
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

/** From getting a chunk until letting go of it. */
class ChunkSender {
  readonly #capacity: SendContext['capacity'];
  readonly #limits: SendContext['limits'];
  readonly #send: Send;
  readonly #copy: Copy;
  /** Of the last copy, which may be under way longer than the chunk that it was made of is there. */
  lastIsTaken: Promise<boolean> = Promise.resolve(true);
  isOver = false;
  /** Its place among the downloads is somebody else's, while it may still have its chunk. */
  hasLeft = false;
  /** In chunks that were lent to it, one after the other. */
  #taken = 0;

  constructor(capacity: SendContext['capacity'], limits: SendContext['limits'], send: Send, copy: Copy) {
    this.#copy = copy;
    this.#capacity = capacity;
    this.#limits = limits;
    this.#send = send;
  }

  /** The kernels can't have it all: its client reads. */
  get keepsUp(): boolean {
    return this.#taken >= this.#limits.kernelBufferBytes;
  }

  /** How much of the chunk is sent, or is on its way as a copy. */
  take(chunk: Buffer): Promise<number> {
    return this.#capacity.zeroCopies.tryAcquire() ? this.#lend(chunk) : this.#sendCopies(chunk);
  }

  leave(): void {
    if (this.hasLeft) return;
    this.hasLeft = true;
    this.#capacity.downloads.release();
  }

  async #lend(chunk: Buffer): Promise<number> {
    let sent = 0;
    let seen = -1;
    /** A client that pauses may keep the chunk, but not the turn of others. */
    const watch = setInterval(() => {
      if (sent === seen && this.#capacity.downloads.hasWaiters) this.leave();
      seen = sent;
    }, this.#limits.copyTimeoutMs);
    try {
      while (sent < chunk.length && !this.isOver) {
        const slice = await this.#sliceOf(chunk.subarray(sent));
        this.lastIsTaken = this.#send(slice);
        this.isOver = !(await this.lastIsTaken);
        if (!this.isOver) sent += slice.length;
        if (!this.isOver) this.#taken += slice.length;
      }
      return sent;
    } finally {
      clearInterval(watch);
      this.#capacity.zeroCopies.release();
    }
  }

  /**
   * The kernel copies what it takes, during which everybody waits: little at a time while many are sent to. And a client's
   * progress is seen only when a slice has been taken: one that has not shown that it reads gets no more than that.
   */
  async #sliceOf(rest: Buffer): Promise<Buffer> {
    if (this.#capacity.downloads.hasWaiters) await this.#capacity.sends.next();
    else if (this.keepsUp) return rest;
    return rest.subarray(0, this.#limits.maxWriteBytes);
  }

  async #sendCopies(chunk: Buffer): Promise<number> {
    let copied = 0;
    this.#taken = 0;
    const deadline = new Deadline(this.#limits.copyTimeoutMs);
    while (copied < chunk.length && !this.isOver) {
      if (copied % this.#limits.maxWriteBytes === 0) await this.#capacity.sends.next();
      const portion = this.#copy.of(chunk.subarray(copied, copied + this.#limits.copyBufferBytes));
      this.lastIsTaken = this.#send(portion);
      copied += portion.length;
      this.isOver = !(await deadline.isMetBy(this.lastIsTaken));
    }
    deadline.end();
    return copied;
  }
}

/** One after the other in the same memory: fresh memory for each would be garbage faster than it is collected. */
class Copy {
  readonly #bytes: number;
  #memory: Buffer | undefined;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  of(bytes: Buffer): Buffer {
    this.#memory ??= Buffer.allocUnsafeSlow(this.#bytes);
    return this.#memory.subarray(0, bytes.copy(this.#memory));
  }
}

/** For one promise after the other: a timer for each would cost as much as sending what it is about. */
class Deadline {
  readonly #timer: NodeJS.Timeout;
  #settle: (isMet: boolean) => void = () => {};

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#pass(), ms);
  }

  /** True if it comes true in time. */
  isMetBy(promise: Promise<boolean>): Promise<boolean> {
    this.#timer.refresh();
    return new Promise((resolve, reject) => {
      this.#settle = resolve;
      promise.then(resolve, reject);
    });
  }

  /** A busy process comes to its timers late, and before it looks at what the kernel has taken meanwhile: hence the turn more. */
  #pass(): void {
    const settle = this.#settle;
    setImmediate(() => settle(false));
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
