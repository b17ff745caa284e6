// What reported steps did, added up by week, namespace, repository, branch and step (../period-sums.ts,
// docs/decisions/0511).
//
// Invariants:
// W1 Totals are exact. Beyond DASHBOARD.weekRows, the rows of the branches with the fewest steps become one row, OTHER, for each
//    step; then those of steps, then those of repositories. What was made one stays one.
// W2 The main branch of a repository is kept apart from all others as long as its repository is.

import type { RunReport } from '../../../core/metadata/run-report-schema.ts';
import { DASHBOARD } from '../limits.ts';
import { Names, PeriodSums, type Placed, type Sums } from '../period-sums.ts';
import { addDuration, type DurationBuckets, durationBucketOf } from './durations.ts';

export const STEP_WEEK_KIND = 'step-week';
const DAY_MS = 24 * 60 * 60 * 1000;
export const WEEK_MS = 7 * DAY_MS;
/** 1970 began on a Thursday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** The row of all names beyond the limit of rows. */
export const OTHER = '(other)';

/** Monday, 0:00 UTC. */
export function weekOf(at: number): number {
  return Math.floor((at - FIRST_MONDAY_MS) / WEEK_MS) * WEEK_MS + FIRST_MONDAY_MS;
}

/** By its name: no report tells which branch of a repository is the main one. */
export function isMainBranch(branch: string | undefined): boolean {
  return branch !== undefined && /^(?:main|master|trunk)$/.test(branch);
}

export interface RunSteps extends Placed {
  /** "" without one. */
  readonly repository: string;
  readonly branch: string;
  readonly elapsedMs: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly steps: readonly RanStep[];
}

interface RanStep {
  readonly step: string;
  readonly outcome: 'hits' | 'misses' | 'failed';
  /** By a hit, and taken by a command. */
  readonly savedMs: number;
  readonly commandMs: number;
}

export function stepsOf(report: RunReport, place: Placed): RunSteps {
  const { repository = '', branch = '', elapsedMs, bytesUp, bytesDown, steps } = report;
  return {
    ...{ namespace: place.namespace, at: place.at, repository, branch, bytesUp, bytesDown },
    elapsedMs: Math.round(elapsedMs),
    steps: steps.flatMap(({ step, outcome: ended, commandMs, elapsedMs: took }) => {
      const outcome = OUTCOMES[ended];
      if (outcome === undefined) return [];
      const savedMs = outcome === 'hits' ? Math.max(0, commandMs - took) : 0;
      return [{ step, outcome, savedMs: Math.round(savedMs), commandMs: Math.round(commandMs) }];
    }),
  };
}

const OUTCOMES: Readonly<Record<string, RanStep['outcome']>> = {
  'hit-local': 'hits',
  'hit-remote': 'hits',
  miss: 'misses',
  failed: 'failed',
};

/** The counts of one step of one branch. */
export interface StepCounts {
  readonly repository: string;
  readonly branch: string;
  readonly step: string;
  hits: number;
  misses: number;
  failed: number;
  savedMs: number;
  /** Of commands that ran, also of those that failed. */
  ranMs: number;
  /** Of commands that ended well. */
  readonly durations: DurationBuckets;
}

/** The runs of one branch. */
export interface BranchRuns {
  readonly repository: string;
  readonly branch: string;
  runs: number;
  elapsedMs: number;
  bytesUp: number;
  bytesDown: number;
  /** When the newest of them began. */
  lastAt: number;
}

/** The document of one week. The first numbers of a row are indexes of names. */
export interface StoredWeek {
  readonly names: readonly string[];
  readonly runs: readonly (readonly number[])[];
  readonly steps: readonly (readonly number[])[];
}

/** The sums of this process. */
export const stepWeeks = () =>
  new PeriodSums<RunSteps, WeekSums>({
    kind: STEP_WEEK_KIND,
    startOf: weekOf,
    sums: () => new WeekSums(),
    most: DASHBOARD.weeksInMemory,
  });

type Address = Pick<StepCounts, 'repository' | 'branch' | 'step'>;

/** What becomes one, the first first. */
const FOLDS: readonly {
  /** Undefined for what stays. */
  nameOf(one: Address): string | undefined;
  fold(one: Address): Address;
}[] = [
  {
    nameOf: ({ repository, branch }) =>
      branch === OTHER || isMainBranch(branch) ? undefined : JSON.stringify([repository, branch]),
    fold: (one) => ({ ...one, branch: OTHER }),
  },
  {
    nameOf: ({ repository, step }) => (step === OTHER ? undefined : JSON.stringify([repository, step, 0])),
    fold: (one) => ({ ...one, step: OTHER }),
  },
  {
    nameOf: ({ repository }) => (repository === OTHER ? undefined : repository),
    fold: () => ({ repository: OTHER, branch: OTHER, step: OTHER }),
  },
];

class WeekSums implements Sums<RunSteps> {
  #steps = new Map<string, StepCounts>();
  readonly #runs = new Map<string, BranchRuns>();
  readonly #folded = new Set<string>();

  addRun(run: RunSteps): void {
    this.#count(run, 1);
    if (this.#steps.size > DASHBOARD.weekRows) this.#shrink(DASHBOARD.weekRowsKept);
  }

  removeRun(run: RunSteps): void {
    this.#count(run, -1);
  }

  halve(): void {
    this.#shrink(this.#steps.size >> 1);
  }

  #count(run: RunSteps, sign: 1 | -1): void {
    this.#countRun(run, sign);
    for (const { step, outcome, savedMs, commandMs } of run.steps) {
      const counts = this.#stepAt(this.#placeOf({ repository: run.repository, branch: run.branch, step }));
      counts[outcome] += sign;
      counts.savedMs += sign * savedMs;
      if (outcome !== 'hits') counts.ranMs += sign * commandMs;
      if (outcome === 'misses') addDuration(counts.durations, durationBucketOf(commandMs), sign);
    }
  }

