// The digest of a file on disk: from the stat index if its stats are unchanged, else by reading the file.
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type Digest, digestOf, parseHash } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import { INDEX } from '../limits.ts';
import type { IndexedFile, StatIndex } from './stat-index.ts';

/** `isWhole`: these bytes are the whole file. */
type OnRead = (bytes: Buffer, isWhole: boolean) => void;

export interface FileDigests {
  /**
   * `name`: the file's name in the index. `stats`: of the file itself. `locate` is called only if the file
   * must be read.
   * `onRead` gets each piece while the file is read and may throw. The buffer is reused for the next piece.
   */
  digest(name: string, stats: Stats, locate: () => string | Buffer, onRead?: OnRead): Digest;
  /** What an index has of a file before somebody linked it (stat-index.ts). Only an index knows it. */
  beforeLinks?(name: string, stats: Stats): IndexedFile | undefined;
}

/**
 * Each file belongs to one index. `programs`: for large files with absolute names, which are programs mostly. All
 * workspaces of a store share it.
 */
export function fileDigests(workspace: StatIndex, now: () => number, programs = workspace): FileDigests {
  const indexOf = (name: string, { size }: Stats) =>
    size >= INDEX.programBytes && isAbsolute(name) ? programs : workspace;
  return {
    beforeLinks: (name, stats) => indexOf(name, stats).beforeLinks(name, stats),
    digest(name, stats, locate, onRead) {
      const index = indexOf(name, stats);
      const indexed = index.lookup(name, stats);
      if (indexed) return indexed;
      if (stats.size >= INDEX.settleBytes) waitUntilSettled(stats, now);
      const openedAt = now();
      const { digest, stats: read } = digestFile(locate(), onRead);
      index.record(name, read, digest, openedAt);
      return digest;
    },
  };
}

/**
 * For a large file that was written just now. The wait is shorter than reading the file, and the digest can be
 * recorded: no later run reads the file again. A file system with coarse times is not waited for.
 */
function waitUntilSettled({ mtimeMs, ctimeMs }: Stats, now: () => number): void {
  const ageMs = now() - Math.max(mtimeMs, ctimeMs);
  if (ageMs >= 0 && ageMs <= INDEX.granularityMs)
    Atomics.wait(sleeper, 0, 0, INDEX.granularityMs + 1 - ageMs);
}

const sleeper = new Int32Array(new SharedArrayBuffer(4));

/** Made by the first file that is read. */
let chunk: Buffer | undefined;

/**
 * Reads the whole file synchronously: for many small files that is twice as fast as promises
 * (docs/decisions/0002).
 */
export function digestFile(systemPath: string | Buffer, onRead?: OnRead): { digest: Digest; stats: Stats } {
  let descriptor: number;
  try {
    descriptor = openSync(systemPath, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    throw new AssayError('ASSAY_INPUT_UNREADABLE', `${systemPath.toString()}: ${messageOf(cause)}`, {
      cause,
    });
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile())
      throw new AssayError('ASSAY_INPUT_UNREADABLE', `${systemPath.toString()}: not a regular file any more`);
    return { digest: digestOpenFile(descriptor, onRead), stats };
  } finally {
    closeSync(descriptor);
  }
}

function digestOpenFile(descriptor: number, onRead?: OnRead): Digest {
  chunk ??= Buffer.allocUnsafe(STORE.chunkBytes);
  let length = readSync(descriptor, chunk, 0, chunk.length, null);
  if (length < chunk.length) {
    const more = readSync(descriptor, chunk, length, chunk.length - length, null);
    if (more === 0) {
      const whole = chunk.subarray(0, length);
      onRead?.(whole, true);
      return digestOf(whole);
    }
    length += more;
  }
  const hash = createHash('sha256');
  let size = 0;
  for (; length > 0; length = readSync(descriptor, chunk, 0, chunk.length, null)) {
    const piece = chunk.subarray(0, length);
    onRead?.(piece, false);
    hash.update(piece);
    size += length;
  }
  return { hash: parseHash(hash.digest('hex')), size };
}
