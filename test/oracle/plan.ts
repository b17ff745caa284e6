// A plan: everything that one case does, made from one seed before anything runs.
// Operations are independent of each other: if one is left out, the others still apply or do nothing. So a plan can shrink.
import { Random } from '../rig/random.ts';
import { type Edit, someEdit } from './edits.ts';
import { gcc, make } from './recipes/make.ts';
import { falseName, node, nodeTests } from './recipes/node.ts';
import { python } from './recipes/python.ts';
import { type Cook, type Recipe, SHELL_GATE } from './recipes/recipe.ts';
import { copy, look } from './recipes/shell.ts';
import { esbuild, tsc } from './recipes/typescript.ts';

export interface Step {
  readonly name: string;
  readonly argv: readonly string[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly tools: readonly string[];
  readonly dependsOn: readonly string[];
  readonly gates: number;
  readonly isStrict: boolean;
  readonly isObserved: boolean;
  readonly includesIgnored: boolean;
}

/** What happens at a gate: an edit, or an earlier one is taken back. */
export interface Event {
  readonly gate: number;
  readonly edit?: Edit;
  readonly id: number;
}

export type Operation =
  | { readonly do: 'edit'; readonly clone: number; readonly id: number; readonly edit: Edit }
  | { readonly do: 'undo'; readonly clone: number; readonly id: number }
  | {
      readonly do: 'run';
      readonly clone: number;
      readonly step: string;
      /** With a new value of a declared variable: a certain miss. */
      readonly isNew?: true;
      readonly during?: readonly Event[];
      readonly killAtGate?: number;
      readonly killAfterMs?: number;
    }
  | { readonly do: 'outputs'; readonly clone: number; readonly how: 'remove' | 'spoil' }
  | { readonly do: 'clone'; readonly from: number; readonly to: number }
  | { readonly do: 'pause' };

export interface Plan {
  readonly seed: number;
  /** `assay run STEP` with an assay.json, or `assay run -- COMMAND` with flags. */
  readonly isGraph: boolean;
  readonly hasGit: boolean;
  /** Both clones are on one machine, with one local store. */
  readonly hasOneStore: boolean;
  readonly jobs: number;
  readonly recipe: Recipe;
  readonly steps: readonly Step[];
  readonly operations: readonly Operation[];
}

/** Families that can share a workspace have files in different folders. Slow tools are rare. */
const FAMILIES: readonly { readonly cooks: readonly Cook[]; readonly weight: number }[] = [
  { cooks: [copy, look], weight: 10 },
  { cooks: [make, make, gcc], weight: 8 },
  { cooks: [python], weight: 8 },
  { cooks: [node, node, nodeTests, falseName], weight: 6 },
  { cooks: [esbuild], weight: 2 },
  { cooks: [tsc], weight: 1 },
];

export function planOf(seed: number): Plan {
  const random = new Random(Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995);
  for (let warm = 0; warm < 8; warm++) random.below(2);
  const isGraph = random.below(5) < 2;
  const isGated = random.below(2) === 0;
  const family = random.pick(FAMILIES.flatMap((one) => Array<typeof one>(one.weight).fill(one)));
  const first = random.pick(family.cooks)(random, isGated);
  const others = FAMILIES.slice(0, 4).filter((one) => one !== family);
  const second = random.below(4) === 0 && !/tsc|esbuild/.test(first.name);
  const recipes = second ? [first, random.pick(random.pick(others).cooks)(random, false)] : [first];
  const steps = recipes.map((recipe, index) => stepOf(random, `s${index}`, recipe, isGated && index === 0));
  if (isGraph && first.outputs.length > 0 && random.below(2) === 0) steps.push(reportOf(first));
  const recipe = merged(recipes, isGraph && steps.length > 1);
  const operations = new Operations(random, recipe, steps).all();
  return {
    seed,
    isGraph,
    hasGit: random.below(4) === 0,
    hasOneStore: random.below(4) === 0,
    jobs: 1 + random.below(2),
    recipe,
    steps,
    operations,
  };
}

function stepOf(random: Random, name: string, recipe: Recipe, isGated: boolean): Step {
  const { parts, argv, outputs, tools = [], ownGates = 0 } = recipe;
  // People also name single files.
  const inputs = random.below(5) === 0 ? Object.keys(recipe.files) : random.pick(recipe.inputs);
  const isObserved = random.below(6) === 0;
  const script = isGated
    ? ['set -e', SHELL_GATE, 'gate', ...parts.flatMap((part) => [part, 'gate'])]
    : ['set -e', ...parts];
  return {
    name,
    argv: argv && !isGated ? argv : ['sh', '-c', script.join('\n')],
    inputs: isObserved ? [] : inputs,
    outputs,
    tools,
    dependsOn: [],
    gates: isGated ? parts.length + 1 + ownGates : 0,
    isStrict: inputs.length > 0 && !isObserved && random.below(6) === 0,
    isObserved,
    includesIgnored: random.below(6) === 0,
  };
}

/** A step that depends on the first by its inputs. */
function reportOf({ outputs }: Recipe): Step {
  const [output = ''] = outputs;
  return {
    name: 'report',
    argv: ['sh', '-c', `find ${output} | LC_ALL=C sort > report.txt; cat report.txt`],
    inputs: /\./.test(output) ? [output] : [`${output}/**`],
    outputs: ['report.txt'],
    tools: [],
    dependsOn: ['s0'],
    gates: 0,
    isStrict: false,
    isObserved: false,
    includesIgnored: false,
  };
}

function merged(recipes: readonly Recipe[], ignoresOutputs: boolean): Recipe {
  const [first] = recipes;
  if (!first) throw new Error('no recipe');
  const outputs = [...recipes.flatMap((one) => one.outputs), 'report.txt'];
  return {
    ...first,
    name: recipes.map(({ name }) => name).join(' + '),
    files: Object.assign({}, ...recipes.map(({ files }) => files)),
    tempting: Object.assign({}, ...recipes.map(({ tempting }) => tempting)),
    ignored:
      recipes.map(({ ignored = '' }) => ignored).join('') +
      (ignoresOutputs ? `/${outputs.join('\n/')}\n` : ''),
  };
}

class Operations {
  readonly #random: Random;
  readonly #recipe: Recipe;
  readonly #steps: readonly Step[];
  readonly #all: Operation[] = [];
  #ids = 0;

