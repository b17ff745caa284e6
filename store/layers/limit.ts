// Promises: nothing is written for which there is no room within the store's limit; a sender learns it before the first
// byte where it has announced a size, and else as soon as it is so.
//
// Stands below verification, directly on the engine: it counts what is written, and only the engine makes room.
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../limits.ts';
import type { RawBlobs } from '../raw.ts';
import type { Content, ResultRecords, UploadPart, UploadStatus, Uploads } from '../store.ts';

const OUT_OF_SPACE: ReadonlySet<AssayError['code']> = new Set([
  'ASSAY_STORE_FULL',
  'ASSAY_DISK_FULL',
] as const);

export interface SpaceLimit {
  /** `during` would not wait. */
  isAvailable(bytes: number): boolean;
  /** Around a write of that many bytes; at once, if there is room for them. */
  withReserved<T>(bytes: number, write: () => Promise<T>): Promise<T>;
  /** The same room, held until the reservation ends. */
  reserve(bytes: number): Promise<Reservation>;
}

/** Room that a write under way holds. */
export interface Reservation {
  /** Waits until there is room for so many bytes more. */
  grow(bytes: number): Promise<void>;
  /** So many bytes of it are counted as stored by now. */
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
    get: (address) => records.get(address),
    markUsed: (address, result) => records.markUsed(address, result),
    put: (address, result, replacing) =>
      space.withReserved(result.bytes.length, () => records.put(address, result, replacing)),
  };
}

/** A part that is refused for want of room ends its upload: what came of it would only fill the store. */
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

/** Undefined where neither the part nor the whole has announced its size. */
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
    // Whoever has to wait needs a copy: the memory is the caller's.
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

/** Of a content whose size nobody knows, each piece needs room of its own. */
async function* growing(
  reservation: Reservation,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    await reservation.grow(piece.byteLength);
    yield piece;
  }
}

/** What came STORE.uploadSyncBytes ago is in the index, which counts it. */
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

/** Whoever has to wait needs a copy: the memory is the caller's. */
function streamed(content: Content): AsyncIterable<Uint8Array> {
  return content instanceof Uint8Array ? inOnePiece(Buffer.from(content)) : content;
}

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
