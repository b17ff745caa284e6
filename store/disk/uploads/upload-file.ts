// The staging file of an upload in parts, hashed as it grows. Only this process has the state of the hash.
// Another process, or a later one, reads the file again (readStaged).
import { type Digest, type Hash, parseHash } from '../../../core/digest.ts';
import { nodeCrypto } from '../../../core/sha256.ts';
import { closeFile, openFile, orIfGone, readFully } from '../../../system/files/calls.ts';
import { STORE } from '../../limits.ts';
import { acquireBuffer, isPooled, releaseBuffer } from '../../shared/buffers.ts';
import { type Checksum, encodeChecksums, loadChecksum } from '../../shared/checksum.ts';
import { renameDurably, type StagedBlob } from '../files/incoming-blob.ts';
import { removeStaged, StagingFile } from '../files/staging-file.ts';
import { attempt } from '../fs/faults.ts';
import { filePath, type Layout, uploadPath } from '../fs/layout.ts';
import { newGeneration } from '../index/generation.ts';

export class UploadFile implements StagedBlob {
  readonly generation: number;
  /** The number of the holder that sends it. */
  readonly holder: number;
  readonly #layout: Layout;
  readonly #path: string;
  readonly #file: StagingFile;
  readonly #checksum: Checksum;
  readonly #checksums: bigint[] = [];
  readonly #hasher = nodeCrypto().createHash('sha256');
  /**
   * The chunk that is not full yet. While it is filled it is a pooled buffer, which direct writes need. While
   * the upload is suspended it is a copy of the filled part.
   */
  #chunk: Buffer = Buffer.alloc(0);
  #filled = 0;
  #fullBytes = 0;

  static async create(layout: Layout, expectedSize: number | undefined, holder: number): Promise<UploadFile> {
    const checksum = await loadChecksum();
    const generation = newGeneration();
    const path = uploadPath(layout, generation);
    const file = await attempt('creating a staging file', () => StagingFile.create(path, expectedSize));
    return new UploadFile(layout, generation, path, file, checksum, holder);
  }

  private constructor(
    layout: Layout,
    generation: number,
    path: string,
    file: StagingFile,
    checksum: Checksum,
    holder: number,
  ) {
    this.holder = holder;
    this.generation = generation;
    this.#layout = layout;
    this.#path = path;
    this.#file = file;
    this.#checksum = checksum;
  }

  get size(): number {
    return this.#fullBytes + this.#filled;
  }

  async append(piece: Uint8Array): Promise<void> {
    for (let taken = 0; taken < piece.byteLength; ) {
      const part = piece.subarray(taken, taken + STORE.chunkBytes - this.#filled);
      const isWholeChunk = part.byteLength === STORE.chunkBytes;
      await (isWholeChunk && isPooled(part) ? this.#addChunk(viewOf(part)) : this.#appendPartial(part));
      taken += part.byteLength;
    }
  }

  async #appendPartial(part: Uint8Array): Promise<void> {
    this.#ensurePooled();
    this.#chunk.set(part, this.#filled);
    this.#filled += part.byteLength;
    if (this.#filled === STORE.chunkBytes) await this.#endChunk();
  }

  async #endChunk(): Promise<void> {
    await this.#addChunk(this.#partialChunk());
    this.#filled = 0;
  }

  /** Writes and hashes a chunk without copying it. */
  async #addChunk(chunk: Buffer): Promise<void> {
    await this.#write(chunk);
    this.#hasher.update(chunk);
    this.#checksums.push(this.#checksum(chunk));
    this.#fullBytes += chunk.length;
  }

  /** Releases the pooled buffer and the descriptor until the next part. */
  async suspend(): Promise<void> {
    const kept = Buffer.from(this.#chunk.subarray(0, this.#filled));
    releaseBuffer(this.#chunk);
    this.#chunk = kept;
    await this.#file.suspend();
  }

  #ensurePooled(): void {
    if (this.#chunk.length === STORE.chunkBytes) return;
    const chunk = acquireBuffer();
    this.#chunk.copy(chunk);
    this.#chunk = chunk;
  }

  async #write(chunk: Buffer): Promise<void> {
    await attempt('writing a staging file', () => this.#file.write(chunk, this.#fullBytes));
  }

  #partialChunk(): Buffer {
    this.#ensurePooled();
    return this.#chunk.subarray(0, this.#filled);
  }

  /** All appended bytes are durable when this resolves. */
  async sync(): Promise<void> {
    if (this.#filled > 0) await this.#write(this.#partialChunk());
    await attempt('syncing a staging file', () => this.#file.sync());
  }

  /** The digest of the whole content. Nothing can be appended afterwards. */
  async finish(): Promise<Digest> {
    if (this.#filled > 0) await this.#endChunk();
    return { hash: parseHash(this.#hasher.digest('hex')), size: this.#fullBytes };
  }

  /** The content, after `finish`, if it is no larger than a chunk. */
  onlyChunk(): Buffer {
    return this.#chunk.subarray(0, this.#fullBytes);
  }

  checksums(): Buffer {
    return encodeChecksums(this.#checksums);
  }

  async moveIntoPlace(hash: Hash, generation: number): Promise<void> {
    await this.sync();
    await this.#file.end();
    const target = filePath(this.#layout, hash, generation);
    await attempt('placing a file', () => renameDurably(this.#path, target));
  }

  /** The staging file stays, so that another process can continue. */
  async close(): Promise<void> {
    await this.#file.suspend();
    releaseBuffer(this.#chunk);
    this.#chunk = Buffer.alloc(0);
  }

  /** Removes the staging file unless it was moved into place. */
  async discard(): Promise<void> {
    await this.close();
    await removeStaged(this.#path);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

/** The durable bytes of an upload that another process staged. Empty if its file is gone. */
export async function* readStaged(
  layout: Layout,
  generation: number,
  committed: number,
): AsyncGenerator<Buffer> {
  const file = await orIfGone(openFile(uploadPath(layout, generation), 'r'), undefined);
  if (file === undefined) return;
  const buffer = Buffer.allocUnsafeSlow(STORE.chunkBytes);
  try {
    for (let position = 0; position < committed; ) {
      const wanted = buffer.subarray(0, Math.min(buffer.length, committed - position));
      const count = await attempt('reading a staging file', () => readFully(file, wanted, position));
      if (count === 0) return;
      yield wanted.subarray(0, count);
      position += count;
    }
  } finally {
    await closeFile(file);
  }
}

export function removeStagedUpload(layout: Layout, generation: number): Promise<void> {
  return removeStaged(uploadPath(layout, generation));
}
