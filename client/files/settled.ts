// When may what a file looked like be remembered? A change that comes after a look gets a time no older than that look.
// So if a file's times lie clearly before the look, every later change shows; if they lie within the clock's granularity
// of it, a later change could carry the same times, and the look must not be remembered.
import type { Stats } from 'node:fs';
import { INDEX } from '../limits.ts';
import type { StatRow } from './stat-table.ts';

/**
 * `lookedAt`: the clock, in milliseconds, at or before the moment of the look. An inode whose number is too large to be told
 * from its neighbours is never taken for settled.
 */
export function isSettled(
  { mtimeMs, ctimeMs, ino }: Pick<Stats, 'mtimeMs' | 'ctimeMs' | 'ino'>,
  lookedAt: number,
): boolean {
  const latest = lookedAt - granularityMs(mtimeMs, ctimeMs);
  return mtimeMs < latest && ctimeMs < latest && Number.isSafeInteger(ino);
}

export function allSettled(rows: Iterable<StatRow>, lookedAt: number): boolean {
  for (const [, mtimeMs, ctimeMs, ino] of rows)
    if (!isSettled({ mtimeMs, ctimeMs, ino }, lookedAt)) return false;
  return true;
}

/** A file system that keeps whole seconds only shows it: neither time of a file has a fraction. */
function granularityMs(mtimeMs: number, ctimeMs: number): number {
  return areWholeSeconds(mtimeMs, ctimeMs) ? INDEX.coarseGranularityMs : INDEX.granularityMs;
}

function areWholeSeconds(...times: readonly number[]): boolean {
  return times.every((time) => time % 1000 === 0);
}

/** False if it may have been changed since a moment, in the file system's own time. */
export function wasUntouched({ mtimeMs, ctimeMs }: Stats, since: number): boolean {
  return ctimeMs < (areWholeSeconds(mtimeMs, ctimeMs) ? since - INDEX.coarseGranularityMs : since);
}
