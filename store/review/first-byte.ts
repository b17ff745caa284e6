// The first byte in which two contents differ. Large blobs are read as streams, one chunk of each at a time.
import type { Digest } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import type { Blob, Blobs } from '../store.ts';

/** Which of two results. */
export type Side = 'first' | 'second' | 'both';

/** A blob, or bytes that the result has itself. */
type Content = Digest | Uint8Array;

export type ByteDifference =
  /** `bytes`: the first EXCERPT_BYTES of each from the offset on, as hex. Empty for a content that ends there. */
  | { readonly offset: number; readonly bytes: readonly [first: string, second: string] }
  /** A blob was evicted or is damaged. */
  | { readonly gone: Side }
  /** The budget is used up. */
  | { readonly notCompared: true };

/** How many bytes may still be read. Undefined: any number. */
export interface ByteBudget {
  left: number | undefined;
}

/** Undefined if the contents are equal. If one is the beginning of the other, the offset is its length. */
export async function firstDifferingByte(
  blobs: Blobs,
  first: Content,
  second: Content,
  budget: ByteBudget,
): Promise<ByteDifference | undefined> {
  if (isDigest(first) && isDigest(second) && first.hash === second.hash) return undefined;
  const [a, b] = [await find(blobs, first), await find(blobs, second)];
  if (!a || !b) return { gone: a ? 'second' : b ? 'first' : 'both' };
  const [left, right] = [new Reader(a), new Reader(b)];
  try {
    return await compare(left, right, budget);
  } catch (error) {
    if (!(error instanceof Damaged)) throw error;
    return { gone: error.reader === left ? 'first' : 'second' };
  } finally {
    await left.close();
    await right.close();
  }
}

async function compare(left: Reader, right: Reader, budget: ByteBudget): Promise<ByteDifference | undefined> {
  let offset = 0;
  for (;;) {
    const [a, b] = [await left.rest(), await right.rest()];
    const length = Math.min(a.length, b.length);
    if (length === 0 && a.length === b.length) return undefined;
    const at = differingIndex(a, b, length);
    if (at < length || length === 0)
      return { offset: offset + at, bytes: [await left.excerpt(at), await right.excerpt(at)] };
    offset += length;
    left.skip(length);
    right.skip(length);
    if (budget.left === undefined) continue;
    budget.left -= length;
    if (budget.left <= 0) return { notCompared: true };
  }
}

/** Halves the range: memcmp is much faster than a loop over bytes. */
function differingIndex(a: Buffer, b: Buffer, length: number): number {
  const isEqual = (from: number, to: number) => a.compare(b, from, to, from, to) === 0;
  if (isEqual(0, length)) return length;
  let [from, to] = [0, length];
  while (to - from > 1) {
    const middle = (from + to) >> 1;
    if (isEqual(from, middle)) from = middle;
    else to = middle;
  }
  return from;
}

function isDigest(content: Content): content is Digest {
  return !(content instanceof Uint8Array);
}

async function find(blobs: Blobs, content: Content): Promise<Blob | undefined> {
  if (!isDigest(content)) return { size: content.byteLength, bytes: Buffer.from(content) };
  try {
    const blob = await blobs.get(content.hash);
    return blob?.size === content.size ? blob : undefined;
  } catch (error) {
    if (isCorrupt(error)) return undefined;
    throw error;
  }
}

const EMPTY = Buffer.alloc(0);
const EXCERPT_BYTES = 16;

/** The bytes of a blob from the current position on, chunk by chunk. */
class Reader {
  readonly #chunks: AsyncIterator<Buffer> | undefined;
  #rest: Buffer;

  constructor(blob: Blob) {
    this.#rest = blob.bytes ?? EMPTY;
    this.#chunks = blob.bytes ? undefined : blob.chunks()[Symbol.asyncIterator]();
  }

  /** Empty at the end. Valid until the next call. */
  async rest(): Promise<Buffer> {
    while (this.#rest.length === 0 && this.#chunks) {
      const { value, done } = await this.#next(this.#chunks);
      if (done) break;
      this.#rest = value;
    }
    return this.#rest;
  }

  skip(length: number): void {
    this.#rest = this.#rest.subarray(length);
  }

  /** From there on, across the end of a chunk. */
  async excerpt(at: number): Promise<string> {
    this.skip(at);
    let text = '';
    while (text.length < 2 * EXCERPT_BYTES) {
      const rest = await this.rest();
      if (rest.length === 0) break;
      const piece = rest.subarray(0, EXCERPT_BYTES - text.length / 2);
      text += piece.toString('hex');
      this.skip(piece.length);
    }
    return text;
  }

  async close(): Promise<void> {
    await this.#chunks?.return?.();
  }

  async #next(chunks: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
    try {
      return await chunks.next();
    } catch (error) {
      throw isCorrupt(error) ? new Damaged(this) : error;
    }
  }
}

class Damaged extends Error {
  readonly reader: Reader;

  constructor(reader: Reader) {
    super('a blob is damaged');
    this.reader = reader;
  }
}

function isCorrupt(error: unknown): boolean {
  return error instanceof AssayError && error.code === 'ASSAY_BLOB_CORRUPT';
}
