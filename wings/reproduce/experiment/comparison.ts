// Compares two runs: which of their results differ, and how.
import { type RelPath, toSystemPath } from '../../../core/path.ts';
import { bufferDifference, type Difference, differenceBetween } from './difference.ts';
import { differingPaths } from './manifest.ts';
import type { TrialOutcome } from './trial.ts';

/** A path, or a part of the result that is no file. */
export type Subject =
  | { readonly path: RelPath }
  | { readonly path?: undefined; readonly name: 'exit code' | 'standard output' };

/** A unique string per subject, for sets. */
export function subjectKey(subject: Subject): string {
  return subject.path === undefined ? `\0${subject.name}` : subject.path;
}

/** Output counts only if the command creates no file: how long a build took is no result. */
export function subjectsThatDiffer(a: TrialOutcome, b: TrialOutcome): Subject[] {
  const paths = differingPaths(a.changes, b.changes).map((path) => ({ path }));
  const code: Subject[] = a.exitCode === b.exitCode ? [] : [{ name: 'exit code' }];
  const saysOnly = a.changes.size === 0 && b.changes.size === 0;
  const words: Subject[] = saysOnly && !a.stdout.equals(b.stdout) ? [{ name: 'standard output' }] : [];
  return [...paths, ...code, ...words];
}

export function describeDifference(
  subject: Subject,
  a: TrialOutcome,
  b: TrialOutcome,
  hidden: boolean,
): Difference {
  if (subject.path !== undefined) {
    const at = (outcome: TrialOutcome) => toSystemPath(outcome.folder, subject.path);
    return differenceBetween(at(a), at(b), hidden);
  }
  if (subject.name === 'exit code') {
    const why = b.timedOut ? 'it did not end in time' : `it ends with ${b.exitCode} instead of ${a.exitCode}`;
    return { description: `${why}${hidden ? '' : lastLine(b.stderr)}` };
  }
  const difference = bufferDifference(a.stdout, b.stdout, hidden);
  return { ...difference, description: `standard output ${difference.description}` };
}

const MOST_SAID = 200;

function lastLine(said: Buffer): string {
  const line = said.toString('utf8').trimEnd().split('\n').at(-1) ?? '';
  return line === '' ? '' : ` (${line.slice(0, MOST_SAID)})`;
}
