// A clone of the project in a folder of its own, and `assay run` in it as a person starts it.
// Its folder has one more folder around the workspace, because commands also look above the workspace.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Editor, statOf, type Undo } from './edits.ts';
import { type Ended, type GatedOptions, runGated } from './gates.ts';
import type { Plan, Step } from './plan.ts';
import { type Tree, treeOf, withoutEmpty } from './tree.ts';

const PROJECT = join(import.meta.dirname, '..', '..');

/** Another build, for example of an earlier commit: the oracle must find its faults. */
export const EXECUTABLE = process.env.ASSAY_ORACLE_EXECUTABLE ?? join(PROJECT, 'dist', 'assay');

/** The server of the same build. */
export const SERVER = [process.execPath, join(dirname(EXECUTABLE), 'node', 'assay.cjs')];

const MODULES = join(PROJECT, 'node_modules');
const BASE_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The tools of the project come first, and then the folders that Assay gives every command. esbuild is the program
 * itself, as its installation script puts it into place: the script that starts it prints process ids.
 */
export const SEARCH_PATH = [
  join(MODULES, '@esbuild', `linux-${process.arch}`, 'bin'),
  join(MODULES, '.bin'),
  BASE_PATH,
].join(':');

/** The name of the workspace in the folder around it. */
const WORKSPACE = 'project';

export interface Place {
  readonly home: string;
  readonly store: string;
  readonly remote: string;
  readonly aside: string;
}

export class Clone {
  readonly home: string;
  readonly workspace: string;
  readonly store: string;
  readonly editor: Editor;
  /** Of the edits that are in force, by their number. */
  readonly undos = new Map<number, Undo>();
  readonly #plan: Plan;
  readonly #place: Place;

  constructor(plan: Plan, place: Place) {
    this.#plan = plan;
    this.#place = place;
    this.home = place.home;
    this.workspace = join(place.home, WORKSPACE);
    this.store = place.store;
    mkdirSync(place.aside, { recursive: true });
    this.editor = new Editor(this.workspace, place.aside);
  }

