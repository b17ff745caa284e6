// From what made a difference to a finding: its kind, the first thing that differs, and what to do about it.
import type { Finding, FindingKind, Fix } from '../verdict/finding.ts';
import { keyOf, type Subject } from './comparison.ts';
import { NOISE } from './trial.ts';
import { isVariation, VARIATIONS, type Variation } from './variation.ts';

/**
 * `elapsed`: clocks that measure distances; `nothing`: it differs though nothing was varied; `together`: only when several
 * things are varied at once; `seed`: one number that is made from several of them.
 */
export type Reason = Variation | 'elapsed' | 'nothing' | 'together' | 'seed';

export interface Cause {
  readonly by: Reason;
  /** With `environment`: the one variable that matters. */
  readonly variable?: string;
  /** What differs, sorted. */
  readonly subjects: readonly Subject[];
  /** Of the first one: where, and how. */
  readonly wordOffset?: number;
  readonly description: string;
}

const OTHERS: Readonly<
  Record<'elapsed' | 'nothing' | 'together' | 'seed', { kind: FindingKind; what: string; advice: string }>
> = {
  elapsed: {
    kind: 'time',
    what: 'how long things take',
    advice: 'leave durations and the time since the start out of what is made',
  },
  nothing: {
    kind: 'random',
    what: 'nothing that could be held still',
    advice:
      'look for threads or processes that write in no fixed order, and for memory that is not initialised',
  },
  together: {
    kind: 'random',
    what: 'several variations at once, but none of them alone',
    advice: 'run again: it may be a rare accident, such as the order of two processes',
  },
  seed: {
    kind: 'random',
    what: 'a random number that is made from the time, the process id and the like',
    advice: 'fix the seed (bash: RANDOM=1; awk: srand(1)), or name things by what they hold',
  },
};

export function causeFindings(causes: readonly Cause[], readable: (path: string) => string): Finding[] {
  return withSeeds(causes).map((cause) => findingOf(cause, readable));
}

/** What programs make random numbers from when they do not ask for one. */
const SEEDS: ReadonlySet<Reason> = new Set(['clock', 'elapsed', 'pids', 'random', 'addresses']);

/** One word that changes with the clock and also with the process id is neither of them: it was made from both. */
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
  const names = ({ subjects }: Cause) => subjects.map(keyOf).join('\0');
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

/** What an earlier run left in the action's own state is in what it makes. */
export function stateFinding(
  { subjects, description: words, what }: Pick<Cause, 'subjects' | 'description'> & { readonly what: string },
  readable: (path: string) => string,
): Finding {
  return {
    kind: 'stale-output',
    ...pathField(subjects, readable),
    detail: `${words}${moreOf(subjects)}; it depends on ${what}`,
    atMs: 0,
    advice: 'take it out of the state, or make the tool look again: a clean run makes something else',
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
