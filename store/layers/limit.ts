// Promises: nothing is written for which there is no room within the store's limit; a sender learns it before the first
// byte where it has announced a size, and else as soon as it is so.
//
// Stands below verification, directly on the engine: it counts what is written, and only the engine makes room.
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../limits.ts';
import type { RawBlobs } from '../raw.ts';
import type { Content, ResultRecords, UploadPart, UploadStatus, Uploads } from '../store.ts';

const NO_ROOM: ReadonlySet<AssayError['code']> = new Set(['ASSAY_STORE_FULL', 'ASSAY_DISK_FULL'] as const);

export interface Room {
  /** `during` would not wait. */
  isFree(bytes: number): boolean;
  /** Around a write of that many bytes; at once, if there is room for them. */
  during<T>(bytes: number, write: () => Promise<T>): Promise<T>;
  /** The same room, held until the reservation ends. */
  reserve(bytes: number): Promise<Reservation>;
}

/** Room that a write under way holds. */
export interface Reservation {
  /** Waits until there is room for so many bytes more. */
  grow(bytes: number): Promise<void>;
  /** So many bytes of it are counted as stored by now. */
  settle(bytes: number): void;
  end(): void;
}

export function limitedBlobs(blobs: RawBlobs, room: Room): RawBlobs {
  return {
    get: (hash) => blobs.get(hash),
    put: (expected, content) =>
      within(room, expected.size, content, (counted) => blobs.put(expected, counted)),
    missing: (digests) => blobs.missing(digests),
    touch: (hashes) => blobs.touch(hashes),
    quarantine: (hash, generation, detail) => blobs.quarantine(hash, generation, detail),
  };
}

export function limitedRecords(records: ResultRecords, room: Room): ResultRecords {
  return {
    get: (address) => records.get(address),
    use: (address, result) => records.use(address, result),
    put: (address, result, replacing) =>
      room.during(result.bytes.length, () => records.put(address, result, replacing)),
  };
}

/** A part that is refused for want of room ends its upload: what came of it would only fill the store. */
export function limitedUploads(uploads: Uploads, room: Room): Uploads {
  async function append(id: string, part: UploadPart): Promise<UploadStatus> {
    const size = restOf(part);
    const content = streamed(part.content);
    const held = await room.reserve(size ?? 0);
    try {
      const counted = settling(size === undefined ? growing(held, content) : content, held);
      return await uploads.append(id, { ...part, content: counted });
    } finally {
      held.end();
    }
  }
  return {
    status: (id) => uploads.status(id),
    async append(id, part) {
      try {
        return await append(id, part);
      } catch (error) {
        if (error instanceof AssayError && NO_ROOM.has(error.code)) await uploads.cancel(id);
        throw error;
      }
    },
    cancel: (id) => uploads.cancel(id),
  };
}

/** Undefined where neither the part nor the whole has announced its size. */
function restOf({ expected: { size }, length, offset, content }: UploadPart): number | undefined {
  if (content instanceof Uint8Array) return content.byteLength;
  return length ?? (size === undefined ? undefined : Math.max(0, size - offset));
}

async function within<T>(
  room: Room,
  size: number | undefined,
  content: Content,
  write: (content: Content) => Promise<T>,
): Promise<T> {
  if (content instanceof Uint8Array) {
    const bytes = content.byteLength;
    // Whoever has to wait needs a copy: the memory is the caller's.
    const kept = room.isFree(bytes) ? content : Buffer.from(content);
    return room.during(bytes, () => write(kept));
  }
  if (size !== undefined) return room.during(size, () => write(content));
  const held = await room.reserve(0);
  try {
    return await write(growing(held, content));
  } finally {
    held.end();
  }
}

/** Of a content whose size nobody knows, each piece needs room of its own. */
async function* growing(held: Reservation, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    await held.grow(piece.byteLength);
    yield piece;
  }
}

/** What came STORE.uploadSyncBytes ago is in the index, which counts it. */
async function* settling(content: AsyncIterable<Uint8Array>, held: Reservation): AsyncGenerator<Uint8Array> {
  let unsettled = 0;
  for await (const piece of content) {
    unsettled += piece.byteLength;
    yield piece;
    const settled = Math.max(0, unsettled - STORE.uploadSyncBytes);
    held.settle(settled);
    unsettled -= settled;
  }
}

/** Whoever has to wait needs a copy: the memory is the caller's. */
function streamed(content: Content): AsyncIterable<Uint8Array> {
  return content instanceof Uint8Array ? inOnePiece(Buffer.from(content)) : content;
}

async function* inOnePiece(bytes: Buffer): AsyncGenerator<Uint8Array> {
  yield bytes;
}
