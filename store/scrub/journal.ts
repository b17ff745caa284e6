// How far the scrub of a store is, in a file beside it: STORE/verify.json. Replaced whole, so that whoever reads it, or
// goes on from it after a kill, finds one state or another; losing the last seconds costs only the time to do them again.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isHash } from '../../core/digest.ts';
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

  /** Undefined where there is none, or none that can be understood. */
  read(): ScrubProgress | undefined {
    try {
      const progress: unknown = JSON.parse(readFileSync(this.#path, 'utf8'));
      return isProgress(progress) ? progress : undefined;
    } catch {
      return undefined;
    }
  }

  /** At most once in a while, but always the last. A journal that can't be written costs a resumption, nothing else. */
  write(progress: ScrubProgress): void {
    if (progress.finishedAt === undefined && this.#now() - this.#writtenAt < STORE.journalMs) return;
    this.#writtenAt = this.#now();
    try {
      writeFileSync(`${this.#path}.tmp`, `${JSON.stringify(progress)}\n`);
      renameSync(`${this.#path}.tmp`, this.#path);
    } catch {
      // A full or read-only disk: the scrub itself goes on.
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
