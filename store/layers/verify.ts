// The verify layer: no wrong byte leaves the store, however often a blob was read before. A wrong blob is
// quarantined and missing from then on; the next put stores it again.
//
// Sits directly on the engine, and only it sees the engine's raw blobs. Small blobs are checked whole, large
// ones chunk by chunk, against the checksums from when they were written. A chunk is served before the next
// one is read.
import type { Hash } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { sha256 } from '../../core/sha256.ts';
import { STORE } from '../limits.ts';
import type { RawBlobs, RawFile, RawLargeBlob, RawSmallBlob } from '../raw.ts';
import { acquireBuffer, releaseBuffer } from '../shared/buffers.ts';
import { checksumOfSmall, loadChecksum } from '../shared/checksum.ts';
import type { Blobs, LargeBlob } from '../store.ts';

export function verified(raw: RawBlobs): Blobs {
  return {
    async get(hash) {
      const blob = await raw.get(hash);
      if (!blob) return undefined;
      if (blob.kind === 'large') return new VerifiedLargeBlob(hash, blob, raw);
      if (blob.kind === 'small' && isIntact(hash, blob)) return blob;
      const detail = blob.kind === 'broken' ? blob.detail : 'its bytes have another SHA-256';
      await raw.quarantine(hash, blob.generation, detail);
      return undefined;
    },
    put: (expected, content) => raw.put(expected, content),
    missing: (digests) => raw.missing(digests),
    touch: (hashes) => raw.touch(hashes),
  };
}

/** If the checksums differ, the SHA-256 decides: the stored checksum itself may be damaged. */
function isIntact(hash: Hash, { bytes, checksum }: RawSmallBlob): boolean {
  return (checksum !== undefined && checksumOfSmall(bytes) === checksum) || sha256(bytes) === hash;
}

class VerifiedLargeBlob implements LargeBlob {
  readonly size: number;
  readonly #hash: Hash;
  readonly #blob: RawLargeBlob;
  readonly #raw: RawBlobs;

  constructor(hash: Hash, blob: RawLargeBlob, raw: RawBlobs) {
    this.size = blob.size;
    this.#hash = hash;
    this.#blob = blob;
    this.#raw = raw;
  }

  /**
   * Keeps one file open from the first chunk to the last, so that a removal meanwhile can't mix two files.
   */
  async *chunks(offset = 0, length = this.size, chunksPerRead = () => 1): AsyncGenerator<Buffer> {
    const end = Math.min(offset + length, this.size);
    const file = await this.#open();
    let buffer = acquireBuffer(chunksPerRead());
    try {
      for (let position = offset; position < end; ) {
        const bytes = await this.#readVerified(file, buffer, position, end);
        yield bytes;
        position += bytes.length;
        buffer = resized(buffer, chunksPerRead());
      }
    } finally {
      releaseBuffer(buffer);
      await file.close();
    }
  }

  async #open(): Promise<RawFile> {
    return (await this.#blob.open()) ?? this.#refuse('its file is missing');
  }

  /** Reads whole chunks, as many as the buffer holds, and returns the bytes between `position` and `end`. */
  async #readVerified(file: RawFile, buffer: Buffer, position: number, end: number): Promise<Buffer> {
    const checksum = await loadChecksum();
    const start = position - (position % STORE.chunkBytes);
    const wanted = Math.ceil((end - start) / STORE.chunkBytes) * STORE.chunkBytes;
    const length = Math.min(buffer.length, wanted, this.size - start);
    const bytes = await this.#read(file, buffer.subarray(0, length), start);
    for (let at = 0; at < length; at += STORE.chunkBytes) {
      const index = (start + at) / STORE.chunkBytes;
      const isWhole = checksum(bytes.subarray(at, at + STORE.chunkBytes)) === this.#blob.checksums[index];
      if (!isWhole) await this.#refuse(`chunk ${index} fails its checksum`);
    }
    return bytes.subarray(position - start, end - start);
  }

  async #read(file: RawFile, target: Buffer, position: number): Promise<Buffer> {
    const count = await file.read(target, position);
    if (count < target.length) await this.#refuse(`its file ends at byte ${position + count}`);
    return target;
  }

  async #refuse(detail: string): Promise<never> {
    await this.#raw.quarantine(this.#hash, this.#blob.generation, detail);
    throw new AssayError('ASSAY_BLOB_CORRUPT', `${this.#hash}: ${detail}`);
  }
}

/** The same buffer if it has the wanted size, otherwise another one. */
function resized(buffer: Buffer, chunks: number): Buffer {
  if (buffer.length === chunks * STORE.chunkBytes) return buffer;
  releaseBuffer(buffer);
  return acquireBuffer(chunks);
}
