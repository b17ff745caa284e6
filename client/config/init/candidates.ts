// What a first configuration could be about: the scripts of each package.json and the targets of each Makefile, or what people
// usually run where there is neither.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usage } from '../../../core/cli/command.ts';
import { AssayError } from '../../../core/errors.ts';
import { ROOT } from '../../../core/path.ts';
import type { Package } from '../packages.ts';
import { usualCommands } from './usual-commands.ts';

export interface CandidateStep {
  readonly owner: Package;
  readonly name: string;
  /** A line for the shell, as package.json has it; or the words of a command. */
  readonly command: string | readonly [string, ...string[]];
  /** The command is that of the script of the same name, so it need not be written. */
  readonly isScript: boolean;
  readonly env: readonly string[];
  /** Targets that make builds before it. */
  readonly after: readonly string[];
}

/** Names of work that ends by itself and makes something of what is there. */
const USUAL = [
  'generate',
  'codegen',
  'build',
  'compile',
  'all',
  'typecheck',
  'lint',
  'test',
  'check',
  'docs',
];

/**
 * Those that were asked for; else those whose names say that they end. What others depend on comes first: a step that is watched
 * before what it needs would be seen to make that, too.
 */
export function candidateSteps(
  root: string,
  packages: readonly Package[],
  names: readonly string[],
): CandidateStep[] {
  const known = dependenciesFirst(packages).flatMap((owner) => knownIn(root, owner));
  const all = [...new Set(known.map(({ name }) => name))].join(', ');
  if (known.length === 0)
    throw new AssayError(
      'ASSAY_USAGE',
      `there are neither scripts in a package.json, a Makefile, nor a project of Go, Rust, Gradle or Python in ${root}`,
    );
  const unknown = names.find((name) => !known.some((one) => one.name === name));
  if (unknown !== undefined) throw usage(`there is no script or target ${unknown}; there are ${all}`);
  const wanted = names.length > 0 ? names : USUAL;
  const chosen = withoutOrchestration(known).filter(({ name }) => wanted.includes(name));
  if (chosen.length > 0) return prerequisitesFirst(chosen.sort((a, b) => place(a) - place(b)));
  throw usage(`which scripts or targets? There are ${all}`);
}

/** Names that are not usual come last, as they were found. */
function place({ name }: CandidateStep): number {
  return USUAL.includes(name) ? USUAL.indexOf(name) : USUAL.length;
}

function prerequisitesFirst(steps: readonly CandidateStep[]): CandidateStep[] {
  const ordered = new Set<CandidateStep>();
  const begun = new Set<CandidateStep>();
  const visit = (step: CandidateStep) => {
    if (begun.has(step)) return;
    begun.add(step);
    for (const other of steps)
      if (other.owner === step.owner && step.after.includes(other.name)) visit(other);
    ordered.add(step);
  };
  for (const step of steps) visit(step);
  return [...ordered];
}

/** A script of the root that packages have too most likely runs theirs. */
function withoutOrchestration(known: readonly CandidateStep[]): CandidateStep[] {
  const inPackages = new Set(known.filter(({ owner }) => owner.folder !== ROOT).map(({ name }) => name));
  return known.filter(({ owner, name }) => owner.folder !== ROOT || !inPackages.has(name));
}

function dependenciesFirst(packages: readonly Package[]): Package[] {
  const byName = new Map(packages.map((one) => [one.name, one]));
  const ordered = new Set<Package>();
  const begun = new Set<Package>();
  const visit = (one: Package) => {
    if (begun.has(one)) return;
    begun.add(one);
    for (const name of one.dependencies) {
      const dependency = byName.get(name);
      if (dependency) visit(dependency);
    }
    ordered.add(one);
  };
  for (const one of packages) visit(one);
  return [...ordered];
}

/** A script goes before a target of the same name. */
function knownIn(root: string, owner: Package): CandidateStep[] {
  const scripts = scriptsOf(owner);
  const targets = targetsOf(root, owner);
  const known = [
    ...scripts,
    ...targets.filter((target) => !scripts.some(({ name }) => name === target.name)),
  ];
  return known.length > 0 ? known : usualIn(root, owner);
}

function usualIn(root: string, owner: Package): CandidateStep[] {
  return usualCommands(join(root, owner.folder)).map(({ name, command, env = [] }) => ({
    owner,
    name,
    command,
    isScript: false,
    env,
    after: [],
  }));
}

function scriptsOf(owner: Package): CandidateStep[] {
  return [...owner.scripts].flatMap(([name, command]) =>
    /^[\w:.-]+$/.test(name) ? [{ owner, name, command, isScript: true, env: [], after: [] }] : [],
  );
}

/** Rules with a plain name; patterns, variables and special targets are none that a person would ask for. */
function targetsOf(root: string, owner: Package): CandidateStep[] {
  const folder = join(root, owner.folder);
  const text = read(join(folder, 'Makefile')) ?? read(join(folder, 'makefile')) ?? '';
  const rules = new Map<string, string[]>();
  for (const [, targets = '', needed = ''] of text.matchAll(
    /^([A-Za-z0-9][\w. -]*?)\s*:(?![:=])([^\n#;]*)/gm,
  ))
    for (const name of targets.split(/\s+/))
      rules.set(name, [...(rules.get(name) ?? []), ...needed.split(/[\s|]+/).filter((one) => one !== '')]);
  return [...rules.keys()].map((name) => ({
    owner,
    name,
    command: ['make', name],
    isScript: false,
    env: [],
    after: [...neededBy(name, rules)],
  }));
}

/** All that make builds before a target, as far as the text tells. */
function neededBy(
  name: string,
  rules: ReadonlyMap<string, readonly string[]>,
  found = new Set<string>(),
): Set<string> {
  for (const one of rules.get(name) ?? []) {
    if (found.has(one)) continue;
    found.add(one);
    neededBy(one, rules, found);
  }
  return found;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
