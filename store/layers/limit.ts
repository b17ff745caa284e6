// The size-limit layer: space is reserved within the store's limit before anything is written.
// A sender with an announced size is refused before its first byte, any other sender at the first byte that
// does not fit.
//
// Sits directly on the engine, below verify: it counts what is written, and the engine evicts to make space.
import { AssayError } from '../../core/errors.ts';
import type { History } from '../history.ts';
import { STORE } from '../limits.ts';
import type { RawBlobs } from '../raw.ts';
import type { Content, ResultRecords, UploadPart, UploadStatus, Uploads } from '../store.ts';

const OUT_OF_SPACE: ReadonlySet<AssayError['code']> = new Set([
  'ASSAY_STORE_FULL',
  'ASSAY_DISK_FULL',
] as const);

export interface SpaceLimit {
  /** `withReserved` would not wait. */
  isAvailable(bytes: number): boolean;
  /** Runs `write` with that many bytes reserved. Waits for space if necessary. */
  withReserved<T>(bytes: number, write: () => Promise<T>): Promise<T>;
  /** Reserves that many bytes until the reservation ends. */
  reserve(bytes: number): Promise<Reservation>;
}

/** Bytes within the limit that an unfinished write has reserved. */
export interface Reservation {
  /** Reserves that many bytes more; waits for space if necessary. */
  grow(bytes: number): Promise<void>;
  /** That many of the reserved bytes are stored and counted as usage by now. */
  markStored(bytes: number): void;
  end(): void;
}

export function limitedBlobs(blobs: RawBlobs, space: SpaceLimit): RawBlobs {
  return {
    get: (hash) => blobs.get(hash),
    put: (expected, content) =>
      putWithin(space, expected.size, content, (counted) => blobs.put(expected, counted)),
    missing: (digests) => blobs.missing(digests),
    touch: (hashes) => blobs.touch(hashes),
    quarantine: (hash, generation, detail) => blobs.quarantine(hash, generation, detail),
  };
}

export function limitedRecords(records: ResultRecords, space: SpaceLimit): ResultRecords {
  return {
    get: (address, inSameView) => records.get(address, inSameView),
    markUsed: (address, result) => records.markUsed(address, result),
    put: (address, result, replacing) =>
      space.withReserved(result.bytes.length, () => records.put(address, result, replacing)),
    after: (position) => records.after(position),
    remove: (address, seen) => records.remove(address, seen),
  };
}

export function limitedHistory(history: History, space: SpaceLimit): History {
  return {
    put: (documents) =>
      space.withReserved(
        documents.reduce((sum, { bytes }) => sum + bytes.length, 0),
        () => history.put(documents),
      ),
    add: (document) => space.withReserved(document.bytes.length, () => history.add(document)),
    get: (kind, id, namespaces) => history.get(kind, id, namespaces),
    page: (query) => history.page(query),
    kinds: () => history.kinds(),
    removeBefore: (kind, at, most) => history.removeBefore(kind, at, most),
    usedBytes: () => history.usedBytes(),
  };
}

/** A part that is refused for lack of space ends its upload: its staged bytes would only fill the store. */
export function limitedUploads(uploads: Uploads, space: SpaceLimit): Uploads {
  async function append(id: string, part: UploadPart): Promise<UploadStatus> {
    const size = remainingBytes(part);
    const content = streamed(part.content);
    const reservation = await space.reserve(size ?? 0);
    try {
      const counted = markingStored(
        size === undefined ? growing(reservation, content) : content,
        reservation,
      );
      return await uploads.append(id, { ...part, content: counted });
    } finally {
      reservation.end();
    }
  }
  return {
    status: (id) => uploads.status(id),
    async append(id, part) {
      try {
        return await append(id, part);
      } catch (error) {
        if (error instanceof AssayError && OUT_OF_SPACE.has(error.code)) await uploads.cancel(id);
        throw error;
      }
    },
    cancel: (id) => uploads.cancel(id),
  };
}

/** Undefined if neither the part nor the whole content has an announced size. */
function remainingBytes({ expected: { size }, length, offset, content }: UploadPart): number | undefined {
  if (content instanceof Uint8Array) return content.byteLength;
  return length ?? (size === undefined ? undefined : Math.max(0, size - offset));
}

async function putWithin<T>(
  space: SpaceLimit,
  size: number | undefined,
  content: Content,
  write: (content: Content) => Promise<T>,
): Promise<T> {
  if (content instanceof Uint8Array) {
    const bytes = content.byteLength;
    // A write that may have to wait needs a copy: the caller owns the memory.
    const bytesToWrite = space.isAvailable(bytes) ? content : Buffer.from(content);
    return space.withReserved(bytes, () => write(bytesToWrite));
  }
  if (size !== undefined) return space.withReserved(size, () => write(content));
  const reservation = await space.reserve(0);
  try {
    return await write(growing(reservation, content));
  } finally {
    reservation.end();
  }
}

/** Reserves space for each piece of content whose size is unknown. */
async function* growing(
  reservation: Reservation,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    await reservation.grow(piece.byteLength);
    yield piece;
  }
}

/** The index counts a part's bytes every STORE.uploadSyncBytes; their reservation ends then. */
async function* markingStored(
  content: AsyncIterable<Uint8Array>,
  reservation: Reservation,
): AsyncGenerator<Uint8Array> {
  let uncounted = 0;
  for await (const piece of content) {
    uncounted += piece.byteLength;
    yield piece;
    const stored = Math.max(0, uncounted - STORE.uploadSyncBytes);
    reservation.markStored(stored);
    uncounted -= stored;
  }
}

/** A copy, because the write may have to wait and the caller owns the memory. */
function streamed(content: Content): AsyncIterable<Uint8Array> {
  return content instanceof Uint8Array ? inOnePiece(Buffer.from(content)) : content;
}

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
