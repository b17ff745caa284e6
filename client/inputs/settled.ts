// When may what a file looked like be remembered? A change that comes after a look gets a time no older than that look.
// So if a file's times lie clearly before the look, every later change shows; if they lie within the clock's granularity
// of it, a later change could carry the same times, and the look must not be remembered.
import type { BigIntStats } from 'node:fs';
import { INDEX } from '../../core/limits.ts';
import type { Row } from './stat-table.ts';

/** `lookedAt`: the clock, in milliseconds, at or before the moment of the look. */
export function isSettled(
  { mtimeNs, ctimeNs }: Pick<BigIntStats, 'mtimeNs' | 'ctimeNs'>,
  lookedAt: number,
): boolean {
  const latest = BigInt(lookedAt - granularityMs(mtimeNs, ctimeNs)) * 1_000_000n;
  return mtimeNs < latest && ctimeNs < latest;
}

export function allSettled(rows: Iterable<Row>, lookedAt: number): boolean {
  for (const [, mtimeNs, ctimeNs] of rows) if (!isSettled({ mtimeNs, ctimeNs }, lookedAt)) return false;
  return true;
}

/** A file system that keeps whole seconds only shows it: both times of a file end in nine zeros. */
function granularityMs(mtimeNs: bigint, ctimeNs: bigint): number {
  const wholeSeconds = mtimeNs % NANOSECONDS === 0n && ctimeNs % NANOSECONDS === 0n;
  return wholeSeconds ? INDEX.coarseGranularityMs : INDEX.granularityMs;
}

const NANOSECONDS = 1_000_000_000n;

/** False if it may have been changed since a moment, in the file system's own time. */
export function wasUntouched({ mtimeNs, ctimeNs }: BigIntStats, sinceNs: bigint): boolean {
  const wholeSeconds = mtimeNs % NANOSECONDS === 0n && ctimeNs % NANOSECONDS === 0n;
  const since = wholeSeconds ? sinceNs - BigInt(INDEX.coarseGranularityMs) * 1_000_000n : sinceNs;
  return ctimeNs < since;
}
