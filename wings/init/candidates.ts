// The candidate steps of a first configuration: scripts of package.json, targets of a Makefile, or else the
// usual commands of a project's build tool.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Package } from '../../client/config/packages.ts';
import { usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { ROOT } from '../../core/path.ts';
import { linkedScripts } from './script-chains.ts';
import { usualCommands } from './usual-commands.ts';

export interface CandidateStep {
  readonly owner: Package;
  readonly name: string;
  /** A shell line as in package.json, or the words of a command. */
  readonly command: string | readonly [string, ...string[]];
  /** The command is the script of the same name, so it is not written. */
  readonly isScript: boolean;
  readonly env: readonly string[];
  /** Targets that make builds first, and `needs`. */
  readonly after: readonly string[];
  /** Scripts of the package that it must depend on, whatever it reads. */
  readonly needs: readonly string[];
  /** A script that only runs those that it needs: there is nothing to observe. */
  readonly isChain: boolean;
}

/** Names of steps that end by themselves and produce something. */
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
 * The requested candidates; else those with a usual name. Dependencies come first: a step observed before
 * them would seem to produce their outputs too.
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
      `no package.json with scripts, no Makefile, and no Go, Rust, Gradle or Python project in ${root}`,
    );
  const unknown = names.find((name) => !known.some((one) => one.name === name));
  if (unknown !== undefined) throw usage(`there is no script or target ${unknown}; choose from ${all}`);
  const wanted = names.length > 0 ? names : USUAL;
  const single = withoutOrchestration(known);
  const chosen = withLinked(
    single.filter(({ name }) => wanted.includes(name)),
    single,
  );
  if (chosen.length > 0) return prerequisitesFirst(chosen.sort((a, b) => rank(a) - rank(b)));
  throw usage(`no script or target has a usual name; name some of ${all}`);
}

/** With the scripts that npm runs around them and for them. */
function withLinked(chosen: readonly CandidateStep[], known: readonly CandidateStep[]): CandidateStep[] {
  return [...new Set(chosen.map(({ owner }) => owner))].flatMap((owner) => {
    const own = chosen.filter((step) => step.owner === owner);
    const names = own.filter(({ isScript }) => isScript).map(({ name }) => name);
    const others = own.filter(({ isScript }) => !isScript);
    const all = known.filter((step) => step.owner === owner && step.isScript);
    const scripts = new Map(all.map(({ name }) => [name, owner.scripts.get(name) ?? '']));
    const linked = linkedScripts(scripts, names);
    const found = all.flatMap((step) => {
      const { needs = [], isChain = false } = linked.get(step.name) ?? {};
      return linked.has(step.name) ? [{ ...step, needs, after: needs, isChain }] : [];
    });
    return [...found, ...others];
  });
}

/** Unusual names come last, in the order found. */
function rank({ name }: CandidateStep): number {
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

/** A root script with the name of a package's script most likely runs that one. */
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

/** A script takes precedence over a target of the same name. */
function knownIn(root: string, owner: Package): CandidateStep[] {
  const scripts = scriptsOf(owner);
  const targets = targetsOf(root, owner);
  const known = [
    ...scripts,
    ...targets.filter((target) => !scripts.some(({ name }) => name === target.name)),
  ];
  return known.length > 0 ? known : usualIn(root, owner);
}

const UNLINKED = { after: [], needs: [], isChain: false } as const;

function usualIn(root: string, owner: Package): CandidateStep[] {
  return usualCommands(join(root, owner.folder)).map(({ name, command, env = [] }) => ({
    owner,
    name,
    command,
    isScript: false,
    env,
    ...UNLINKED,
  }));
}

function scriptsOf(owner: Package): CandidateStep[] {
  return [...owner.scripts].flatMap(([name, command]) =>
    /^[\w:.-]+$/.test(name)
      ? [{ owner, name, command, isScript: true, env: unwatched(command), ...UNLINKED }]
      : [],
  );
}

/** Without CI, these wait for changes when their tests have ended. */
const WATCHES = /(?:^|[\s;&|])(?:vitest(?!\s+\w)|react-scripts test)(?![\w.-])(?!.*--run\b)/;

function unwatched(command: string): string[] {
  return WATCHES.test(command) ? ['CI=true'] : [];
}

/** A recipe that only makes a folder: the target is that folder, such as `build: ; mkdir -p build`. */
const MAKES_FOLDER = /^(?:\s*[@-]*mkdir\s[^;&|\n]*(?:\n|$))+$/;

/** Rules with a plain name; not patterns, variables, special targets or folders. */
function targetsOf(root: string, owner: Package): CandidateStep[] {
  const folder = join(root, owner.folder);
  const text = read(join(folder, 'Makefile')) ?? read(join(folder, 'makefile')) ?? '';
  const rules = new Map<string, string[]>();
  for (const [, targets = '', needed = '', recipe = ''] of text.matchAll(
    /^([A-Za-z0-9][\w. -]*?)\s*:(?![:=])([^\n#;]*)([^\n]*\n(?:\t[^\n]*(?:\n|$))*)?/gm,
  )) {
    if (MAKES_FOLDER.test(recipe.replace(/^[^\n;]*[;\n]/, ''))) continue;
    for (const name of targets.split(/\s+/))
      rules.set(name, [...(rules.get(name) ?? []), ...needed.split(/[\s|]+/).filter((one) => one !== '')]);
  }
  return [...rules.keys()].map((name) => ({
    owner,
    name,
    command: ['make', name],
    isScript: false,
    env: [],
    ...UNLINKED,
    after: [...neededBy(name, rules)],
  }));
}

/** All targets that make builds before this one, as far as the text shows. */
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
