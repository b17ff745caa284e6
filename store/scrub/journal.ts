// The progress of a scrub in a file beside the store: STORE/verify.json. A reader
// or a resumed scrub sees one complete state. Losing the last second costs only the time to examine
// those blobs again.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isHash } from '../../core/digest.ts';
import { replaceFile } from '../../system/files/replace-file.ts';
import { STORE } from '../limits.ts';
import type { ScrubProgress } from './scrub.ts';

export const SCRUB_JOURNAL = 'verify.json';

export class ScrubJournal {
  readonly #path: string;
  readonly #now: () => number;
  #writtenAt = Number.NEGATIVE_INFINITY;

  constructor(directory: string, now: () => number) {
    this.#path = join(directory, SCRUB_JOURNAL);
    this.#now = now;
  }

  /** Undefined if there is no journal, or it can't be parsed. */
  read(): ScrubProgress | undefined {
    try {
      const progress: unknown = JSON.parse(readFileSync(this.#path, 'utf8'));
      return isProgress(progress) ? progress : undefined;
    } catch {
      return undefined;
    }
  }

  /**
   * Writes at most once in STORE.journalMs, and always the final state. A failed write only prevents
   * resuming.
   */
  write(progress: ScrubProgress): void {
    if (progress.finishedAt === undefined && this.#now() - this.#writtenAt < STORE.journalMs) return;
    this.#writtenAt = this.#now();
    try {
      replaceFile(this.#path, `${JSON.stringify(progress)}\n`);
    } catch {
      // The disk is full or read-only: the scrub continues.
    }
  }
}

const COUNTS = ['startedAt', 'blobs', 'bytes', 'damaged', 'results', 'unusableResults'] as const;

function isProgress(value: unknown): value is ScrubProgress {
  if (typeof value !== 'object' || value === null) return false;
  const fields: Partial<Record<keyof ScrubProgress, unknown>> = value;
  const { behind, damage, finishedAt } = fields;
  return (
    COUNTS.every((name) => Number.isSafeInteger(fields[name])) &&
    (behind === undefined || (typeof behind === 'string' && isHash(behind))) &&
    (finishedAt === undefined || Number.isSafeInteger(finishedAt)) &&
    Array.isArray(damage)
  );
}
