// A step with all defaults applied and all paths relative to the workspace's root. Plain data.

import type { Located } from '../../core/config/document.ts';
import type { AssayError } from '../../core/errors.ts';
import { isWithin, join, parseRelPath, type RelPath, ROOT } from '../../core/path.ts';
import { CHECKPOINT_DEFAULTS, type CheckpointPlan } from '../action/checkpoint-plan.ts';
import { type ActionOptions, OPTION_DEFAULTS, readOptions } from '../action/fields.ts';
import type { InputPattern } from '../action/request.ts';
import { whyReserved } from '../action/reserved.ts';
import { programsOf } from '../action/shell-line.ts';
import { CONFIG_FILE } from '../action/workspace-roots.ts';
import { isCleaning } from './cleaning-script.ts';
import { pathFrom, patternFrom } from './config-path.ts';
import type { CommandField, Defaults, StepFields } from './file.ts';
import type { Package } from './packages.ts';

export interface Step extends ActionOptions {
  /** "pkg#build", or "build" in the root. */
  readonly id: string;
  readonly name: string;
  /** The package's name ("" for the root) and folder. */
  readonly package: string;
  readonly folder: RelPath;
  readonly command: readonly [string, ...string[]];
  readonly workingDirectory: RelPath;
  /** Declared inputs, without the outputs of dependencies. */
  readonly inputs: readonly InputPattern[];
  readonly outputs: readonly RelPath[];
  /** NAME, a pattern with "*", or NAME=VALUE. */
  readonly env: readonly string[];
  readonly tools: readonly string[];
  /** Programs that a shell line names. Each is a tool if it exists. */
  readonly programs: readonly string[];
  /** What npm does for a script and Assay does not. Shown when the command runs. */
  readonly remarks: readonly string[];
  /** False: the command runs each time. */
  readonly cache: boolean;
  /** Ids of direct dependencies, written or implied. */
  readonly dependsOn: readonly string[];
  /** The inputs that implied dependencies come from. */
  readonly implied: readonly ImpliedInput[];
  readonly state: readonly RelPath[];
  readonly checkpoint?: CheckpointPlan;
  /** Where the step is declared, for `--fix`: the file and the path of names in it. */
  readonly source: { readonly file: RelPath; readonly path: readonly [string, string] };
}

/** The steps of a workspace, by id. */
export type StepTable = ReadonlyMap<string, Step>;

/** An input that is, or lies in, an output of another step. */
export interface ImpliedInput {
  readonly read: RelPath;
  readonly output: RelPath;
  readonly maker: string;
}

interface StepOrigin {
  readonly owner: Package;
  readonly name: string;
  readonly fields: StepFields;
  /** Widest scope first. */
  readonly defaults: readonly Defaults[];
  readonly source: Step['source'];
}

/**
 * Undefined if neither the step nor a script of its name has a command. `dependsOn` stays empty here:
 * dependencies.ts fills it in, because that needs all steps.
 */
export function resolveStep({ owner, name, fields, defaults, source }: StepOrigin): Step | undefined {
  const { folder } = owner;
  const outputs = pathsOf(folder, fields.outputs ?? [], 'an output');
  const command = commandOf(fields.command, owner.scripts.get(name));
  if (!command) return undefined;
  const workingDirectory = fields.cwd ? pathFrom(folder, fields.cwd) : folder;
  const programs = command.line === undefined ? [] : programsOf(command.line);
  const gather = (field: 'inputs' | 'optionalInputs' | 'env' | 'tools') =>
    [...defaults, fields].flatMap((each) => each[field] ?? []);
  const given: readonly Partial<ActionOptions>[] = [fields, ...defaults.toReversed()];
  const options = {
    ...OPTION_DEFAULTS,
    ...readOptions((field) => given.find((each) => each[field] !== undefined)?.[field]),
  };
  const everything = fields.inputs || options.observed ? [] : [everythingIn(folder)];
  return {
    ...options,
    id: qualifiedStepId(owner.name, name),
    name,
    package: owner.name,
    folder,
    command: command.words,
    workingDirectory,
    inputs: [
      ...everything,
      ...gather('inputs').map((one) => ({ pattern: patternFrom(folder, one), optional: false })),
      ...gather('optionalInputs').map((one) => ({ pattern: patternFrom(folder, one), optional: true })),
    ],
    outputs,
    env: gather('env').map(({ text }) => text),
    tools: gather('tools').map((one) => toolFrom(folder, one)),
    programs: programs.map((program) => programFrom(workingDirectory, program)),
    remarks: fields.command ? [] : scriptRemarks(name, owner, fields),
    cache: fields.cache ?? true,
    dependsOn: [],
    implied: [],
    state: pathsOf(folder, fields.state ?? [], 'state', outputs),
    ...(fields.checkpoint && { checkpoint: checkpointOf(folder, fields.checkpoint) }),
    source,
  };
}

