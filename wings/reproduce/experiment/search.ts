// Finds what a result depends on: a run with everything fixed, a run with everything varied, then bisection.

import { bisect } from './bisect.ts';
import type { Cause, Reason } from './causes.ts';
import { describeDifference, type Subject, subjectKey, subjectsThatDiffer } from './comparison.ts';
import { NOISE, type TrialOutcome, type TrialRequest, type Trials } from './trial.ts';
import type { Variation } from './variation.ts';

/** `elapsed`: monotonic clocks run instead of standing still. */
type Change = Variation | 'elapsed';

/** The run that the others are compared with. */
interface Base {
  readonly outcome: TrialOutcome;
  /** What differs between two such runs and cannot be compared. */
  readonly unsteady: readonly Subject[];
  /** Monotonic clocks are frozen. Only if necessary: a program that sleeps by them waits long. */
  readonly frozen: boolean;
}

export class CauseSearch {
  readonly #trials: Trials;
  readonly #possible: readonly Variation[];

  constructor(trials: Trials, possible: readonly Variation[]) {
    this.#trials = trials;
    this.#possible = possible;
  }

  /** `baseline`: a run with nothing varied. */
  async causes(baseline: TrialOutcome): Promise<Cause[]> {
    const all = this.#trials.keep(await this.#trials.run({ varied: this.#possible }), 'all');
    const differing = subjectsThatDiffer(baseline, all);
    if (differing.length === 0) return [];
    const base = await this.#base(baseline);
    const byChance = await this.#byChance(base);
    const steady = without(differing, base.unsteady);
    if (steady.length === 0) return byChance;
    const changes: Change[] = base.frozen ? [...this.#possible, 'elapsed'] : [...this.#possible];
    const single = await this.#singleCauses(base, changes);
    if (single.length === 0) return [...byChance, causeOf('together', baseline, all, steady)];
    return [...byChance, ...(await this.#confirmed(base, single))];
  }

  /**
   * Finds conditions under which two runs with nothing varied agree as far as possible. Any remaining
   * difference would look like the effect of a variation.
   */
  async #base(still: TrialOutcome): Promise<Base> {
    const unsteady = subjectsThatDiffer(still, await this.#trials.run({ varied: [] }));
    if (unsteady.length === 0) return { outcome: still, unsteady, frozen: false };
    const frozen = await this.#trials.run({ varied: [], frozen: true });
    if (frozen.timedOut || frozen.exitCode !== still.exitCode)
      return { outcome: still, unsteady, frozen: false };
    const outcome = this.#trials.keep(frozen, 'frozen');
    const left = subjectsThatDiffer(outcome, await this.#trials.run({ varied: [], frozen: true }));
    if (left.length >= unsteady.length) return { outcome: still, unsteady, frozen: false };
    return { outcome, unsteady: left, frozen: true };
  }

  /** What differs although nothing was varied. */
  async #byChance({ outcome, unsteady, frozen }: Base): Promise<Cause[]> {
    if (unsteady.length === 0) return [];
    const again = await this.#trials.run({ varied: [], frozen });
    const differing = subjectsThatDiffer(outcome, again);
    const subjects = differing.length > 0 ? differing : unsteady;
    return [causeOf('nothing', outcome, again, subjects)];
  }

  /** Runs once more with nothing varied: a difference here was no effect of a variation. */
  async #confirmed(base: Base, causes: readonly Cause[]): Promise<Cause[]> {
    const { outcome, subjects } = await this.#tried(base, { varied: [], frozen: base.frozen });
    if (subjects.length === 0) return [...causes];
    const left = causes.filter((cause) => without(cause.subjects, subjects).length > 0);
    return [causeOf('nothing', base.outcome, outcome, subjects), ...left];
  }

  async #singleCauses(base: Base, changes: readonly Change[]): Promise<Cause[]> {
    const found = new Map<Change, Cause>();
    await bisect(changes, async (some) => {
      const varied = some.flatMap((change) => (change === 'elapsed' ? [] : [change]));
      const frozen = base.frozen && !some.includes('elapsed');
      const { outcome, subjects } = await this.#tried(base, { varied, frozen });
      const [only] = some;
      if (subjects.length > 0 && some.length === 1 && only !== undefined) {
        found.set(only, causeOf(only, base.outcome, outcome, subjects));
      }
      return subjects.length > 0;
    });
    const environment = found.get('environment');
    if (environment === undefined) return [...found.values()];
    found.delete('environment');
    return [...found.values(), ...(await this.#variableCauses(base, environment))];
  }

  /** Which variables matter; the whole environment, if an unknown variable matters too. */
  async #variableCauses(base: Base, whole: Cause): Promise<Cause[]> {
    const trial = (variables: readonly string[]) =>
      this.#tried(base, { varied: ['environment'], variables, frozen: base.frozen });
    if ((await trial([NOISE])).subjects.length > 0) return [whole];
    const found: Cause[] = [];
    const known = this.#trials.variables.filter((name) => name !== NOISE);
    await bisect(known, async (variables) => {
      const { outcome, subjects } = await trial(variables);
      const [only] = variables;
      if (subjects.length > 0 && variables.length === 1 && only !== undefined) {
        found.push({ ...causeOf('environment', base.outcome, outcome, subjects), variable: only });
      }
      return subjects.length > 0;
    });
    return found.length > 0 ? found : [whole];
  }

  async #tried(base: Base, trial: TrialRequest): Promise<{ outcome: TrialOutcome; subjects: Subject[] }> {
    const outcome = await this.#trials.run(trial);
    return { outcome, subjects: without(subjectsThatDiffer(base.outcome, outcome), base.unsteady) };
  }
}

function without(subjects: readonly Subject[], others: readonly Subject[]): Subject[] {
  const keys = new Set(others.map(subjectKey));
  return subjects.filter((subject) => !keys.has(subjectKey(subject)));
}

/** Described now: the next run deletes the outputs of `varied`. A variable's value may be a secret. */
function causeOf(by: Reason, base: TrialOutcome, varied: TrialOutcome, subjects: readonly Subject[]): Cause {
  const [first] = subjects;
  if (first === undefined) throw new Error('a cause without an effect');
  const { wordOffset, description } = describeDifference(first, base, varied, by === 'environment');
  return { by, subjects, description, ...(wordOffset !== undefined && { wordOffset }) };
}