  constructor(random: Random, recipe: Recipe, steps: readonly Step[]) {
    this.#random = random;
    this.#recipe = recipe;
    this.#steps = steps;
  }

  all(): readonly Operation[] {
    this.#run(0);
    this.#run(0);
    for (let rounds = 4 + this.#random.below(4); rounds > 0; rounds--) this.#round();
    return this.#all;
  }

  #round(): void {
    const isGated = this.#steps.some(({ gates }) => gates > 0);
    const kind = isGated && this.#random.below(2) === 0 ? 'during' : this.#random.below(10);
    if (kind === 'during') this.#during();
    else if (kind === 0) this.#kill();
    else if (kind === 1) this.#outputs();
    else this.#edited();
  }

  #run(clone: number): void {
    const last = this.#steps.at(-1)?.name ?? '';
    const step = this.#random.below(3) === 0 ? last : this.#random.pick(this.#steps).name;
    this.#all.push({ do: 'run', clone, step });
  }

  #pause(): void {
    if (this.#random.below(3) === 0) this.#all.push({ do: 'pause' });
  }

  #edited(): void {
    const clone = this.#random.below(4) === 0 ? 1 : 0;
    const ids: number[] = [];
    for (let count = 1 + this.#random.below(2); count > 0; count--) {
      const id = this.#ids++;
      ids.push(id);
      this.#all.push({ do: 'edit', clone, id, edit: someEdit(this.#random, this.#recipe) });
    }
    this.#pause();
    this.#run(clone);
    if (this.#random.below(3) === 0) this.#other(clone);
    if (this.#random.below(2) === 0) this.#run(clone);
    if (this.#random.below(2) === 0) return;
    for (const id of ids.reverse()) this.#all.push({ do: 'undo', clone, id });
    this.#pause();
    this.#run(clone);
  }

  /** The other clone gets the same files, with new times and without outputs. */
  #other(clone: number): void {
    const to = 1 - clone;
    this.#all.push({ do: 'clone', from: clone, to });
    this.#run(to);
  }

  #outputs(): void {
    const clone = this.#random.below(2);
    this.#all.push({ do: 'outputs', clone, how: this.#random.pick(['remove', 'spoil']) });
    this.#run(clone);
  }

  #kill(): void {
    const clone = this.#random.below(2);
    const { step, gates } = this.#gated();
    const kill =
      gates > 0 && this.#random.below(2) === 0
        ? { killAtGate: this.#random.below(gates) }
        : { killAfterMs: 5 + this.#random.below(150) };
    this.#all.push({ do: 'run', clone, step, isNew: true, ...kill });
    this.#all.push({ do: 'run', clone, step });
    this.#run(clone);
  }

  #gated(): { readonly step: string; readonly gates: number } {
    const [{ name, gates } = { name: '', gates: 0 }] = this.#steps;
    return { step: name, gates };
  }

  /** An edit while the command runs, then runs with and without it, here and in the other clone. */
  #during(): void {
    const { step, gates } = this.#gated();
    const clone = this.#random.below(4) === 0 ? 1 : 0;
    const id = this.#ids++;
    const gate = this.#random.below(gates);
    const back = gate + 1 + this.#random.below(gates);
    const isBack = back < gates;
    const edit = someEdit(this.#random, this.#recipe);
    const during = [{ gate, id, edit }, ...(isBack ? [{ gate: back, id }] : [])];
    this.#pause();
    this.#all.push({ do: 'run', clone, step, isNew: true, during });
    this.#all.push({ do: 'run', clone, step });
    if (this.#random.below(2) === 0) this.#other(clone);
    if (isBack) return;
    this.#all.push({ do: 'undo', clone, id });
    this.#all.push({ do: 'run', clone, step });
  }
}