  #countRun({ repository, branch, elapsedMs, bytesUp, bytesDown, at }: RunSteps, sign: 1 | -1): void {
    const place = this.#placeOf({ repository, branch, step: '' });
    const own = JSON.stringify([place.repository, place.branch]);
    const most = isMainBranch(branch) ? 2 * DASHBOARD.weekRunRows : DASHBOARD.weekRunRows;
    const isFull = this.#runs.size >= most && !this.#runs.has(own);
    const key = isFull ? OTHER : own;
    const counts = this.#runs.get(key) ?? {
      repository: isFull ? OTHER : place.repository,
      branch: isFull ? OTHER : place.branch,
      ...{ runs: 0, elapsedMs: 0, bytesUp: 0, bytesDown: 0, lastAt: 0 },
    };
    this.#runs.set(key, counts);
    counts.runs += sign;
    counts.elapsedMs += sign * elapsedMs;
    counts.bytesUp += sign * bytesUp;
    counts.bytesDown += sign * bytesDown;
    counts.lastAt = Math.max(counts.lastAt, at);
  }

  #placeOf(one: Address): Address {
    let place = one;
    for (const { nameOf, fold } of FOLDS) {
      const name = nameOf(place);
      if (name !== undefined && this.#folded.has(name)) place = fold(place);
    }
    return place;
  }

  #stepAt(place: Address): StepCounts {
    const key = JSON.stringify([place.repository, place.branch, place.step]);
    const known = this.#steps.get(key) ?? {
      ...place,
      ...{ hits: 0, misses: 0, failed: 0, savedMs: 0, ranMs: 0, durations: new Map() },
    };
    this.#steps.set(key, known);
    return known;
  }

  #shrink(most: number): void {
    for (const { nameOf } of FOLDS) {
      const groups = Map.groupBy(this.#steps.values(), nameOf);
      groups.delete(undefined);
      const weight = (rows: readonly StepCounts[]) =>
        rows.reduce((sum, { hits, misses, failed }) => sum + hits + misses + failed, 0);
      const fewest = [...groups].sort(([, a], [, b]) => weight(a) - weight(b));
      /* Each goes into rows that others share: so half of what is too much may stay for them. */
      while (this.#steps.size > most && fewest.length > 0) {
        const names = fewest.splice(0, Math.ceil(fewest.length / 4)).flatMap(([name]) => name ?? []);
        this.#fold(names);
      }
    }
  }

  #fold(names: readonly string[]): void {
    if (this.#folded.size > DASHBOARD.foldedNames) this.#folded.clear();
    for (const name of names) this.#folded.add(name);
    const all = this.#steps;
    this.#steps = new Map();
    for (const counts of all.values()) addCounts(this.#stepAt(this.#placeOf(counts)), counts);
  }

  stored(): StoredWeek {
    const names = new Names();
    return {
      runs: Array.from(this.#runs.values(), (one) => [
        names.indexOf(one.repository),
        names.indexOf(one.branch),
        ...[one.runs, one.elapsedMs, one.bytesUp, one.bytesDown, one.lastAt],
      ]),
      steps: Array.from(this.#steps.values(), (one) => [
        ...[names.indexOf(one.repository), names.indexOf(one.branch), names.indexOf(one.step)],
        ...[one.hits, one.misses, one.failed, one.savedMs, one.ranMs],
        ...[...one.durations].flat(),
      ]),
      names: names.list,
    };
  }
}

export function addCounts(into: Omit<StepCounts, keyof Address>, counts: StepCounts): void {
  into.hits += counts.hits;
  into.misses += counts.misses;
  into.failed += counts.failed;
  into.savedMs += counts.savedMs;
  into.ranMs += counts.ranMs;
  for (const [bucket, times] of counts.durations) addDuration(into.durations, bucket, times);
}

export function* runsIn({ runs, names }: Partial<StoredWeek>): Generator<BranchRuns> {
  for (const [repository = -1, branch = -1, ...numbers] of runs ?? []) {
    const [count = 0, elapsedMs = 0, bytesUp = 0, bytesDown = 0, lastAt = 0] = numbers;
    yield {
      ...{ repository: names?.[repository] ?? '', branch: names?.[branch] ?? '' },
      ...{ runs: count, elapsedMs, bytesUp, bytesDown, lastAt },
    };
  }
}

/** Those for which `isWanted`. A week has many rows, and a page asks for few of them. */
export function* stepsIn(
  { steps, names }: Partial<StoredWeek>,
  isWanted: (repository: string, branch: string, step: string) => boolean,
): Generator<StepCounts> {
  for (const row of steps ?? []) {
    const nameAt = (index: number) => names?.[row[index] ?? -1] ?? '';
    const [repository, branch, step] = [nameAt(0), nameAt(1), nameAt(2)];
    if (!isWanted(repository, branch, step)) continue;
    const durations: DurationBuckets = new Map();
    for (let index = 8; index < row.length; index += 2) durations.set(row[index] ?? 0, row[index + 1] ?? 0);
    const [hits = 0, misses = 0, failed = 0, savedMs = 0, ranMs = 0] = row.slice(3, 8);
    yield { repository, branch, step, hits, misses, failed, savedMs, ranMs, durations };
  }
}
