// What a first configuration could be about: the scripts of each package.json, and the targets of each Makefile.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usage } from '../../core/command.ts';
import { AssayError } from '../../core/errors.ts';
import { ROOT } from '../../core/path.ts';
import type { Package } from '../config/packages.ts';

export interface CandidateStep {
  readonly owner: Package;
  readonly name: string;
  /** A line for the shell, as package.json has it; or the words of a command. */
  readonly command: string | readonly [string, ...string[]];
}

/** Names of work that ends by itself and makes something of what is there. */
const USUAL = [
  'generate',
  'codegen',
  'build',
  'compile',
  'typecheck',
  'lint',
  'test',
  'check',
  'all',
  'docs',
];

/** Those that were asked for; else those whose names say that they end. What others depend on comes first. */
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
      `there are neither scripts in a package.json nor a Makefile in ${root}`,
    );
  const unknown = names.find((name) => !known.some((one) => one.name === name));
  if (unknown !== undefined) throw usage(`there is no script or target ${unknown}; there are ${all}`);
  const wanted = names.length > 0 ? names : USUAL;
  const chosen = withoutOrchestration(known).filter(({ name }) => wanted.includes(name));
  if (chosen.length > 0) return chosen.sort((a, b) => wanted.indexOf(a.name) - wanted.indexOf(b.name));
  throw usage(`which scripts or targets? There are ${all}`);
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
  return [...scripts, ...targets.filter((target) => !scripts.some(({ name }) => name === target.name))];
}

function scriptsOf(owner: Package): CandidateStep[] {
  return [...owner.scripts].flatMap(([name, command]) =>
    /^[\w:.-]+$/.test(name) ? [{ owner, name, command }] : [],
  );
}

/** Rules with a plain name; patterns, variables and special targets are none that a person would ask for. */
function targetsOf(root: string, owner: Package): CandidateStep[] {
  const folder = join(root, owner.folder);
  const text = read(join(folder, 'Makefile')) ?? read(join(folder, 'makefile')) ?? '';
  const names = [...text.matchAll(/^([A-Za-z0-9][\w.-]*)\s*:(?!=)/gm)].map(([, name = '']) => name);
  return [...new Set(names)].map((name) => ({ owner, name, command: ['make', name] }));
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