  /** The first version of every file. */
  checkOut(): void {
    const { recipe, isGraph, hasGit, steps } = this.#plan;
    for (const [path, [text]] of Object.entries(recipe.files)) this.#write(path, text);
    for (const [path, target] of Object.entries(recipe.links ?? {}))
      symlinkSync(target, join(this.workspace, path));
    if (recipe.ignored) this.#write('.gitignore', recipe.ignored);
    if (isGraph)
      this.#write(
        'assay.json',
        JSON.stringify({ steps: Object.fromEntries(steps.map(configuration)) }, undefined, 1),
      );
    if (hasGit) this.#commit();
  }

  #write(path: string, text: string): void {
    const file = join(this.workspace, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    chmodSync(file, 0o644);
  }

  #commit(): void {
    const git = (...args: string[]) => execFileSync('git', args, { cwd: this.workspace, stdio: 'ignore' });
    git('init', '-q', '--template=');
    git('add', '-A');
    git('-c', 'user.name=oracle', '-c', 'user.email=oracle@localhost', 'commit', '-q', '-m', 'first');
  }

  /** The files of another clone, with new times and without outputs. */
  copyOf(other: Clone): void {
    this.undos.clear();
    rmSync(this.home, { recursive: true, force: true });
    other.copyTo(this.home, { steps: this.#plan.steps, keepsTimes: false });
  }

  /** All files but Assay's own and the outputs of these steps. */
  copyTo(home: string, { steps, keepsTimes = true }: { steps: readonly Step[]; keepsTimes?: boolean }): void {
    cpSync(this.home, home, { recursive: true, preserveTimestamps: keepsTimes, verbatimSymlinks: true });
    const workspace = join(home, WORKSPACE);
    for (const folder of [home, workspace]) rmSync(join(folder, '.assay'), { recursive: true, force: true });
    for (const path of outputsOf(steps)) {
      rmSync(join(workspace, path), { recursive: true, force: true });
      for (const parent of parentsOf(path)) removeIfEmpty(join(workspace, parent));
    }
  }

  /** The same files as a tree; `home` is this clone's, or that of a copy. */
  tree(without: readonly Step[], home = this.home): Tree {
    const outputs = outputsOf(without);
    const own = [...outputs, '.assay', '.git'].map((path) => join(WORKSPACE, path));
    const skipped = new Set([...own, '.assay']);
    const tree = treeOf(home, (path) => skipped.has(path), join(home, WORKSPACE));
    return withoutEmpty(
      tree,
      outputs.flatMap(parentsOf).map((path) => join(WORKSPACE, path)),
    );
  }

  /** The files in the folder around the workspace. */
  above(): Tree {
    return treeOf(this.home, (path) => path === WORKSPACE || path === '.assay', this.workspace);
  }

  /** `assay run`, of one step of the plan. */
  run(
    step: Step,
    nonce: string,
    gated: Pick<GatedOptions, 'atGate' | 'killAtGate' | 'killAfterMs'> = {},
  ): Promise<Ended> {
    const { isGraph, jobs } = this.#plan;
    const args = isGraph ? ['--jobs', String(jobs), step.name] : [...flagsOf(step), '--', ...step.argv];
    return runGated([EXECUTABLE, 'run', '--json', ...args], {
      ...gated,
      cwd: this.workspace,
      env: this.environment(nonce),
      mark: `ORACLE_CASE=${nonce}`,
    });
  }

  environment(nonce: string): Record<string, string> {
    return {
      PATH: SEARCH_PATH,
      HOME: dirname(this.#place.aside),
      LC_ALL: 'C.UTF-8',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_CONFIG_NOSYSTEM: '1',
      ASSAY_STORE: this.store,
      ASSAY_REMOTE: this.#place.remote,
      ASSAY_REPORT: '0',
      ORACLE_CASE: nonce,
    };
  }

  /** Outputs that somebody removed or changed. */
  harmOutputs(how: 'remove' | 'spoil'): string {
    const outputs = outputsOf(this.#plan.steps);
    for (const path of outputs) {
      const file = join(this.workspace, path);
      const stats = statOf(file);
      if (!stats) continue;
      if (how === 'remove') rmSync(file, { recursive: true, force: true });
      else if (!stats.isSymbolicLink())
        writeFileSync(stats.isDirectory() ? join(file, 'stray') : file, 'spoilt\n');
    }
    return `${how} ${outputs.join(' ')}`;
  }

  workspaceIn(home: string): string {
    return join(home, WORKSPACE);
  }
}

const outputsOf = (steps: readonly Step[]) => steps.flatMap(({ outputs }) => outputs);

/** The folders above an output, the nearest first. */
function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === '.' ? [] : [parent, ...parentsOf(parent)];
}

function removeIfEmpty(folder: string): void {
  if (lstatSync(folder, { throwIfNoEntry: false })?.isDirectory() && readdirSync(folder).length === 0)
    rmdirSync(folder);
}

/** A step as flags of `assay run`. */
export function flagsOf(step: Step): string[] {
  return [
    ...step.inputs.flatMap((one) => ['--input', one]),
    ...step.outputs.flatMap((one) => ['--output', one]),
    ...step.tools.flatMap((one) => ['--tool', one]),
    ...['--env', 'ORACLE_CASE'],
    ...(step.isStrict ? ['--hermetic=strict'] : []),
    ...(step.isObserved ? ['--inputs=observed'] : []),
    ...(step.includesIgnored ? ['--include-ignored'] : []),
  ];
}

/** A step as assay.json has it. */
function configuration(step: Step): [string, object] {
  const { name, argv, inputs, outputs, tools } = step;
  return [
    name,
    {
      command: argv,
      ...(inputs.length > 0 ? { inputs } : {}),
      outputs,
      tools,
      env: ['ORACLE_CASE'],
      ...(step.isStrict ? { hermetic: 'strict' } : {}),
      ...(step.isObserved ? { observed: true } : {}),
      ...(step.includesIgnored ? { includeIgnored: true } : {}),
    },
  ];
}
