// One case: runs a plan in two clones with one server, and compares every run with the truth.
// It writes down what it did as a script that a person can read and repeat.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Clone } from './clone.ts';
import { describe } from './edits.ts';
import { isHit, type Outcome, outcomeOf, type StepResult } from './outcome.ts';
import type { Event, Operation, Plan, Step } from './plan.ts';
import { bundlesFromAbove, leadsOut, lossesOf, type Tree, treeDifferences } from './tree.ts';
import { type Truth, truthOf } from './truth.ts';

export type Kind = 'wrong hit' | 'wrong run' | 'damage' | 'refused' | 'needless miss';

export interface Difference {
  readonly kind: Kind;
  /** The operation after which it was seen. */
  readonly operation: number;
  readonly lines: readonly string[];
}

export interface Report {
  readonly differences: readonly Difference[];
  readonly script: readonly string[];
  readonly compares: number;
  readonly hits: number;
}

/** Longer than the time in which the client does not trust a file's stat. */
const SETTLED_MS = 120;

/** A declaration that an edit made wrong is refused: nothing ran, so nothing can be wrong. */
const FAIR_REFUSALS = [
  'ASSAY_INPUT_MATCHES_NOTHING',
  'ASSAY_INPUT_UNORDERED',
  'ASSAY_INPUT_UNREADABLE',
  'ASSAY_CONFIG',
];

type Run = Operation & { readonly do: 'run' };