/** The inputs of a step that declares none. */
function everythingIn(folder: RelPath): InputPattern {
  return { pattern: folder === ROOT ? '**' : `${folder}/**`, optional: true };
}

/** True if the step declares no inputs. Declaring one replaces the default. */
export function takesEverything({ inputs, folder }: Step): boolean {
  const all = everythingIn(folder);
  return inputs.some(({ pattern, optional }) => optional && pattern === all.pattern);
}

export function qualifiedStepId(packageName: string, name: string): string {
  return packageName === '' ? name : `${packageName}#${name}`;
}

export function configFileOf(folder: RelPath): RelPath {
  return join(folder, parseRelPath(CONFIG_FILE));
}

function commandOf(
  field: CommandField | undefined,
  script: string | undefined,
): { words: [string, ...string[]]; line?: string } | undefined {
  if (field && !('text' in field)) {
    const [program = '', ...rest] = field.map(({ text }) => text);
    return { words: [program, ...rest] };
  }
  const line = field?.text ?? script;
  return line === undefined ? undefined : { words: ['sh', '-c', line], line };
}

/** A script is a shell line: it runs no pre and post scripts, and has no variables of npm. */
function scriptRemarks(name: string, { scripts, file }: Package, { dependsOn = [] }: StepFields): string[] {
  const isBefore = (one: string) => dependsOn.some(({ text }) => text === one);
  const around = [
    ...[`pre${name}`].filter((one) => !isBefore(one)),
    ...[`post${name}`].filter((one) => !file.steps.has(one)),
  ].filter((one) => scripts.has(one) && !isCleaning(scripts.get(one) ?? ''));
  return [
    ...around.map(
      (one) =>
        `the script ${one} of package.json does not run: make it a step, or write all of it in "command"`,
    ),
    ...variableRemarks(name, scripts),
  ];
}

export function variableRemarks(name: string, scripts: Package['scripts']): string[] {
  const [variable] = /\bnpm_(?:package|config|lifecycle)_\w+/.exec(scripts.get(name) ?? '') ?? [];
  if (variable === undefined) return [];
  return [`its script uses ${variable}, which npm sets and Assay does not: declare it in "env" with a value`];
}

/** `taken`: paths that they must not overlap. */
function pathsOf(
  folder: RelPath,
  written: readonly Located[],
  what: string,
  taken: readonly RelPath[] = [],
): RelPath[] {
  const paths: RelPath[] = [];
  for (const one of written) {
    const path = pathFrom(folder, one);
    if (/[*?]/.test(path)) throw one.refuse(`${what} is a file or a folder, not a glob: name the folder`);
    if (path === ROOT) throw one.refuse(`${what} can’t be the whole workspace`);
    const reserved = whyReserved(path);
    if (reserved !== undefined) throw one.refuse(reserved);
    const other = [...taken, ...paths].find((known) => isWithin(path, known) || isWithin(known, path));
    if (other !== undefined) throw one.refuse(`${path} and ${other} overlap: one lies inside the other`);
    paths.push(path);
  }
  return paths;
}

/** A bare name is searched on PATH; a path is relative to the package. */
function toolFrom(folder: RelPath, tool: Located): string {
  return tool.text.includes('/') && !/^\/[^/]/.test(tool.text) ? `./${pathFrom(folder, tool)}` : tool.text;
}

function programFrom(workingDirectory: RelPath, program: string): string {
  if (!program.includes('/') || program.startsWith('/')) return program;
  return workingDirectory === ROOT ? program : `${workingDirectory}/${program}`;
}

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

function checkpointOf(
  folder: RelPath,
  { folders, every, keep = CHECKPOINT_DEFAULTS.keep }: NonNullable<StepFields['checkpoint']>,
): CheckpointPlan {
  const [, count = '', unit = ''] = /^(\d{1,6})([smh])$/.exec(every?.text ?? '') ?? [];
  if (every && unit === '') throw every.refuse('a time such as "30s", "10m" or "1h" is expected here');
  return {
    folders: folders.map((one) => pathFrom(folder, one)),
    everyMs: every ? Math.max(1, Number(count)) * (UNITS[unit] ?? 1) : CHECKPOINT_DEFAULTS.everyMs,
    keep,
  };
}

export function unresolvable(id: string, key: Located): AssayError {
  return key.refuse(`${id} has no command, and its package.json has no script of that name`);
}
