// The files that the go command reads. It gets a path and reads the file itself, so every file must be
// complete and correct. A file is written under a temporary name, hashed, and renamed to its hash. It is
// served again only if it still has that hash, by the same rule as for inputs (files/settled.ts).
//
//   FOLDER/HH/HASH   content
//   FOLDER/new/UUID  content being received
//   FOLDER/index     the stat index: each file's hash and its stat at that time
//   FOLDER/swept     its mtime is the time of the last sweep
import { randomUUID } from 'node:crypto';
import {
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  rmSync,
  type Stats,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileDigests, fileDigests } from '../../client/files/file-digest.ts';
import { StatIndex } from '../../client/files/stat-index.ts';
import { makeClientFolder } from '../../client/local-store/client-folder.ts';
import { type Digest, parseHash } from '../../core/digest.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import { STORE } from '../../store/limits.ts';
import type { Content } from '../../store/store.ts';
import { makeFolder } from '../../system/files/make-folder.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../system/files/temporary-folder.ts';
import { GOCACHE } from './limits.ts';

/** Complete content on disk, not yet renamed. */
export interface Received {
  readonly digest: Digest;
  readonly path: string;
}

export class DiskFiles {
  readonly #folder: string;
  readonly #temporary: boolean;
  readonly #now: () => number;
  readonly #index: StatIndex;
  readonly #digests: FileDigests;

  private constructor(folder: string, temporary: boolean, now: () => number) {
    this.#folder = folder;
    this.#temporary = temporary;
    this.#now = now;
    this.#index = new StatIndex(join(folder, 'index'));
    this.#digests = fileDigests(this.#index, now);
    makeClientFolder(join(folder, 'new'));
  }

  /** Uses a temporary folder for this build if the folder is not usable: go needs a file. */
  static open(folder: string, now: () => number): DiskFiles {
    try {
      makeClientFolder(folder);
      accessSync(folder, constants.W_OK);
      return new DiskFiles(folder, false, now);
    } catch {
      return new DiskFiles(temporaryFolder('go'), true, now);
    }
  }

  /** The path of this content, if present and correct. */
  find(digest: Digest): string | undefined {
    const path = this.#pathOf(digest);
    try {
      const found = this.#observe(path, this.#noteUse(path));
      return found.hash === digest.hash && found.size === digest.size ? path : undefined;
    } catch {
      return undefined;
    }
  }

  async receive(content: Content): Promise<Received> {
    const path = join(this.#folder, 'new', randomUUID());
    const hash = nodeCrypto().createHash('sha256');
    let size = 0;
    const file = await open(path, 'wx', 0o444);
    try {
      for await (const bytes of content instanceof Uint8Array ? [content] : content) {
        hash.update(bytes);
        size += bytes.length;
        await file.writeFile(bytes);
      }
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    } finally {
      await file.close();
    }
    return { digest: { hash: parseHash(hash.digest('hex')), size }, path };
  }

  /** Renames the content to its hash and returns the path. */
  async keep({ digest, path }: Received): Promise<string> {
    const place = this.#pathOf(digest);
    makeFolder(join(this.#folder, digest.hash.slice(0, 2)));
    await rename(path, place);
    return place;
  }

  drop({ path }: Received): void {
    rmSync(path, { force: true });
  }

  close(): void {
    if (this.#temporary) {
      removeTemporaryFolder(this.#folder);
    } else {
      this.#index.save();
      this.#sweepSometimes();
    }
  }

  #pathOf({ hash }: Digest): string {
    return join(this.#folder, hash.slice(0, 2), hash);
  }

  #observe(path: string, stats: Stats): Digest {
    return this.#digests.digest(path, stats, () => path);
  }

  /**
   * A file's mtime is its last use. Setting it costs a hash of the file at the next use, so it is set rarely.
   */
  #noteUse(path: string): Stats {
    const stats = lstatSync(path);
    if (this.#now() - stats.mtimeMs < GOCACHE.noteUseMs) return stats;
    utimesSync(path, this.#now() / 1000, this.#now() / 1000);
    return lstatSync(path);
  }

  /** Errors are ignored: the next sweep tries again. */
  #sweepSometimes(): void {
    const marker = join(this.#folder, 'swept');
    try {
      const last = statSync(marker, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      if (this.#now() - last < GOCACHE.noteUseMs) return;
      writeFileSync(marker, '');
      for (const entry of readdirSync(this.#folder, { withFileTypes: true })) {
        if (entry.isDirectory()) this.#sweep(join(this.#folder, entry.name), unusedAfter(entry.name));
      }
    } catch {
      // Another build sweeps too, or the disk has errors.
    }
  }

  #sweep(folder: string, unusedMs: number): void {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats && this.#now() - stats.mtimeMs > unusedMs) rmSync(path, { force: true });
    }
  }
}

function unusedAfter(folderName: string): number {
  return folderName === 'new' ? STORE.abandonedUploadMs : GOCACHE.unusedFileMs;
}
