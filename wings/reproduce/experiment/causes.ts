// Turns a cause of a difference into a finding: its kind, the first difference, and advice.
import type { Finding, FindingKind, Fix } from '../../../hermeticity/verdict/finding.ts';
import { type Subject, subjectKey } from './comparison.ts';
import { NOISE } from './trial.ts';
import { isVariation, VARIATIONS, type Variation } from './variation.ts';

/**
 * `elapsed`: monotonic clocks; `nothing`: the result differs although nothing was varied; `together`: it
 * differs only if several things vary at once; `seed`: one number derived from several of them.
 */
export type Reason = Variation | 'elapsed' | 'nothing' | 'together' | 'seed';

export interface Cause {
  readonly by: Reason;
  /** With `environment`: the variable that matters. */
  readonly variable?: string;
  /** What differs, sorted. */
  readonly subjects: readonly Subject[];
  /** Where the first one differs, and how. */
  readonly wordOffset?: number;
  readonly description: string;
}

const OTHERS: Readonly<
  Record<'elapsed' | 'nothing' | 'together' | 'seed', { kind: FindingKind; what: string; advice: string }>
> = {
  elapsed: {
    kind: 'time',
    what: 'how long things take',
    advice: 'leave durations and the time since the start out of the outputs',
  },
  nothing: {
    kind: 'random',
    what: 'something that Assay cannot hold constant',
    advice:
      'look for threads or processes that write in no fixed order, and for memory that is not initialised',
  },
  together: {
    kind: 'random',
    what: 'several variations at once, but none of them alone',
    advice: 'run again: it may be a rare race between two processes',
  },
  seed: {
    kind: 'random',
    what: 'a random number derived from the time, the process id and similar values',
    advice: 'fix the seed (bash: RANDOM=1; awk: srand(1)), or name files by their content',
  },
};

export function causeFindings(causes: readonly Cause[], readable: (path: string) => string): Finding[] {
  return withSeeds(causes).map((cause) => findingOf(cause, readable));
}

/** Sources from which programs derive a seed if they do not ask for a random one. */
const SEEDS: ReadonlySet<Reason> = new Set(['clock', 'elapsed', 'pids', 'random', 'addresses']);

/** A word that changes with the clock and with the process id is a seed made from both. */
function withSeeds(causes: readonly Cause[]): Cause[] {
  const left: Cause[] = [];
  for (const cause of causes) {
    const mixed = causes.filter((other) => isSamePlace(cause, other));
    const isSeed = mixed.filter(({ by }) => SEEDS.has(by)).length > 1;
    if (!isSeed) left.push(cause);
    else if (mixed[0] === cause) left.push({ ...cause, by: 'seed' });
  }
  return left;
}

function isSamePlace(a: Cause, b: Cause): boolean {
  const names = ({ subjects }: Cause) => subjects.map(subjectKey).join('\0');
  return a === b || (a.wordOffset !== undefined && a.wordOffset === b.wordOffset && names(a) === names(b));
}

function findingOf(cause: Cause, readable: (path: string) => string): Finding {
  const { by, subjects, description, variable } = cause;
  const { kind, what, advice } = isVariation(by) ? VARIATIONS[by] : OTHERS[by];
  const fix = fixFor(variable);
  return {
    kind,
    ...pathField(subjects, readable),
    detail: `${description}${moreOf(subjects)}; it depends on ${variable === undefined ? what : `the variable ${variable}`}`,
    atMs: 0,
    ...(fix === undefined ? { advice } : { fix }),
  };
}

/** The earlier run's state changes the result. */
export function stateFinding(
  { subjects, description: words, what }: Pick<Cause, 'subjects' | 'description'> & { readonly what: string },
  readable: (path: string) => string,
): Finding {
  return {
    kind: 'stale-output',
    ...pathField(subjects, readable),
    detail: `${words}${moreOf(subjects)}; it depends on ${what}`,
    atMs: 0,
    advice: 'remove it from the state, or make the tool check it again: a clean run gives another result',
  };
}

function pathField(subjects: readonly Subject[], readable: (path: string) => string): Pick<Finding, 'path'> {
  const [first] = subjects;
  return first?.path === undefined ? {} : { path: readable(first.path) };
}

function moreOf(subjects: readonly Subject[]): string {
  return subjects.length > 1 ? `; ${subjects.length - 1} more differ` : '';
}

function fixFor(variable: string | undefined): Fix | undefined {
  const declarable =
    variable !== undefined && variable !== NOISE && variable !== 'HOME' && variable !== 'TMPDIR';
  return declarable ? { flag: '--env', value: variable } : undefined;
}
