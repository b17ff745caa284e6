// The size-limit layer: space is reserved within the store's limit for bytes that have arrived, before they are
// written. An announced size reserves nothing. A size that could never fit is refused before its first byte.
//
// Sits directly on the engine, below verify: it counts what is written, and the engine evicts to make space.
import { AssayError } from '../../core/errors.ts';
import type { History } from '../history.ts';
import { STORE } from '../limits.ts';
import type { RawBlobs } from '../raw.ts';
import type { Content, LabelAddress, LabelRecords, ResultRecords, Uploads } from '../store.ts';
import { CountedContent, type CountedSize } from './counted-content.ts';

const OUT_OF_SPACE: ReadonlySet<AssayError['code']> = new Set([
  'ASSAY_STORE_FULL',
  'ASSAY_DISK_FULL',
] as const);

export interface SpaceLimit {
  /** `withReserved` would not wait. */
  isAvailable(bytes: number): boolean;
  /** Runs `write` with that many bytes reserved, which have arrived. Waits for space if necessary. */
  withReserved<T>(bytes: number, write: () => Promise<T>): Promise<T>;
  /** Reserves nothing yet. Throws if a write of the announced size could never fit. */
  begin(write: IncomingWrite): Reservation;
}

/** A write whose bytes still arrive. */
export interface IncomingWrite {
  /** Of the whole content, if the sender announced it. */
  readonly announced: number | undefined;
  /** Bytes of the content that are staged and counted as usage already. */
  readonly staged: number;
  /** Ends the write, which then ends its reservation: others need the space that it holds. */
  cancel(error: AssayError): void;
}

/** Bytes within the limit that an unfinished write has reserved. */
export interface Reservation {
  /** Reserves space for bytes that have arrived. A promise if they have to wait for it. */
  grow(bytes: number): Promise<void> | undefined;
  /** That many of the reserved bytes are stored and counted as usage by now. */
  markStored(bytes: number): void;
  /** All bytes have arrived: the write is not cancelled any more. */
  complete(): void;
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

export function limitedRecords(
  records: ResultRecords,
  limitsIn: (namespace: string) => SpaceLimit,
): ResultRecords {
  return {
    get: (address, inSameView) => records.get(address, inSameView),
    markUsed: (address, result) => records.markUsed(address, result),
    put: (address, result, replacing) =>
      limitsIn(address.namespace).withReserved(result.bytes.length, () =>
        records.put(address, result, replacing),
      ),
    after: (position) => records.after(position),
    remove: (address, seen) => records.remove(address, seen),
  };
}

/** A label is small, and costs a row for each of its parts. */
export function limitedLabels(
  labels: LabelRecords,
  limitsIn: (namespace: string) => SpaceLimit,
  bytesOf: (address: LabelAddress) => number,
): LabelRecords {
  return {
    get: (address) => labels.get(address),
    withPrefix: (namespace, prefix) => labels.withPrefix(namespace, prefix),
    namespaces: () => labels.namespaces(),
    put: (address, key, replacing, lease) =>
      limitsIn(address.namespace).withReserved(replacing ? 0 : bytesOf(address), () =>
        labels.put(address, key, replacing, lease),
      ),
    remove: (address, key) => labels.remove(address, key),
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
    all: (kind, id, namespaces) => history.all(kind, id, namespaces),
    page: (query) => history.page(query),
    kinds: () => history.kinds(),
    removeBefore: (kind, at, most) => history.removeBefore(kind, at, most),
    usedBytes: () => history.usedBytes(),
  };
}

/** A part that is refused for lack of space ends its upload: its staged bytes would only fill the store. */
export function limitedUploads(uploads: Uploads, space: SpaceLimit): Uploads {
  return {
    status: (id) => uploads.status(id),
    async append(id, part) {
      const { expected, length, offset, content } = part;
      const announced = expected.size ?? (length === undefined ? undefined : offset + length);
      const size = { announced, staged: offset, uncountedBytes: STORE.uploadSyncBytes };
      return counting(space, size, content, async (counted) => {
        try {
          return await uploads.append(id, { ...part, content: counted });
        } catch (error) {
          if (error instanceof AssayError && OUT_OF_SPACE.has(error.code)) await uploads.cancel(id);
          throw error;
        }
      });
    },
    cancel: (id) => uploads.cancel(id),
  };
}

async function putWithin<T>(
  space: SpaceLimit,
  announced: number | undefined,
  content: Content,
  write: (content: Content) => Promise<T>,
): Promise<T> {
  if (!(content instanceof Uint8Array)) {
    const size = { announced, staged: 0, uncountedBytes: Number.POSITIVE_INFINITY };
    return counting(space, size, content, write);
  }
  const bytes = content.byteLength;
  // A write that may have to wait needs a copy: the caller owns the memory.
  const bytesToWrite = space.isAvailable(bytes) ? content : Buffer.from(content);
  return space.withReserved(bytes, () => write(bytesToWrite));
}

/** Runs `write` with content for which space is reserved as it arrives. */
async function counting<T>(
  space: SpaceLimit,
  size: CountedSize,
  content: Content,
  write: (counted: CountedContent) => Promise<T>,
): Promise<T> {
  const counted = new CountedContent(space, size, content);
  try {
    return await write(counted);
  } finally {
    counted.close();
  }
}
