// The file that a large blob is written to, chunk after chunk. A very large one goes past the page cache, straight from
// our memory to the disk: that takes a tenth of the kernel's time, and leaves in the cache what many ask for instead of
// what one has just sent (docs/decisions/0023). Where a file system, or the memory of a chunk, does not fit that, the
// same file is written as any other from there on.
import { constants } from 'node:fs';
import { isSystemError } from '../../../core/errors.ts';
import { STORE } from '../../limits.ts';
import { closeFile, openFile, removeFile, syncData, truncate, writeFully } from '../fs/calls.ts';
import { closeContent, openContent } from './open-files.ts';

/** What disks, and so all transfers past the cache, are divided into. A pooled buffer holds a whole number of these. */
const BLOCK = 4096;
/** Its name is random, so it is new; but a refused attempt to go past the cache may have left it there, empty. */
const OWN_FILE = constants.O_WRONLY | constants.O_CREAT;

/**
 * What this process has staged. An open file is being written; a resting one belongs to an upload that waits for its next
 * part. Of the files that other processes write, nothing is known here.
 */
const staged = new Map<string, 'open' | 'idle'>();

export function stagingState(path: string): 'open' | 'idle' | undefined {
  return staged.get(path);
}

/** Removes a file that may have been staged by any process. */
export async function removeStaged(path: string): Promise<void> {
  staged.delete(path);
  await removeFile(path);
}

export class StagingFile {
  readonly #path: string;
  /** Undefined while it rests. */
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

  /** Gives its descriptor back until the next write, if there is one. */
  async suspend(): Promise<void> {
    await this.#closeFile();
    if (staged.has(this.#path)) staged.set(this.#path, 'idle');
  }

  /** It was there when it began to rest. Made anew, it would lack what it had: whoever removed it has ended the upload. */
  async #descriptor(): Promise<number> {
    if (this.#file !== undefined) return this.#file;
    staged.set(this.#path, 'open');
    const flags = constants.O_WRONLY | (this.#isDirect ? constants.O_DIRECT : 0);
    this.#file = await openContent(this.#path, flags);
    return this.#file;
  }

  /** At the end of what was written. The last chunk of all may be shorter than the others. */
  append(chunk: Buffer): Promise<void> {
    return this.write(chunk, this.#size);
  }

  /** At a position where a chunk begins: the last one may be written again when it has grown. */
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

  /** Cuts off what the last block has too much. */
  async sync(): Promise<void> {
    const file = await this.#descriptor();
    if (this.#isDirect) await truncate(file, this.#size);
    await syncData(file);
  }

  /** From here on the file is the caller's, to rename or to remove. */
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

/** Undefined where the call is refused because what it asks for does not fit the file system. */
async function unlessInvalid<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (isSystemError(error, 'EINVAL')) return undefined;
    throw error;
  }
}
