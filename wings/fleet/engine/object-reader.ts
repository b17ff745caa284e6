// Reads the bytes of a large blob from its objects, in order, and checks each chunk before it is given out.
//
// Invariants:
// R1 No chunk leaves that fails its checksum. A chunk that fails is asked for once more: a proxy, or a bucket that
//    answers for another object, is no reason to remove a blob. If it fails again, the blob is corrupt.
// R2 A stream that fails or ends early is continued from where it stopped, FLEET.objectAttempts times without
//    progress. It is never a reason to remove a blob. A request without any answer is not repeated.
// R3 An object that the bucket does not have is NoSuchObject: a miss.
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../../store/limits.ts';
import { loadChecksum } from '../../../store/shared/checksum.ts';
import { FLEET } from '../limits.ts';
import type { Bucket } from './bucket.ts';
import { NoAnswer } from './s3/deadline.ts';

/** Where the bytes of a large blob lie. */
export interface ObjectList {
  readonly size: number;
  readonly checksums: readonly bigint[];
  readonly names: readonly string[];
  readonly lengths: readonly number[];
}

/** The bucket says that an object is not there. */
export class NoSuchObject extends AssayError {
  constructor(name: string) {
    super('ASSAY_NOT_FOUND', `the bucket has no object ${name}`);
  }
}

export class WrongChunk extends Error {
  readonly chunk: number;

  constructor(chunk: number) {
    super(`chunk ${chunk} fails its checksum`);
    this.chunk = chunk;
  }
}

/** Whole chunks from number `first` on, before number `end`. Each is a buffer of its own. */
export async function* readChunks(
  bucket: Bucket,
  blob: ObjectList,
  first: number,
  end: number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const checksum = await loadChecksum();
  const until = Math.min(end * STORE.chunkBytes, blob.size);
  let isSecondTry = false;
  for (let chunk = first; chunk * STORE.chunkBytes < until; ) {
    const bytes = new ContinuedBytes(bucket, blob, chunk * STORE.chunkBytes, until, signal);
    try {
      for (; chunk * STORE.chunkBytes < until; chunk++) {
        const length = Math.min(STORE.chunkBytes, blob.size - chunk * STORE.chunkBytes);
        const buffer = await bytes.take(length);
        if (checksum(buffer) !== blob.checksums[chunk]) break;
        isSecondTry = false;
        yield buffer;
      }
      if (chunk * STORE.chunkBytes >= until) return;
      if (isSecondTry) throw new WrongChunk(chunk);
      isSecondTry = true;
    } finally {
      await bytes.close();
    }
  }
}

/** The bytes of several objects as one stream, continued after a failure (R2). */
class ContinuedBytes {
  readonly #bucket: Bucket;
  readonly #blob: ObjectList;
  readonly #until: number;
  readonly #signal: AbortSignal | undefined;
  #position: number;
  #pieces: AsyncIterator<Buffer> | undefined;
  #rest: Buffer = Buffer.alloc(0);
  /** Where the bytes end that were asked for last. */
  #endOfAnswer = 0;
  #failures = 0;

  constructor(
    bucket: Bucket,
    blob: ObjectList,
    from: number,
    until: number,
    signal: AbortSignal | undefined,
  ) {
    this.#bucket = bucket;
    this.#blob = blob;
    this.#position = from;
    this.#until = until;
    this.#signal = signal;
  }

  /** Exactly so many bytes, in a buffer of their own. */
  async take(length: number): Promise<Buffer> {
    const target = Buffer.allocUnsafeSlow(length);
    for (let filled = 0; filled < length; ) {
      if (this.#rest.length === 0) this.#rest = await this.#next();
      const copied = this.#rest.copy(target, filled);
      filled += copied;
      this.#rest = this.#rest.subarray(copied);
    }
    return target;
  }

  async #next(): Promise<Buffer> {
    for (;;) {
      try {
        this.#pieces ??= await this.#open();
        const { value, done } = await this.#pieces.next();
        if (!done) {
          this.#failures = 0;
          this.#position += value.length;
          return value;
        }
        this.#pieces = undefined;
        if (this.#position === this.#endOfAnswer) continue;
        throw new AssayError('ASSAY_BUCKET_AWAY', `the answer ended at byte ${this.#position}`);
      } catch (error) {
        this.#pieces = undefined;
        this.#failures++;
        const isFinal = error instanceof NoSuchObject || error instanceof NoAnswer;
        if (isFinal || this.#failures >= FLEET.objectAttempts || this.#signal?.aborted) throw error;
      }
    }
  }

  async #open(): Promise<AsyncIterator<Buffer>> {
    const { name, offset, length } = this.#place();
    const content = await this.#bucket.attempt((objects) => objects.get(name, offset, length, this.#signal));
    if (!content) throw new NoSuchObject(name);
    this.#endOfAnswer = this.#position + length;
    return content[Symbol.asyncIterator]();
  }

  /** The object that has the next byte, and how many bytes of it are wanted. */
  #place(): { name: string; offset: number; length: number } {
    let start = 0;
    for (const [index, name] of this.#blob.names.entries()) {
      const end = start + (this.#blob.lengths[index] ?? 0);
      if (this.#position < end)
        return { name, offset: this.#position - start, length: Math.min(end, this.#until) - this.#position };
      start = end;
    }
    throw new AssayError('ASSAY_STORE_FAULT', `its objects end at byte ${start}`);
  }

  async close(): Promise<void> {
    await this.#pieces?.return?.();
  }
}
