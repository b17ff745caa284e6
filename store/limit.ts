// Promises: nothing is written for which there is no room within the store's limit; a sender learns it before the first
// byte where it has announced a size, and else as soon as it is so.
//
// Stands below verification, directly on the engine: it counts what is written, and only the engine makes room.
import type { RawBlobs } from './raw.ts';
import type { Content, ResultRecords, UploadPart, Uploads } from './store.ts';

export interface Room {
  /** `during` would not wait. */
  isFree(bytes: number): boolean;
  /** Around a write of that many bytes; at once, if there is room for them. */
  during<T>(bytes: number, write: () => Promise<T>): Promise<T>;
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

export function limitedUploads(uploads: Uploads, room: Room): Uploads {
  return {
    status: (id) => uploads.status(id),
    append: (id, part) =>
      within(room, restOf(part), part.content, (content) => uploads.append(id, { ...part, content })),
    cancel: (id) => uploads.cancel(id),
  };
}

function restOf({ expected: { size }, offset, isLast }: UploadPart): number | undefined {
  return size === undefined || !isLast ? undefined : Math.max(0, size - offset);
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
  return write(pieceByPiece(room, content));
}

/** Of a content whose size nobody knows, each piece needs room of its own. */
async function* pieceByPiece(room: Room, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    await room.during(piece.byteLength, async () => {});
    yield piece;
  }
}
