// Stores the blobs of a bundle that a store lacks.
// Guarantees:
// - Each is verified by its put. One with other bytes ends the import, and no result is visible.
// - What the store has already is not decompressed, so an import that was killed goes on where it was.
// - Memory: one slice, and BUNDLE.batchBytes of small blobs.
import { concurrently } from '../../../core/concurrently.ts';
import type { Digest } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { STORE } from '../../../store/limits.ts';
import type { Blobs } from '../../../store/store.ts';
import type { BlobTable } from '../format/blob-table.ts';
import { type Lacking, LeaseRenewal } from '../format/lacking.ts';
import { SLICE_BYTES, slicesOf } from '../format/layout.ts';
import type { BundleReader } from '../format/reader.ts';
import { damaged } from '../format/tar.ts';
import { BUNDLE } from '../limits.ts';

export interface StoredContent {
  /** Blobs that the store lacked. */
  readonly blobs: number;
  readonly bytes: number;
}

type OnContent = (done: StoredContent, of: StoredContent) => void;

export async function storeContent(
  reader: BundleReader,
  table: BlobTable,
  lacking: Lacking,
  blobs: Blobs,
  onContent: OnContent,
): Promise<void> {
  const wanted = wantedSlices(table, lacking);
  const slices = new Slices(reader.content((number) => wanted[number] === 1));
  const done = { blobs: 0, bytes: 0 };
  const put = async (digest: Digest, content: Uint8Array | AsyncIterable<Uint8Array>) => {
    await putVerified(digest, content, blobs);
    done.blobs++;
    done.bytes += digest.size;
    onContent(done, lacking);
  };
  let batch: { readonly digest: Digest; readonly bytes: Buffer }[] = [];
  let batchBytes = 0;
  const flush = async () => {
    await concurrently(batch, BUNDLE.putsAtOnce, ({ digest, bytes }) => put(digest, bytes));
    [batch, batchBytes] = [[], 0];
  };
  const leases = new LeaseRenewal(table, blobs);
  let at = 0;
  for (let row = 0; row < table.length; row++) {
    const digest = table.at(row);
    if (lacking.has(row) && digest.size <= STORE.inlineBytes) {
      batch.push({ digest, bytes: await slices.whole(at, digest.size) });
      batchBytes += digest.size;
    } else if (lacking.has(row)) {
      await flush();
      await put(digest, slices.pieces(at, digest.size));
    }
    if (batchBytes >= BUNDLE.batchBytes) await flush();
    at += digest.size;
    await leases.ifDue();
  }
  await flush();
  await slices.end();
}

async function putVerified(
  digest: Digest,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  blobs: Blobs,
): Promise<void> {
  try {
    await blobs.put(digest, content);
  } catch (error) {
    const isOther = error instanceof AssayError && OTHER_BYTES.has(error.code);
    throw isOther ? damaged(`it has other bytes for the blob ${digest.hash}`) : error;
  }
}

const OTHER_BYTES: ReadonlySet<string> = new Set(['ASSAY_DIGEST_MISMATCH', 'ASSAY_SIZE_MISMATCH']);

/** 1 for each slice that has a part of a blob that the store lacks. */
function wantedSlices(table: BlobTable, lacking: Lacking): Uint8Array {
  const wanted = new Uint8Array(slicesOf(table.totalBytes));
  let at = 0;
  for (let row = 0; row < table.length; row++) {
    const end = at + table.sizeAt(row);
    if (lacking.has(row)) wanted.fill(1, Math.floor(at / SLICE_BYTES), Math.ceil(end / SLICE_BYTES));
    at = end;
  }
  return wanted;
}

/** The content by its position. Positions only grow. */
class Slices {
  readonly #slices: AsyncGenerator<Buffer | undefined>;
  #slice: Buffer | undefined;
  #number = -1;

  constructor(slices: AsyncGenerator<Buffer | undefined>) {
    this.#slices = slices;
  }

  async whole(at: number, size: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(at, size)) pieces.push(piece);
    return pieces.length === 1 && pieces[0] ? pieces[0] : Buffer.concat(pieces);
  }

  async *pieces(at: number, size: number): AsyncGenerator<Buffer> {
    for (let from = at; from < at + size; ) {
      const slice = await this.#sliceAt(Math.floor(from / SLICE_BYTES));
      const begin = from % SLICE_BYTES;
      const piece = slice.subarray(begin, Math.min(slice.length, begin + at + size - from));
      yield piece;
      from += piece.length;
    }
  }

  /** Passes over the rest. */
  async end(): Promise<void> {
    while (!(await this.#slices.next()).done);
  }

  async #sliceAt(number: number): Promise<Buffer> {
    while (this.#number < number) {
      const { value, done } = await this.#slices.next();
      if (done) break;
      this.#slice = value;
      this.#number++;
    }
    if (this.#number === number && this.#slice) return this.#slice;
    throw new AssayError('ASSAY_INTERNAL', `slice ${number} was passed over`);
  }
}
