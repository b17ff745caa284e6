// The text of first configuration files: what was observed, with a remark wherever it is not sure. What holds for every package,
// also for one that is added later, stands once in the root's file.
import { parseRelPath, type RelPath, ROOT } from '../../../core/path.ts';
import { mayBeFolder } from '../../inputs/pattern-reach.ts';
import { asWrittenBy } from '../edit.ts';
import type { Package } from '../packages.ts';
import { configFileOf } from '../step.ts';
import type { ObservedStep } from './observed-step.ts';

export interface DraftStep {
  readonly owner: Package;
  readonly name: string;
  /** Absent where the script of the same name says it. */
  readonly command?: string | readonly string[];
  readonly env: readonly string[];
  readonly observed: ObservedStep;
  /** Nothing is declared, so it runs each time: what was seen would be refused, or nothing was seen. */
  readonly isPlain?: boolean;
}

/** Where editors find the fields, if Assay is installed in the project. */
export const SCHEMA = 'node_modules/assay/schema/assay.schema.json';

type Fields = Record<string, unknown>;

/** By their paths, all files that are to be written. `all`: in the order in which they were watched. */
export function draftTexts(all: readonly DraftStep[], hasSchema: boolean): Map<RelPath, string> {
  const shared = sharedSteps(all.filter(({ owner }) => owner.folder !== ROOT));
  const texts = new Map<RelPath, string>();
  for (const folder of new Set([ROOT, ...all.map(({ owner }) => owner.folder)])) {
    const steps = all
      .filter(({ owner }) => owner.folder === folder)
      .flatMap((step) => stepText(step, ownFields(step, all, shared)));
    const parts = [
      ...(hasSchema ? [`  "$schema": ${JSON.stringify(`${wayUp(folder)}${SCHEMA}`)}`] : []),
      ...(folder === ROOT && shared.size > 0 ? [`  "packageSteps": ${sharedText(shared)}`] : []),
      ...(steps.length > 0 || folder === ROOT ? [`  "steps": ${block(steps)}`] : []),
    ];
    if (steps.length > 0 || folder === ROOT) texts.set(configFileOf(folder), `{\n${parts.join(',\n')}\n}\n`);
  }
  return texts;
}

function wayUp(folder: RelPath): string {
  return folder === ROOT ? './' : '../'.repeat(folder.split('/').length);
}

function block(steps: readonly string[]): string {
  return steps.length === 0 ? '{}' : `{\n${steps.join(',\n')}\n  }`;
}

function sharedText(shared: ReadonlyMap<string, Fields>): string {
  return block([...shared].map(([name, fields]) => fieldsText(name, fields)));
}

function fieldsText(name: string, fields: Fields): string {
  const lines = Object.entries(fields).map(
    ([field, value]) => `      ${JSON.stringify(field)}: ${JSON.stringify(value)}`,
  );
  return `    ${JSON.stringify(name)}: ${lines.length === 0 ? '{}' : `{\n${lines.join(',\n')}\n    }`}`;
}

/** None where all of it stands in the root's file and nothing is to be said. */
function stepText({ name, observed }: DraftStep, fields: Fields): string[] {
  const remarks = observed.unsure.map((remark) => `    // Not sure: ${remark.replaceAll('\n', ' ')}\n`);
  if (remarks.length === 0 && Object.keys(fields).length === 0) return [];
  return [`${remarks.join('')}${fieldsText(name, fields)}`];
}

function ownFields(step: DraftStep, all: readonly DraftStep[], shared: ReadonlyMap<string, Fields>): Fields {
  const { name, command, env, owner, observed, isPlain } = step;
  const common = owner.folder === ROOT ? {} : (shared.get(name) ?? {});
  const written = (paths: readonly string[]) => paths.map((path) => asWrittenBy(owner, path));
  const outputs = isPlain ? [] : written(observed.outputs);
  const dependsOn = missingFrom(listOf(common.dependsOn), isPlain ? [] : referencesOf(step, all));
  return {
    ...(command && { command }),
    inputs: isPlain ? [] : inputsOf(step, all),
    ...(!sameList(outputs, listOf(common.outputs)) && { outputs }),
    ...(observed.tools.length > 0 && !isPlain && { tools: observed.tools }),
    ...(env.length > 0 && { env }),
    ...(dependsOn.length > 0 && { dependsOn: [...listOf(common.dependsOn), ...dependsOn] }),
    ...(observed.readsPackages && !isPlain && { observed: true }),
    ...(isPlain ? { cache: false } : common.cache === false ? { cache: true } : {}),
  };
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one, at) => one === b[at]);
}

