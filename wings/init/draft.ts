// Writes the text of the first assay.json files: what was observed, with remarks where it is uncertain.
// What holds for every package is written once, in the root's file.
import { findNodeAtLocation, getNodeValue, parseTree } from 'jsonc-parser';
import { toConfigPath } from '../../client/config/edit.ts';
import type { Package } from '../../client/config/packages.ts';
import { configFileOf } from '../../client/config/step.ts';
import { mayBeFolder } from '../../client/inputs/pattern-reach.ts';
import { parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import { mergedText } from './merged-text.ts';
import type { ObservedStep } from './observed-step.ts';

export interface DraftStep {
  readonly owner: Package;
  readonly name: string;
  /** Absent if the script of the same name is the command. */
  readonly command?: string | readonly string[];
  readonly env: readonly string[];
  /** Steps of the package that it depends on, whatever it reads. */
  readonly needs: readonly string[];
  readonly observed: ObservedStep;
  /**
   * Nothing is declared, so the step runs each time: a run would refuse what was seen.
   */
  readonly isPlain?: boolean;
}

/** Where editors find the schema, if Assay is installed in the project. */
export const SCHEMA = 'node_modules/assay/schema/assay.schema.json';

type Fields = Record<string, unknown>;

/** The texts of the files that exist, by path. */
type ExistingTexts = ReadonlyMap<RelPath, string>;

export interface DraftSurroundings {
  readonly hasSchema: boolean;
  readonly existing: ExistingTexts;
  /** Names of steps that were left out in a package: a declaration for all packages would bring them back. */
  readonly leftOut: ReadonlySet<string>;
}

/**
 * All files to write, by path. `all`: in the order of observation. What holds for all packages stays as the
 * root's file has it, if that exists.
 */
export function draftTexts(
  all: readonly DraftStep[],
  { hasSchema, existing, leftOut }: DraftSurroundings,
): Map<RelPath, string> {
  const rootText = existing.get(configFileOf(ROOT));
  const ofAll = all.filter(({ owner, name }) => owner.folder !== ROOT && !leftOut.has(name));
  const shared = rootText === undefined ? sharedSteps(ofAll, all) : sharedIn(rootText);
  const texts = new Map<RelPath, string>();
  for (const folder of new Set([ROOT, ...all.map(({ owner }) => owner.folder)])) {
    const own = all.filter(({ owner }) => owner.folder === folder);
    const text = existing.get(configFileOf(folder));
    if (text !== undefined) {
      if (own.length > 0)
        texts.set(
          configFileOf(folder),
          mergedText(
            text,
            own.map((step) => ({
              name: step.name,
              fields: ownFields(step, all, shared),
              remarks: step.observed.unsure,
            })),
          ),
        );
      continue;
    }
    const steps = own.flatMap((step) => stepText(step, ownFields(step, all, shared)));
    const parts = [
      ...(hasSchema ? [`  "$schema": ${JSON.stringify(`${wayUp(folder)}${SCHEMA}`)}`] : []),
      ...(folder === ROOT && shared.size > 0 ? [`  "packageSteps": ${sharedText(shared)}`] : []),
      ...(steps.length > 0 || folder === ROOT ? [`  "steps": ${block(steps)}`] : []),
    ];
    if (steps.length > 0 || folder === ROOT) texts.set(configFileOf(folder), `{\n${parts.join(',\n')}\n}\n`);
  }
  return texts;
}

/** The `packageSteps` of the root's file. */
function sharedIn(text: string): Map<string, Fields> {
  const node = findNodeAtLocation(parseTree(text) ?? NO_NODE, ['packageSteps']);
  const value: unknown = node ? getNodeValue(node) : {};
  return new Map(
    isFields(value)
      ? Object.entries(value).flatMap(([name, one]) => (isFields(one) ? [[name, one]] : []))
      : [],
  );
}

const NO_NODE = { type: 'object', offset: 0, length: 0 } as const;

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
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

/** Empty if the root's file has all of it and there are no remarks. */
function stepText({ name, observed }: DraftStep, fields: Fields): string[] {
  const remarks = observed.unsure.map((remark) => `    // Not sure: ${remark.replaceAll('\n', ' ')}\n`);
  if (remarks.length === 0 && Object.keys(fields).length === 0) return [];
  return [`${remarks.join('')}${fieldsText(name, fields)}`];
}

function ownFields(step: DraftStep, all: readonly DraftStep[], shared: ReadonlyMap<string, Fields>): Fields {
  const { name, command, env, owner, observed, isPlain } = step;
  const common = owner.folder === ROOT ? {} : (shared.get(name) ?? {});
  const written = (paths: readonly string[]) => paths.map((path) => toConfigPath(owner, path));
  const outputs = isPlain ? [] : written(observed.outputs);
  const dependsOn = missingFrom(listOf(common.dependsOn), referencesOf(step, all));
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

/**
 * Without outputs of dependencies, which are implied, and without outputs of other steps in the same folder.
 */
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
    ...inputs.map((path) => toConfigPath(owner, path)),
    ...[...new Set(covered)].map((path) => `!${toConfigPath(owner, path)}${ending(path)}`),
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

/**
 * Steps that were observed earlier and write what this one reads, or that it needs. Later outputs stem from an
 * earlier run.
 */
function directlyBefore(step: DraftStep, all: readonly DraftStep[]): DraftStep[] {
  return all.slice(0, all.indexOf(step)).filter((other) => {
    const isRead = !other.isPlain && !step.isPlain && feeds(other.observed, step.observed);
    return isRead || (other.owner === step.owner && step.needs.includes(other.name));
  });
}

/** A reader comes after the writer. */
function feeds(maker: ObservedStep, reader: ObservedStep): boolean {
  return reader.reads.some((path) => isAmong(path, maker.outputs));
}

function referencesOf(step: DraftStep, all: readonly DraftStep[]): string[] {
  const before = directlyBefore(step, all).map((other) => seenFrom(step.owner, other));
  return [...new Set([...step.needs, ...before])];
}

/** How a package names a step in `dependsOn`. */
function seenFrom({ folder, dependencies }: Package, { owner, name }: DraftStep): string {
  if (owner.folder === folder) return name;
  if (dependencies.includes(owner.name)) return `^${name}`;
  return `${owner.folder === ROOT ? '//' : owner.name}#${name}`;
}

/** Step names that usually need built dependencies, observed or not. */
const USES_BUILDS: ReadonlySet<string> = new Set(['build', 'compile', 'typecheck', 'test', 'check']);

/**
 * What holds for all packages: the order, so that a new package's dependencies are built first; and the
 * outputs, if all packages have the same. Otherwise a package that declares nothing runs its step each time.
 */
function sharedSteps(ofAll: readonly DraftStep[], all: readonly DraftStep[]): Map<string, Fields> {
  const byName = Map.groupBy(ofAll, ({ name }) => name);
  const shared = new Map<string, Fields>();
  for (const [name, steps] of byName) {
    const seen = steps.flatMap((step) => referencesOf(step, all)).filter((one) => !one.includes('#'));
    const usesBuilds = USES_BUILDS.has(name) && byName.has('build');
    const wanted = new Set([...seen, ...(usesBuilds ? ['^build'] : [])]);
    if (wanted.has('build')) wanted.delete('^build');
    const [first = [], ...others] = steps.map(({ owner, observed, isPlain }) =>
      isPlain ? [] : observed.outputs.map((path) => toConfigPath(owner, path)),
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
