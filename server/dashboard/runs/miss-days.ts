// The causes of misses, added up by day and namespace while runs are reported. A page that ranks them reads one
// document for each day instead of every run.
//
// Invariants:
// M1 The sums of a run are stored in the same commit as the run.
// M2 A document belongs to one process, which writes its documents one after another. So several processes on one
//    store add up, and none overwrites the sums of another.
// M3 A document has a bound. Beyond MAX_CAUSES, the causes that cost least are dropped; the totals stay exact.
import { randomBytes } from 'node:crypto';
import type { MissCause } from '../../../core/metadata/run-report.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type { HistoryDocument } from '../../../store/history.ts';
import { STORE } from '../../../store/limits.ts';
import { documentOf } from '../documents.ts';

export const MISS_DAY_KIND = 'miss-day';
export const DAY_MS = 24 * 60 * 60 * 1000;

export interface Miss {
  readonly step: string;
  readonly repository?: string | undefined;
  readonly cause: MissCause;
  readonly commandMs: number;
}

export interface StepSum {
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
  readonly causes: readonly CauseSum[];
  readonly droppedCauses: number;
}

/** A run and its place in the history. */
export interface RunMisses {
  readonly run: string;
  readonly namespace: Namespace;
  readonly at: number;
  readonly misses: readonly Miss[];
}

const MAX_CAUSES = 400;
/** What stays when there are more: so not each new cause drops another one. */
const KEPT_CAUSES = 300;
const MAX_STEPS = 40;
const KEPT_STEPS = 20;
/** Days in memory. A day that comes again after that gets another document. */
const MAX_DAYS = 200;
const ID_BYTES = 8;

/** The sums of this process. */
export class MissDays {
  readonly #days = new Map<string, Day>();

  /** Adds a run. The document has the sums with it. */
  add(run: RunMisses): HistoryDocument {
    const day = this.#dayOf(run);
    day.sums.addRun(run);
    return day.document();
  }

  /** Takes back a run that could not be stored. The next document of the day is right again. */
  remove(run: RunMisses): void {
    this.#dayOf(run).sums.removeRun(run);
  }

  /** The same misses have other causes now. */
  explain(before: RunMisses, after: RunMisses): HistoryDocument {
    const day = this.#dayOf(before);
    for (const miss of before.misses) day.sums.removeCause(miss);
    for (const miss of after.misses) day.sums.addCause(miss, after);
    return day.document();
  }

  #dayOf({ namespace, at }: RunMisses): Day {
    const start = Math.floor(at / DAY_MS) * DAY_MS;
    const name = `${start}\0${namespace}`;
    const day = this.#days.get(name) ?? new Day(namespace, start);
    this.#days.delete(name);
    this.#days.set(name, day);
    const [oldest] = this.#days.keys();
    if (this.#days.size > MAX_DAYS && oldest !== undefined) this.#days.delete(oldest);
    return day;
  }
}

class Day {
  readonly sums = new MissSums();
  readonly #namespace: Namespace;
  readonly #start: number;
  readonly #id = randomBytes(ID_BYTES).toString('hex');

  constructor(namespace: Namespace, start: number) {
    this.#namespace = namespace;
    this.#start = start;
  }

  document(): HistoryDocument {
    const name = { kind: MISS_DAY_KIND, namespace: this.#namespace, id: this.#id, at: this.#start };
    for (;;) {
      const document = documentOf(name, this.sums.stored());
      if (document.bytes.length <= STORE.historyDocumentBytes) return document;
      this.sums.halve();
    }
  }
}

/** Sums of misses by cause, of one day or of many. */
export class MissSums {
  runs = 0;
  misses = 0;
  lostMs = 0;
  droppedCauses = 0;
  readonly causes = new Map<string, CauseSum>();
  /** The steps of each cause by name: a page adds up thousands of them. */
  readonly #steps = new WeakMap<CauseSum, Map<string, StepSum>>();

  addRun(run: RunMisses): void {
    this.#countRun(run, 1);
    for (const miss of run.misses) this.addCause(miss, run);
    if (this.causes.size > MAX_CAUSES) this.#keep(KEPT_CAUSES);
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

  /** Adds the sums of a document. */
  add({ runs, misses, lostMs, causes, droppedCauses }: StoredMissDay): void {
    this.runs += runs;
    this.misses += misses;
    this.lostMs += lostMs;
    this.droppedCauses += droppedCauses;
    for (const sum of causes) this.#merge(keyOf(sum.cause, sum.steps[0]?.repository), sum);
  }

  #merge(key: string, { cause, count, lostMs, steps, example }: CauseSum): void {
    const known = this.causes.get(key) ?? { cause, count: 0, lostMs: 0, steps: [], example };
    this.causes.set(key, known);
    known.count += count;
    known.lostMs += lostMs;
    if (example.at >= known.example.at) known.example = example;
    const byName = this.#stepsOf(known);
    for (const one of steps) {
      const same = byName.get(nameOfStep(one));
      if (same) {
        same.count += one.count;
        same.lostMs += one.lostMs;
      } else {
        const added = { ...one };
        known.steps.push(added);
        byName.set(nameOfStep(one), added);
      }
    }
    if (known.steps.length <= MAX_STEPS) return;
    known.steps = known.steps.sort(byLoss).slice(0, KEPT_STEPS);
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
    return { runs, misses, lostMs, causes: [...causes.values()], droppedCauses };
  }
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
  return JSON.stringify([kind, name, isLocal ? repository : '']);
}
