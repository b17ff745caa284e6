// The SHA-256 and the chunk checksums of content while it arrives, in pieces of any size.
import type { Hash as Hasher } from 'node:crypto';
import { type Digest, parseHash } from '../../core/digest.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import { STORE } from '../limits.ts';
import { acquireBuffer, releaseBuffer } from './buffers.ts';
import { type Checksum, encodeChecksums, loadChecksum } from './checksum.ts';

export class ContentHash {
  readonly #hasher: Hasher = nodeCrypto().createHash('sha256');
  readonly #chunks: ChunkChecksums;
  size = 0;

  static async create(): Promise<ContentHash> {
    return new ContentHash(await ChunkChecksums.create());
  }

  private constructor(chunks: ChunkChecksums) {
    this.#chunks = chunks;
  }

  update(piece: Uint8Array): void {
    this.#hasher.update(piece);
    this.#chunks.update(piece);
    this.size += piece.byteLength;
  }

  /** Call it once. */
  finish(): { readonly digest: Digest; readonly checksums: Buffer } {
    return {
      digest: { hash: parseHash(this.#hasher.digest('hex')), size: this.size },
      checksums: this.#chunks.finish(),
    };
  }

  /** Releases the buffer if `finish` was not called. */
  discard(): void {
    this.#chunks.discard();
  }
}

/** One checksum for each STORE.chunkBytes, counted from the first byte. */
export class ChunkChecksums {
  readonly #checksum: Checksum;
  readonly #checksums: bigint[] = [];
  #buffer: Buffer | undefined;
  #filled = 0;

  static async create(): Promise<ChunkChecksums> {
    return new ChunkChecksums(await loadChecksum());
  }

  private constructor(checksum: Checksum) {
    this.#checksum = checksum;
  }

  update(piece: Uint8Array): void {
    for (let taken = 0; taken < piece.byteLength; ) {
      const part = piece.subarray(taken, taken + STORE.chunkBytes - this.#filled);
      taken += part.byteLength;
      if (part.byteLength === STORE.chunkBytes) this.#checksums.push(this.#checksum(part));
      else this.#append(part);
    }
  }

  #append(part: Uint8Array): void {
    this.#buffer ??= acquireBuffer();
    this.#buffer.set(part, this.#filled);
    this.#filled += part.byteLength;
    if (this.#filled < STORE.chunkBytes) return;
    this.#checksums.push(this.#checksum(this.#buffer));
    this.discard();
  }

  finish(): Buffer {
    if (this.#buffer && this.#filled > 0)
      this.#checksums.push(this.#checksum(this.#buffer.subarray(0, this.#filled)));
    this.discard();
    return encodeChecksums(this.#checksums);
  }

  discard(): void {
    if (this.#buffer) releaseBuffer(this.#buffer);
    this.#buffer = undefined;
    this.#filled = 0;
  }
}
