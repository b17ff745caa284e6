// The causes of misses, added up by day and namespace while runs are reported (../period-sums.ts).
//
// A document has a bound. Beyond DASHBOARD.dayCauses, the causes that cost least are dropped; the totals stay exact.
//
// A page reads tens of thousands of causes, and parsing them is most of its work. So a document has each name
// once, and its causes as lists.

import type { MissKind } from '../../../core/metadata/run-report.ts';
import type { MissCause } from '../../../core/metadata/run-report-schema.ts';
import type { HistoryDocument } from '../../../store/history.ts';
import { DASHBOARD } from '../limits.ts';
import { Names, PeriodSums, type Placed, type Sums } from '../period-sums.ts';

export const MISS_DAY_KIND = 'miss-day';
export const DAY_MS = 24 * 60 * 60 * 1000;

interface Miss {
  readonly step: string;
  readonly repository?: string | undefined;
  readonly cause: MissCause;
  readonly commandMs: number;
}

interface StepSum {
  readonly step: string;
  readonly repository?: string;
  count: number;
  lostMs: number;
}

export interface CauseSum {
  readonly cause: MissCause;
  count: number;
  lostMs: number;
  steps: StepSum[];
  example: { readonly run: string; readonly step: string; readonly at: number };
}

/** The document of one day. */
export interface StoredMissDay {
  readonly runs: number;
  readonly misses: number;
  readonly lostMs: number;
  readonly droppedCauses: number;
  /** Of steps and repositories. Other fields have the index. */
  readonly names: readonly string[];
  readonly rows: readonly StoredCause[];
}

type StoredCause = readonly [
  kind: MissKind,
  name: string | null,
  count: number,
  lostMs: number,
  exampleRun: string,
  exampleStep: number,
  exampleAt: number,
  /** Four numbers for each step: its name, its repository or NO_NAME, the count, the milliseconds. */
  steps: readonly number[],
];

const NO_NAME = -1;
/** Places in a StoredCause. */
const [KIND, NAME, COUNT, LOST_MS, STEPS] = [0, 1, 2, 3, 7] as const;

/** A run and its place in the history. */
export interface RunMisses extends Placed {
  readonly run: string;
  readonly misses: readonly Miss[];
}

/** The sums of this process. */
export class MissDays {
  readonly #days = new PeriodSums<RunMisses, MissSums>({
    kind: MISS_DAY_KIND,
    startOf: (at) => Math.floor(at / DAY_MS) * DAY_MS,
    sums: () => new MissSums(),
    most: DASHBOARD.daysInMemory,
  });

  add(run: RunMisses): HistoryDocument {
    return this.#days.add(run);
  }

  remove(run: RunMisses): void {
    this.#days.remove(run);
  }

  /** The same misses have other causes now. */
  explain(before: RunMisses, after: RunMisses): HistoryDocument {
    return this.#days.change(before, (sums) => {
      for (const miss of before.misses) sums.removeCause(miss);
      for (const miss of after.misses) sums.addCause(miss, after);
    });
  }
}

/** Sums of misses by cause, while they are counted. */
class MissSums implements Sums<RunMisses> {
  runs = 0;
  misses = 0;
  lostMs = 0;
  droppedCauses = 0;
  readonly causes = new Map<string, CauseSum>();
  /** The steps of each cause by name. */
  readonly #steps = new WeakMap<CauseSum, Map<string, StepSum>>();

  addRun(run: RunMisses): void {
    this.#countRun(run, 1);
    for (const miss of run.misses) this.addCause(miss, run);
    if (this.causes.size > DASHBOARD.dayCauses) this.#keep(DASHBOARD.dayCausesKept);
  }

  removeRun(run: RunMisses): void {
    this.#countRun(run, -1);
    for (const miss of run.misses) this.removeCause(miss);
  }