export async function runCase(plan: Plan, remote: string, only?: ReadonlySet<number>): Promise<Report> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'oracle-')));
  try {
    return await new Case(plan, folder, remote).run(only);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class Case {
  readonly #plan: Plan;
  readonly #folder: string;
  readonly #clones: readonly [Clone, Clone];
  readonly #differences: Difference[] = [];
  readonly #script: string[] = [];
  /** Published results, by step, variable and files. */
  readonly #known = new Map<string, Known[]>();
  /** Runs with a new value of the declared variable, by the first step of the graph. */
  readonly #nonces = new Map<string, number>();
  #compares = 0;
  #hits = 0;
  #truths = 0;

  constructor(plan: Plan, folder: string, remote: string) {
    this.#plan = plan;
    this.#folder = folder;
    const place = (home: string, store: string, aside: string) => ({
      home: join(folder, home),
      store: join(folder, plan.hasOneStore ? 'store' : store),
      aside: join(folder, 'home', aside),
      remote,
    });
    this.#clones = [
      new Clone(plan, place('one', 'store-1', 'aside-1')),
      new Clone(plan, place('two/deeper', 'store-2', 'aside-2')),
    ];
  }

  async run(only: ReadonlySet<number> | undefined): Promise<Report> {
    const [first, second] = this.#clones;
    mkdirSync(first.workspace, { recursive: true });
    first.checkOut();
    second.copyOf(first);
    for (const [index, operation] of this.#plan.operations.entries()) {
      if (only && !only.has(index)) continue;
      await this.#do(operation, index);
    }
    return {
      differences: this.#differences,
      script: this.#script,
      compares: this.#compares,
      hits: this.#hits,
    };
  }

  #note(index: number, text: string): void {
    this.#script.push(`${String(index).padStart(3)}  ${text}`);
  }

  async #do(operation: Operation, index: number): Promise<void> {
    switch (operation.do) {
      case 'edit':
      case 'undo':
        return this.#edit(this.#clone(operation.clone), operation, (text) =>
          this.#note(index, `${operation.clone}$ ${text}`),
        );
      case 'outputs':
        return this.#note(
          index,
          `${operation.clone}$ ${this.#clone(operation.clone).harmOutputs(operation.how)}`,
        );
      case 'clone':
        this.#clone(operation.to).copyOf(this.#clone(operation.from));
        return this.#note(index, `clone ${operation.to} := a fresh copy of clone ${operation.from}`);
      case 'pause':
        await wait(SETTLED_MS);
        return this.#note(index, 'sleep 0.12');
      case 'run':
        return this.#runStep(operation, index);
    }
  }

  #clone(number: number): Clone {
    return this.#clones[number === 0 ? 0 : 1];
  }

  /** An edit, or an earlier one taken back; the note says if it did not apply. */
  #edit(clone: Clone, event: Omit<Event, 'gate'>, note: (text: string) => void): void {
    const { edit, id } = event;
    if (edit) {
      const undo = clone.editor.apply(edit);
      if (undo) clone.undos.set(id, undo);
      if (undo) note(describe(edit));
      return;
    }
    const undo = clone.undos.get(id);
    clone.undos.delete(id);
    if (undo) note(`take back edit ${id}: ${tryTo(undo)}`);
  }

  async #runStep(operation: Run, index: number): Promise<void> {
    const { isGraph, steps } = this.#plan;
    const { isNew, during = [], killAtGate, killAfterMs } = operation;
    const clone = this.#clone(operation.clone);
    const step = steps.find(({ name }) => name === operation.step);
    if (!step) throw new Error(`no step ${operation.step}`);
    const origin = step.dependsOn[0] ?? step.name;
    const number = (this.#nonces.get(origin) ?? 0) + (isNew ? 1 : 0);
    this.#nonces.set(origin, number);
    const nonce = `${number}-${this.#folder.slice(-6)}`;
    const outputs = isGraph ? steps : [step];
    const before = clone.tree(outputs);
    const others = new Map(steps.map((one) => [one.name, this.#othersOf(one, clone)]));
    const events: string[] = [];
    const atGate = (gate: number) => {
      for (const event of during.filter((one) => one.gate === gate))
        this.#edit(clone, event, (text) => events.push(`at gate ${gate}: ${text}`));
    };
    const ended = await clone.run(step, nonce, { atGate, killAtGate, killAfterMs });
    const at = `${operation.clone}$ ${isNew ? `ORACLE_CASE=${number} ` : ''}assay run ${step.name}`;
    if (ended.isKilled) {
      this.#note(
        index,
        `${at} -> killed ${killAtGate === undefined ? `after ${killAfterMs} ms` : `at gate ${killAtGate}`}`,
      );
      return this.#checkDamage(index, before, clone.tree(outputs));
    }
    const outcome = outcomeOf(ended, step, isGraph, clone.workspace);
    this.#note(index, `${at} -> ${[...told(outcome), ...events].join('; ')}`);
    if (events.length > 0) return;
    const seen: Seen = { clone, step, outcome, nonce, index, before, others };
    this.#checkDamage(index, before, clone.tree(outputs), await this.#lossesOfCommands(seen, outputs));
    await this.#compare(seen);
  }

  /** Nothing may change but outputs, and what the commands alone would change too. */
  #checkDamage(operation: number, before: Tree, after: Tree, expected: readonly string[] = []): void {
    const lines = lossesOf(before, after).filter((line) => !expected.includes(line));
    if (lines.length > 0) this.#differences.push({ kind: 'damage', operation, lines });
  }

  /** Of a command that writes over a file that it left itself, or through a link. */
  async #lossesOfCommands(seen: Seen, outputs: readonly Step[]): Promise<string[]> {
    const { clone, before } = seen;
    if (lossesOf(before, clone.tree(outputs)).length === 0) return [];
    const truth = await this.#truthOf(seen, []);
    return lossesOf(before, truth.tree);
  }

  async #compare(seen: Seen): Promise<void> {
    const { outcome, index, step } = seen;
    this.#compares++;
    if (outcome.refused !== undefined) {
      if (FAIR_REFUSALS.includes(outcome.refused)) return;
      this.#differences.push({ kind: 'refused', operation: index, lines: [outcome.refused] });
      return;
    }
    const hits = [...outcome.results.values()].filter(isHit).length;
    this.#hits += hits;
    const lines = await this.#linesAgainst(seen, this.#plan.isGraph ? this.#plan.steps : [step]);
    if (lines.length === 0) return this.#checkMisses(seen);
    // In a graph a step may see outputs of steps that it does not depend on, if they lie there already.
    if (this.#plan.isGraph && (await this.#linesAgainst(seen, this.#closure(step))).length === 0) return;
    // So may a step that runs again before a step that depends on it.
    if (this.#plan.isGraph && (await this.#linesAgainst(seen, [])).length === 0) return;
    this.#differences.push({ kind: hits > 0 ? 'wrong hit' : 'wrong run', operation: index, lines });
  }

  async #linesAgainst(seen: Seen, without: readonly Step[]): Promise<string[]> {
    const { clone, outcome } = seen;
    const { steps, others } = this.#stepsOf(seen);
    const truth = await this.#truthOf(seen, without);
    // A step that strict hermeticity failed keeps the steps after it from running.
    const isStopped = steps.some(
      ({ name, isStrict }) => isStrict && outcome.results.get(name)?.exitCode === 3,
    );
    const told = steps.filter(({ name }) => !isStopped || outcome.results.get(name)?.outcome !== 'skipped');
    const lines = told.flatMap(({ name, isStrict }) => resultLines(name, truth, outcome, isStrict));
    const isSuccess =
      told.length === steps.length && steps.every(({ name }) => truth.results.get(name)?.exitCode === 0);
    return isSuccess ? [...lines, ...treeDifferences(truth.tree, clone.tree(others))] : lines;
  }

  async #truthOf(seen: Seen, without: readonly Step[]): Promise<Truth> {
    const { clone, nonce } = seen;
    const folder = join(this.#folder, 'truth', String(this.#truths++));
    return truthOf(clone, { ...this.#stepsOf(seen), without, folder, nonce });
  }

  #stepsOf({ step }: Seen): { readonly steps: readonly Step[]; readonly others: readonly Step[] } {
    const steps = this.#plan.isGraph ? this.#closure(step) : [step];
    const others = this.#plan.isGraph ? this.#plan.steps.filter((one) => !steps.includes(one)) : [];
    return { steps, others };
  }

  /** The step after the steps that it depends on. */
  #closure(step: Step): Step[] {
    return [...this.#plan.steps.filter(({ name }) => step.dependsOn.includes(name)), step];
  }

  /** A result that a store has for the same files must be a hit. */
  #checkMisses(seen: Seen): void {
    const { clone, outcome, nonce, index, before } = seen;
    for (const [name, result] of outcome.results) {
      const others = seen.others.get(name) ?? new Map();
      const state = [name, nonce, JSON.stringify([...before])].join('\n');
      const known = this.#known.get(state) ?? [];
      this.#known.set(state, known);
      const isKnown = known.some(
        ({ stores, shown, from, above }) =>
          stores.has(clone.store) &&
          !leadsOut(before) &&
          !bundlesFromAbove(above) &&
          lossesOf(shown, others).length === 0 &&
          treeDifferences(above, from.above()).length === 0,
      );
      if (isKnown && result.outcome === 'miss')
        this.#differences.push({
          kind: 'needless miss',
          operation: index,
          lines: [`${name}: ${result.reason}`],
        });
      if (!result.published || result.diverged) continue;
      const stores = result.shared ? this.#clones.map(({ store }) => store) : [clone.store];
      known.push({ stores: new Set(stores), shown: others, from: clone, above: clone.above() });
    }
  }

  /**
   * Outputs of steps that this one does not depend on. A step may have seen those that were there; those that came
   * later must not matter (docs/STEPS.md).
   */
  #othersOf(step: Step, clone: Clone): Tree {
    if (!this.#plan.isGraph) return new Map();
    const closure = this.#closure(step);
    const all = clone.tree(closure);
    const without = clone.tree(this.#plan.steps);
    return new Map([...all].filter(([path]) => !without.has(path)));
  }
}

