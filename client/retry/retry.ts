// The flag --retry, and the words for a command that was run more than once. Every run loads this.
import { type Flag, type ParsedFlags, parseNumber } from '../../core/cli/command.ts';
import type { Tries } from '../../core/metadata/run-report.ts';
import { RUN } from '../limits.ts';

export const RETRY_FLAG = {
  type: 'string',
  value: 'N',
  text: `run a command that fails again with the same inputs, at most N times (up to ${RUN.maxRetries}). It is flaky if it then ends otherwise. Never after a signal, a timeout or an interrupt`,
} as const satisfies Flag;

/** 0 without the flag. */
export function retriesFrom(flags: ParsedFlags<'retry'>): number {
  const text = flags.text('retry');
  return text === undefined ? 0 : parseNumber('--retry', text, 0, RUN.maxRetries);
}

/** The try that begins now. */
interface NextTry {
  /** Of the try before. */
  readonly exitCode: number;
  readonly attempt: number;
  readonly of: number;
}

export function nextTryText({ exitCode, attempt, of }: NextTry): string {
  return `failed with ${exitCode} and runs again, try ${attempt} of ${of}`;
}

/** Such as "flaky: it failed with 1, then passed with the same facts (try 2)". */
export function triesText({ exitCodes, verdict, changed = 'something' }: Tries): string {
  const last = exitCodes.at(-1) ?? 0;
  const tries = exitCodes.length;
  if (verdict === 'broken') return `it ended with ${last} in each of ${tries} tries`;
  const codes = [...new Set(exitCodes.slice(0, -1))].join(', ');
  const course = `it failed with ${codes}, then ${last === 0 ? 'passed' : `failed with ${last}`}`;
  return verdict === 'flaky'
    ? `flaky: ${course} with the same facts (try ${tries})`
    : `${course} (try ${tries}), but not with the same facts: ${changed}`;
}