  #countRun({ misses }: RunMisses, sign: 1 | -1): void {
    this.runs += sign;
    this.misses += sign * misses.length;
    this.lostMs += sign * misses.reduce((sum, { commandMs }) => sum + commandMs, 0);
  }

  addCause(miss: Miss, { run, at }: Pick<RunMisses, 'run' | 'at'>): void {
    const { step, repository, commandMs: lostMs, cause } = miss;
    const example = { run, step, at };
    const steps = [{ step, ...(repository !== undefined && { repository }), count: 1, lostMs }];
    this.#merge(keyOf(cause, repository), { cause, count: 1, lostMs, steps, example });
  }

  removeCause({ step, repository, commandMs, cause }: Miss): void {
    const key = keyOf(cause, repository);
    const known = this.causes.get(key);
    if (!known) return;
    known.count--;
    known.lostMs -= commandMs;
    if (known.count <= 0) this.causes.delete(key);
    const sum = known.steps.find((one) => one.step === step && one.repository === repository);
    if (!sum) return;
    sum.count--;
    sum.lostMs -= commandMs;
    if (sum.count > 0) return;
    known.steps.splice(known.steps.indexOf(sum), 1);
    this.#steps.delete(known);
  }

  add(sum: CauseSum): void {
    this.#merge(keyOf(sum.cause, sum.steps[0]?.repository), sum);
  }

  /** Keeps `sum` if it is the first of its cause. */
  #merge(key: string, sum: CauseSum): void {
    const known = this.causes.get(key);
    if (!known) {
      this.causes.set(key, sum);
      return;
    }
    known.count += sum.count;
    known.lostMs += sum.lostMs;
    if (sum.example.at >= known.example.at) known.example = sum.example;
    const byName = this.#stepsOf(known);
    for (const one of sum.steps) {
      const name = nameOfStep(one);
      const same = byName.get(name);
      if (same) {
        same.count += one.count;
        same.lostMs += one.lostMs;
      } else {
        known.steps.push(one);
        byName.set(name, one);
      }
    }
    if (known.steps.length <= DASHBOARD.causeSteps) return;
    known.steps = known.steps.sort(byLoss).slice(0, DASHBOARD.causeStepsKept);
    this.#steps.delete(known);
  }

  #stepsOf(cause: CauseSum): Map<string, StepSum> {
    const known = this.#steps.get(cause) ?? new Map(cause.steps.map((one) => [nameOfStep(one), one]));
    this.#steps.set(cause, known);
    return known;
  }

  #keep(most: number): void {
    const ranked = [...this.causes].sort(([, a], [, b]) => byLoss(a, b));
    for (const [key] of ranked.slice(most)) this.causes.delete(key);
    this.droppedCauses += Math.max(0, ranked.length - most);
  }

  halve(): void {
    this.#keep(this.causes.size >> 1);
  }

  stored(): StoredMissDay {
    const { runs, misses, lostMs, causes, droppedCauses } = this;
    const names = new Names();
    const rows = Array.from(causes.values(), (sum) => rowOf(sum, names));
    return { runs, misses, lostMs, droppedCauses, names: names.list, rows };
  }
}

/** The sums of many documents. Only the causes that cost most get their steps added up: a page shows few of them. */
export class RankedMisses {
  runs = 0;
  misses = 0;
  lostMs = 0;
  droppedCauses = 0;
  readonly #causes = new Map<string, RankedCause>();

  get size(): number {
    return this.#causes.size;
  }

  /** A document of an earlier form is left out. */
  add({ runs, misses, lostMs, droppedCauses, names, rows }: Partial<StoredMissDay>): void {
    if (!names || !rows) return;
    this.runs += runs ?? 0;
    this.misses += misses ?? 0;
    this.lostMs += lostMs ?? 0;
    this.droppedCauses += droppedCauses ?? 0;
    for (const row of rows) {
      const key = keyOf({ kind: row[KIND], name: row[NAME] ?? '' }, names[row[STEPS][1] ?? NO_NAME]);
      const known = this.#causes.get(key);
      if (known) {
        known.count += row[COUNT];
        known.lostMs += row[LOST_MS];
        known.parts.push({ row, names });
      } else this.#causes.set(key, { count: row[COUNT], lostMs: row[LOST_MS], parts: [{ row, names }] });
    }
  }

  /** The causes that cost most, first the worst. */
  worst(most: number): CauseSum[] {
    const causes = [...this.#causes.values()];
    const losses = Float64Array.from(causes, ({ lostMs }) => lostMs).sort();
    const least = losses.at(-most) ?? 0;
    return causes
      .filter(({ lostMs }) => lostMs >= least)
      .sort(byLoss)
      .slice(0, most)
      .flatMap(({ parts }) => {
        const sums = new MissSums();
        for (const { row, names } of parts) sums.add(causeIn(row, names));
        return [...sums.causes.values()];
      });
  }
}

interface RankedCause {
  count: number;
  lostMs: number;
  /** Of each document that has the cause. */
  readonly parts: { readonly row: StoredCause; readonly names: readonly string[] }[];
}

function rowOf({ cause, count, lostMs, steps, example }: CauseSum, names: Names): StoredCause {
  const numbers = steps.flatMap((one) => [
    names.indexOf(one.step),
    one.repository === undefined ? NO_NAME : names.indexOf(one.repository),
    one.count,
    one.lostMs,
  ]);
  const { kind, name = null } = cause;
  return [kind, name, count, lostMs, example.run, names.indexOf(example.step), example.at, numbers];
}

function causeIn(
  [kind, name, count, lostMs, run, step, at, numbers]: StoredCause,
  names: readonly string[],
): CauseSum {
  const steps: StepSum[] = [];
  for (let index = 0; index < numbers.length; index += 4) {
    const [own = NO_NAME, of = NO_NAME, times = 0, lost = 0] = numbers.slice(index, index + 4);
    const repository = names[of];
    const sum = { step: names[own] ?? '', count: times, lostMs: lost };
    steps.push(repository === undefined ? sum : { ...sum, repository });
  }
  const cause = name === null ? { kind } : { kind, name };
  return { cause, count, lostMs, steps, example: { run, step: names[step] ?? '', at } };
}

function nameOfStep({ step, repository = '' }: StepSum): string {
  return `${repository}\0${step}`;
}

export function byLoss(
  a: { readonly lostMs: number; readonly count: number },
  b: { readonly lostMs: number; readonly count: number },
): number {
  return b.lostMs - a.lostMs || b.count - a.count;
}

/** The same file of two repositories is two causes. Tools and the machine are the same everywhere. */
function keyOf({ kind, name = '' }: MissCause, repository = ''): string {
  const isLocal = kind === 'input' || kind === 'outputs' || kind === 'variable';
  return `${kind}\0${isLocal ? repository : ''}\0${name}`;
}
