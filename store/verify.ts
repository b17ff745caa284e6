// Promises: no byte leaves the store unless it is the right one. What was read and found whole is trusted for a while
// (STORE.trustMs); what is found wrong is quarantined, is missing from then on, and is healed by the next put.
//
// Stands directly on the engine, whose raw blobs nobody else may see: everything above trusts what `get` returns.
// Small blobs are checked against their own SHA-256. Large ones are checked chunk by chunk against checksums from the
// time of writing, because a chunk must be known to be right before the ones after it have been read.
import type { Hash } from '../core/digest.ts';
import { AssayError } from '../core/errors.ts';
import { STORE } from '../core/limits.ts';
import { sha256 } from '../core/sha256.ts';
import { giveBack, takeBuffer } from './buffers.ts';
import { loadChecksum } from './checksum.ts';
import type { RawBlobs, RawFile, RawLargeBlob, RawSmallBlob } from './raw.ts';
import type { Blobs, LargeBlob } from './store.ts';
import { Trust } from './trust.ts';

export function verified(raw: RawBlobs, now: () => number): Blobs {
  const trust = new Trust(now);
  return {
    async get(hash) {
      const blob = await raw.get(hash);
      if (!blob) return undefined;
      if (blob.kind === 'large') return new VerifiedLargeBlob(hash, blob, raw, trust);
      if (blob.kind === 'small' && isRight(hash, blob, trust)) return blob;
      const detail = blob.kind === 'broken' ? blob.detail : 'its bytes have another SHA-256';
      await raw.quarantine(hash, blob.generation, detail);
      return undefined;
    },
    put: (expected, content) => raw.put(expected, content),
    missing: (digests) => raw.missing(digests),
    touch: (hashes) => raw.touch(hashes),
  };
}

function isRight(hash: Hash, { bytes, generation }: RawSmallBlob, trust: Trust): boolean {
  if (trust.has(hash, generation)) return true;
  if (sha256(bytes) !== hash) return false;
  trust.add(hash, generation);
  return true;
}

class VerifiedLargeBlob implements LargeBlob {
  readonly size: number;
  readonly #hash: Hash;
  readonly #blob: RawLargeBlob;
  readonly #raw: RawBlobs;
  readonly #trust: Trust;

  constructor(hash: Hash, blob: RawLargeBlob, raw: RawBlobs, trust: Trust) {
    this.size = blob.size;
    this.#hash = hash;
    this.#blob = blob;
    this.#raw = raw;
    this.#trust = trust;
  }

  /** Holds its file open from the first chunk to the last: what happens to the blob meanwhile can't mix two files. */
  async *chunks(offset = 0, length = this.size, atOnce = () => 1): AsyncGenerator<Buffer> {
    const end = Math.min(offset + length, this.size);
    const file = await this.#open();
    let buffer = takeBuffer(atOnce());
    try {
      for (let position = offset; position < end; ) {
        const bytes = await this.#readOn(file, buffer, position, end);
        yield bytes;
        position += bytes.length;
        buffer = exchanged(buffer, atOnce());
      }
    } finally {
      giveBack(buffer);
      await file.close();
    }
  }

  /** To the end of the chunk, or of those that are trusted and fit into the buffer. */
  #readOn(file: RawFile, buffer: Buffer, position: number, end: number): Promise<Buffer> {
    const start = position - (position % STORE.chunkBytes);
    const trusted = this.#trustedFrom(start, buffer.length) * STORE.chunkBytes;
    if (trusted === 0) return this.#readVerified(file, buffer, start, position, end);
    return this.#read(file, buffer.subarray(0, Math.min(start + trusted, end) - position), position);
  }

  /** How many chunks, one after the other. */
  #trustedFrom(start: number, most: number): number {
    const first = start / STORE.chunkBytes;
    const last = first + most / STORE.chunkBytes;
    let chunk = first;
    while (chunk < last && this.#trust.has(this.#hash, this.#blob.generation, chunk)) chunk++;
    return chunk - first;
  }

  async #open(): Promise<RawFile> {
    return (await this.#blob.open()) ?? this.#refuse('its file is missing');
  }

  async #readVerified(
    file: RawFile,
    buffer: Buffer,
    start: number,
    position: number,
    end: number,
  ): Promise<Buffer> {
    const checksum = await loadChecksum();
    const length = Math.min(STORE.chunkBytes, this.size - start);
    const chunk = await this.#read(file, buffer.subarray(0, length), start);
    const index = start / STORE.chunkBytes;
    const { checksums, generation } = this.#blob;
    if (checksum(chunk) !== checksums[index]) await this.#refuse(`chunk ${index} fails its checksum`);
    this.#trust.add(this.#hash, generation, index, checksums.length);
    return chunk.subarray(position - start, end - start);
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

/** The same buffer, if it has the size that is wanted now. */
function exchanged(buffer: Buffer, chunks: number): Buffer {
  if (buffer.length === chunks * STORE.chunkBytes) return buffer;
  giveBack(buffer);
  return takeBuffer(chunks);
}
