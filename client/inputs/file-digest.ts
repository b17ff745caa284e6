// The digest of a file on disk: from the stat index where that may be trusted, else by reading the file.
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { type Digest, digestOf, parseHash } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { STORE } from '../../core/limits.ts';
import type { StatIndex } from './stat-index.ts';

export interface FileDigests {
  /**
   * `name`: what the index knows the file by. `stats`: of the file itself. `locate` is asked only if it must be read.
   * `onChunk` is called while it is read, and may throw.
   */
  digest(name: string, stats: Stats, locate: () => string | Buffer, onChunk?: () => void): Digest;
}

export function fileDigests(index: StatIndex, now: () => number): FileDigests {
  return {
    digest(name, stats, locate, onChunk) {
      const known = index.lookup(name, stats);
      if (known) return known;
      const lookedAt = now();
      const { digest, stats: read } = digestFile(locate(), onChunk);
      index.remember(name, read, digest, lookedAt);
      return digest;
    },
  };
}

const buffer = { value: Buffer.alloc(0) };

/** Reads the whole file, synchronously: for many small files twice as fast as promises (docs/decisions/0002). */
export function digestFile(
  systemPath: string | Buffer,
  onChunk?: () => void,
): { digest: Digest; stats: Stats } {
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
    return { digest: digestOpenFile(descriptor, onChunk), stats };
  } finally {
    closeSync(descriptor);
  }
}

function digestOpenFile(descriptor: number, onChunk?: () => void): Digest {
  if (buffer.value.length === 0) buffer.value = Buffer.allocUnsafe(STORE.chunkBytes);
  const chunk = buffer.value;
  let length = readSync(descriptor, chunk, 0, chunk.length, null);
  if (length < chunk.length) {
    const more = readSync(descriptor, chunk, length, chunk.length - length, null);
    if (more === 0) return digestOf(chunk.subarray(0, length));
    length += more;
  }
  const hash = createHash('sha256');
  let size = 0;
  for (; length > 0; length = readSync(descriptor, chunk, 0, chunk.length, null)) {
    onChunk?.();
    hash.update(chunk.subarray(0, length));
    size += length;
  }
  return { hash: parseHash(hash.digest('hex')), size };
}