function missingFrom(known: readonly string[], wanted: readonly string[]): string[] {
  return wanted.filter((one) => !known.includes(one) && !(one === '^build' && known.includes('build')));
}

/** Without what the steps before it make, which comes by itself, and without what lies in the same folder and others make. */
function inputsOf(step: DraftStep, all: readonly DraftStep[]): string[] {
  const { observed, owner } = step;
  const before = allBefore(step, all);
  const made = [...before].flatMap((other) => other.observed.outputs);
  const inputs = observed.inputs.filter((input) => !isAmong(input.replace(/\/\*\*$/, ''), made));
  const foreign = all.flatMap((other) =>
    other === step || other.isPlain || before.has(other) ? [] : other.observed.outputs,
  );
  const covered = foreign.filter((output) =>
    inputs.some((input) => input.endsWith('/**') && output.startsWith(input.slice(0, -2))),
  );
  return [
    ...inputs.map((path) => asWrittenBy(owner, path)),
    ...[...new Set(covered)].map((path) => `!${asWrittenBy(owner, path)}${ending(path)}`),
  ];
}

function ending(path: string): string {
  return mayBeFolder(parseRelPath(path)) ? '/**' : '';
}

function isAmong(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

function allBefore(step: DraftStep, all: readonly DraftStep[], found = new Set<DraftStep>()): Set<DraftStep> {
  for (const other of directlyBefore(step, all)) {
    if (found.has(other)) continue;
    found.add(other);
    allBefore(other, all, found);
  }
  return found;
}

/** Those that were watched earlier and made what this one read: what is made later was left by an earlier run. */
function directlyBefore(step: DraftStep, all: readonly DraftStep[]): DraftStep[] {
  if (step.isPlain) return [];
  return all
    .slice(0, all.indexOf(step))
    .filter((other) => !other.isPlain && feeds(other.observed, step.observed));
}

/** One that reads what the other makes comes after it. */
function feeds(maker: ObservedStep, reader: ObservedStep): boolean {
  return reader.reads.some((path) => isAmong(path, maker.outputs));
}

function referencesOf(step: DraftStep, all: readonly DraftStep[]): string[] {
  return [...new Set(directlyBefore(step, all).map((other) => seenFrom(step.owner, other)))];
}

/** A step as a package names it among those that come before. */
function seenFrom({ folder, dependencies }: Package, { owner, name }: DraftStep): string {
  if (owner.folder === folder) return name;
  if (dependencies.includes(owner.name)) return `^${name}`;
  return `${owner.folder === ROOT ? '//' : owner.name}#${name}`;
}

/** What uses other packages as they are built, whether one of them was seen to or not. */
const USES_BUILDS: ReadonlySet<string> = new Set(['build', 'compile', 'typecheck', 'test', 'check']);

/**
 * What holds for all packages: the order, so that a package's first dependency is built before it on the day it is added; and the
 * outputs, if all have the same. Where they have not, a package that says nothing runs its step each time.
 */
function sharedSteps(all: readonly DraftStep[]): Map<string, Fields> {
  const byName = Map.groupBy(all, ({ name }) => name);
  const shared = new Map<string, Fields>();
  for (const [name, steps] of byName) {
    const seen = steps.flatMap((step) => referencesOf(step, all)).filter((one) => !one.includes('#'));
    const usesBuilds = USES_BUILDS.has(name) && byName.has('build');
    const wanted = new Set([...seen, ...(usesBuilds ? ['^build'] : [])]);
    if (wanted.has('build')) wanted.delete('^build');
    const [first = [], ...others] = steps.map(({ owner, observed, isPlain }) =>
      isPlain ? [] : observed.outputs.map((path) => asWrittenBy(owner, path)),
    );
    const isAgreed = others.every((outputs) => sameList(outputs, first));
    const fields = {
      ...(wanted.size > 0 && { dependsOn: [...wanted] }),
      ...(isAgreed && first.length > 0 && { outputs: first }),
      ...(!isAgreed && { cache: false }),
    };
    if (Object.keys(fields).length > 0) shared.set(name, fields);
  }
  return shared;
}
