// A large blob that is being received: cut into chunks, hashed, and written to a staging file.
// Nothing refers to the file before `moveIntoPlace` and the commit. A crash before that leaves a file that
// the sweep removes.
import type { Hash as Hasher } from 'node:crypto';
import { dirname, join } from 'node:path';
import { type Digest, type Hash, parseHash } from '../../../core/digest.ts';
import { nodeCrypto } from '../../../core/sha256.ts';
import { makeDurableFolder, orIfGone, removeFile, rename, syncFolder } from '../../../system/files/calls.ts';
import { acquireBuffer, releaseBuffer } from '../../shared/buffers.ts';
import { type Checksum, encodeChecksums, loadChecksum } from '../../shared/checksum.ts';
import { refuseExcess } from '../../shared/expected.ts';
import type { Content, Expected } from '../../store.ts';
import { attempt } from '../fs/faults.ts';
import { filePath, type Layout } from '../fs/layout.ts';
import { StagingFile } from './staging-file.ts';

/**
 * The content in chunks of STORE.chunkBytes; the last may be shorter. Each is a pooled buffer that the
 * consumer releases. Stops as soon as more bytes arrive than were announced.
 */
export async function* toChunks(expected: Expected, content: Content): AsyncGenerator<Buffer> {
  let buffer: Buffer | undefined;
  let filled = 0;
  let size = 0;
  try {
    for await (const piece of content instanceof Uint8Array ? [content] : content) {
      size += piece.byteLength;
      refuseExcess(expected, size);
      for (let taken = 0; taken < piece.byteLength; ) {
        buffer ??= acquireBuffer();
        const part = piece.subarray(taken, taken + buffer.length - filled);
        buffer.set(part, filled);
        taken += part.byteLength;
        filled += part.byteLength;
        if (filled < buffer.length) continue;
        const full = buffer;
        buffer = undefined;
        filled = 0;
        yield full;
      }
    }
    const rest = buffer?.subarray(0, filled);
    buffer = undefined;
    if (rest) yield rest;
  } finally {
    if (buffer) releaseBuffer(buffer);
  }
}

/** For content that is already stored: the sender still learns whether it sent the right bytes. */
export async function hashOnly(chunks: AsyncIterable<Buffer>): Promise<Digest> {
  const hasher = nodeCrypto().createHash('sha256');
  let size = 0;
  for await (const chunk of chunks) {
    hasher.update(chunk);
    size += chunk.length;
    releaseBuffer(chunk);
  }
  return { hash: finish(hasher), size };
}

/**
 * A staged file. It is durable under its final name when `moveIntoPlace` resolves; the index has no entry
 * yet.
 */
export interface StagedBlob {
  moveIntoPlace(hash: Hash, generation: number): Promise<void>;
  /** One for each chunk. */
  checksums(): Buffer;
}

export class IncomingBlob implements StagedBlob {
  readonly #layout: Layout;
  readonly #path: string;
  readonly #file: StagingFile;
  readonly #checksum: Checksum;
  readonly #checksums: bigint[] = [];
  #size = 0;
  /** The write of one chunk continues while the next chunk arrives. */
  #writing: Promise<void> = Promise.resolve();

  static async create(layout: Layout, expectedSize: number | undefined): Promise<IncomingBlob> {
    const checksum = await loadChecksum();
    const path = join(layout.staging, nodeCrypto().randomUUID());
    const file = await attempt('creating a staging file', () => StagingFile.create(path, expectedSize));
    return new IncomingBlob(layout, path, file, checksum);
  }

  private constructor(layout: Layout, path: string, file: StagingFile, checksum: Checksum) {
    this.#layout = layout;
    this.#path = path;
    this.#file = file;
    this.#checksum = checksum;
  }

  async fill(chunks: AsyncIterable<Buffer>): Promise<Digest> {
    const hasher = nodeCrypto().createHash('sha256');
    for await (const chunk of chunks) {
      hasher.update(chunk);
      this.#checksums.push(this.#checksum(chunk));
      await this.#writing;
      this.#writing = this.#append(chunk);
      this.#size += chunk.length;
      // The next `await` reports a failure. Until then the rejection must not count as unhandled.
      this.#writing.catch(() => {});
    }
    return { hash: finish(hasher), size: this.#size };
  }

  async #append(chunk: Buffer): Promise<void> {
    await attempt('writing a staging file', () => this.#file.append(chunk)).finally(() =>
      releaseBuffer(chunk),
    );
  }

  checksums(): Buffer {
    return encodeChecksums(this.#checksums);
  }

  async moveIntoPlace(hash: Hash, generation: number): Promise<void> {
    await this.#writing;
    await attempt('syncing a staging file', () => this.#file.sync());
    await this.#file.end();
    const target = filePath(this.#layout, hash, generation);
    await attempt('placing a file', () => renameDurably(this.#path, target));
  }

  /** Removes the staging file unless it was moved into place. */
  async discard(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#file.end();
    await removeFile(this.#path);
  }
}

/**
 * Shard folders that this process made durable. Another process may have made a folder and not synced it yet.
 */
const durableShards = new Set<string>();

export async function renameDurably(from: string, to: string): Promise<void> {
  const shard = dirname(to);
  const renamed = () => rename(from, to).then(() => true);
  const isPlaced = durableShards.has(shard) && (await orIfGone(renamed(), false));
  if (!isPlaced) {
    await makeDurableFolder(shard);
    durableShards.add(shard);
    await rename(from, to);
  }
  await syncFolder(shard);
}

function finish(hasher: Hasher): Hash {
  return parseHash(hasher.digest('hex'));
}
