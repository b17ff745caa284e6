// The staging file of a large blob, written chunk by chunk.
// A very large blob is written with O_DIRECT. That takes a tenth of the kernel's time, and keeps blobs that
// are read often in the page cache (docs/decisions/0023). If the file system or the memory of a chunk does
// not support it, the same file continues with ordinary writes.
import { constants } from 'node:fs';
import { isSystemError } from '../../../core/errors.ts';
import {
  closeFile,
  openFile,
  removeFile,
  syncData,
  truncate,
  writeFully,
} from '../../../system/files/calls.ts';
import { STORE } from '../../limits.ts';
import { closeContent, openContent } from './open-files.ts';

/** The block size of direct writes. A pooled buffer is a multiple of it. */
const BLOCK = 4096;
/** The random name is new, but a refused O_DIRECT open may have created the empty file. */
const OWN_FILE = constants.O_WRONLY | constants.O_CREAT;

/**
 * The files that this process has staged. An open file is being written; an idle file belongs to an upload
 * that waits for its next part. Files of other processes are not listed.
 */
const staged = new Map<string, 'open' | 'idle'>();

export function stagingState(path: string): 'open' | 'idle' | undefined {
  return staged.get(path);
}

/** Removes a file that any process may have staged. */
export async function removeStaged(path: string): Promise<void> {
  staged.delete(path);
  await removeFile(path);
}

export class StagingFile {
  readonly #path: string;
  /** Undefined while it is suspended. */
  #file: number | undefined;
  #isDirect: boolean;
  #size = 0;

  static async create(path: string, expectedSize: number | undefined): Promise<StagingFile> {
    const isDirect = (expectedSize ?? 0) >= STORE.directBytes;
    const direct = isDirect
      ? await unlessInvalid(openContent(path, OWN_FILE | constants.O_DIRECT, 0o644))
      : undefined;
    const file = direct ?? (await openContent(path, OWN_FILE, 0o644));
    return new StagingFile(path, file, direct !== undefined);
  }

  private constructor(path: string, file: number, isDirect: boolean) {
    this.#path = path;
    this.#file = file;
    this.#isDirect = isDirect;
    staged.set(path, 'open');
  }

  /** Closes the descriptor until the next write. */
  async suspend(): Promise<void> {
    await this.#closeFile();
    if (staged.has(this.#path)) staged.set(this.#path, 'idle');
  }

  /**
   * Reopens without O_CREAT: a new file would lack the earlier bytes. If the file is gone, the upload was
   * removed.
   */
  async #descriptor(): Promise<number> {
    if (this.#file !== undefined) return this.#file;
    staged.set(this.#path, 'open');
    const flags = constants.O_WRONLY | (this.#isDirect ? constants.O_DIRECT : 0);
    this.#file = await openContent(this.#path, flags);
    return this.#file;
  }

  /** At the end of the file. The last chunk may be shorter. */
  append(chunk: Buffer): Promise<void> {
    return this.write(chunk, this.#size);
  }

  /** At a chunk boundary. The last chunk may be written again after it has grown. */
  async write(chunk: Buffer, position: number): Promise<void> {
    this.#size = Math.max(this.#size, position + chunk.length);
    if (this.#isDirect && (await this.#writeDirect(chunk, position))) return;
    await writeFully(await this.#descriptor(), chunk, position);
  }

  async #writeDirect(chunk: Buffer, position: number): Promise<boolean> {
    const blocks = Buffer.from(chunk.buffer, chunk.byteOffset, Math.ceil(chunk.length / BLOCK) * BLOCK);
    const direct = await this.#descriptor();
    const written = await unlessInvalid(writeFully(direct, blocks, position).then(() => true));
    if (!written) await this.#fallBackToPageCache(direct);
    return written ?? false;
  }

  async #fallBackToPageCache(direct: number): Promise<void> {
    const file = await openFile(this.#path, 'r+');
    await closeFile(direct);
    this.#file = file;
    this.#isDirect = false;
  }

  /** Truncates the padding of the last direct block, then syncs. */
  async sync(): Promise<void> {
    const file = await this.#descriptor();
    if (this.#isDirect) await truncate(file, this.#size);
    await syncData(file);
  }

  /** Afterwards the caller may rename or remove the file. */
  async end(): Promise<void> {
    await this.#closeFile();
    staged.delete(this.#path);
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    if (file !== undefined) await closeContent(file);
  }
}

/** Undefined if the call fails with EINVAL: the file system does not support it. */
async function unlessInvalid<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isSystemError(error, 'EINVAL')) return undefined;
    throw error;
  }
}