/** A result that was published. */
interface Known {
  readonly stores: ReadonlySet<string>;
  /** The outputs of other steps that lay there. */
  readonly shown: Tree;
  /** A file above the workspace counts by its absolute path too, so it must still be where the run found it. */
  readonly from: Clone;
  readonly above: Tree;
}

interface Seen {
  readonly clone: Clone;
  readonly step: Step;
  readonly outcome: Outcome;
  readonly nonce: string;
  readonly index: number;
  /** The files before the run, without outputs. */
  readonly before: Tree;
  /** By step: outputs of steps that it does not depend on, before the run. */
  readonly others: ReadonlyMap<string, Tree>;
}

function resultLines(name: string, truth: Truth, outcome: Outcome, isStrict: boolean): string[] {
  const expected = truth.results.get(name);
  const got = outcome.results.get(name);
  if (!expected || !got)
    return expected || (got && got.outcome !== 'skipped')
      ? [`${name}: ran only ${expected ? 'in the copy' : 'here'}`]
      : [];
  // With strict hermeticity an undeclared access fails the step after its command.
  const exitCode = isStrict && got.exitCode === 3 && !isHit(got) ? 0 : got.exitCode;
  const pairs: [string, unknown, unknown][] = [
    ['exit code', expected.exitCode, exitCode],
    ['stdout', expected.stdout, got.stdout],
    ['stderr', expected.stderr, got.stderr],
  ];
  return pairs
    .filter(([, one, other]) => one !== other)
    .map(
      ([what, one, other]) =>
        `${name}: ${what}: expected ${JSON.stringify(one)}, got ${JSON.stringify(other)}`,
    );
}

function told({ results, refused }: Outcome): string[] {
  const words = [...results].map(
    ([name, result]) => `${name} ${result.outcome} ${result.exitCode} ${saidOf(result)}`,
  );
  return refused === undefined ? words : [...words, `refused: ${refused}`];
}

function saidOf({ published, shared, reason }: StepResult): string {
  return `${published ? (shared ? 'shared' : 'published') : 'kept nothing'} (${reason})`;
}

function tryTo(undo: () => void): string {
  try {
    undo();
    return 'done';
  } catch (error) {
    return String(error);
  }
}
