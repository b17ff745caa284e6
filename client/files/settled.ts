// Settled stats: the file's times are older than the moment of the lstat by more than the clock's
// granularity.
// Settled stats may be recorded, because every later change gives the file other times.
//
// A change after the lstat gets a time no older than that lstat. If the recorded times lie within the
// granularity of it, a later change could carry the same times. Git calls such an entry racily clean; Assay
// does not record it.
import type { Stats } from 'node:fs';
import { INDEX } from '../limits.ts';
import type { StatRow } from './stat-table.ts';

/**
 * `checkedAt`: the clock in milliseconds, at or before the lstat. An inode number that a double cannot
 * represent exactly is never settled: two inodes could look equal.
 */
export function isSettled(
  { mtimeMs, ctimeMs, ino }: Pick<Stats, 'mtimeMs' | 'ctimeMs' | 'ino'>,
  checkedAt: number,
): boolean {
  const latest = checkedAt - granularityMs(mtimeMs, ctimeMs);
  return mtimeMs < latest && ctimeMs < latest && Number.isSafeInteger(ino);
}

export function allSettled(rows: Iterable<StatRow>, checkedAt: number): boolean {
  for (const [, mtimeMs, ctimeMs, ino] of rows)
    if (!isSettled({ mtimeMs, ctimeMs, ino }, checkedAt)) return false;
  return true;
}

/** A file system that stores whole seconds shows in the stats: neither time has a fraction. */
function granularityMs(mtimeMs: number, ctimeMs: number): number {
  return areWholeSeconds(mtimeMs, ctimeMs) ? INDEX.coarseGranularityMs : INDEX.granularityMs;
}

function areWholeSeconds(...times: readonly number[]): boolean {
  return times.every((time) => time % 1000 === 0);
}

/** False if the file may have changed since a moment, which is a time of the same file system. */
export function wasUntouched(
  { mtimeMs, ctimeMs }: Pick<Stats, 'mtimeMs' | 'ctimeMs'>,
  since: number,
): boolean {
  return ctimeMs < (areWholeSeconds(mtimeMs, ctimeMs) ? since - INDEX.coarseGranularityMs : since);
}
