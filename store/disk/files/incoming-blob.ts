// A large blob on its way in: gathered into chunks, hashed and written to a staging file that nothing refers to. Until
// `place` has given it its name and the index knows it, a crash leaves only a file for the sweep.
import type { Hash as Hasher } from 'node:crypto';
import { dirname, join } from 'node:path';
import { type Digest, type Hash, parseHash } from '../../../core/digest.ts';
import { nodeCrypto } from '../../../core/sha256.ts';
import { acquireBuffer, releaseBuffer } from '../../shared/buffers.ts';
import { type Checksum, loadChecksum } from '../../shared/checksum.ts';
import { refuseExcess } from '../../shared/expected.ts';
import type { Content, Expected } from '../../store.ts';
import { makeFolder, orIfGone, removeFile, rename, syncFolder } from '../fs/calls.ts';
import { attempt } from '../fs/faults.ts';
import { filePath, type Layout } from '../fs/layout.ts';
import { encodeChecksums } from '../index/records.ts';
import { StagingFile } from './staging-file.ts';

/**
 * The content in full chunks, the last one shorter, each in a pooled buffer that its taker gives back. Stops as soon as
 * more arrives than was announced.
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

/** For content that is stored already: its sender still learns whether it sent the right bytes. */
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

/** What can become a blob: durable under its final name when `place` resolves; the index does not know it yet. */
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
  /** One write is under way while the next chunk arrives. */
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
      // Whoever waits for it next is told; until then it must not count as unhandled.
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

  /** Removes what is staged and not placed. */
  async discard(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#file.end();
    await removeFile(this.#path);
  }
}

/** Those that this process has seen durable: one that is merely there may be the unsynced work of another. */
const durableShards = new Set<string>();

export async function renameDurably(from: string, to: string): Promise<void> {
  const shard = dirname(to);
  const renamed = () => rename(from, to).then(() => true);
  const isPlaced = durableShards.has(shard) && (await orIfGone(renamed(), false));
  if (!isPlaced) {
    await makeFolder(shard);
    durableShards.add(shard);
    await rename(from, to);
  }
  await syncFolder(shard);
}

function finish(hasher: Hasher): Hash {
  return parseHash(hasher.digest('hex'));
}
