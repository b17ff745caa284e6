// Reads one assay.json: fields with types and positions, not yet resolved against packages and defaults.

import { type ConfigValue, type Document, type Located, parseDocument } from '../../core/config/document.ts';
import { whyNotAVariable } from '../action/declared-variables.ts';
import { DEFAULT_FIELDS } from '../action/fields.ts';
import { HERMETIC, type Hermetic, KEEP_UNPROVEN, type KeepUnproven } from '../action/request.ts';
import { CHECKPOINT_FIELDS, FILE_FIELDS, STEP_FIELDS } from './fields.ts';

/** A list is a program with its arguments; a single text is a shell line. */
export type CommandField = readonly Located[] | Located;

export interface CheckpointField {
  readonly folders: readonly Located[];
  readonly every?: Located | undefined;
  readonly keep?: number | undefined;
}

/** What a field of each kind is read as. */
interface Values {
  readonly text: Located;
  readonly texts: readonly Located[];
  readonly variables: readonly Located[];
  readonly flag: boolean;
  readonly hermetic: Hermetic;
  readonly keepUnproven: KeepUnproven;
  readonly command: CommandField;
  readonly checkpoint: CheckpointField;
}

type ValuesOf<Table extends Readonly<Record<string, { readonly kind: keyof Values }>>> = {
  readonly [Name in keyof Table]?: Values[Table[Name]['kind']] | undefined;
};

export type Defaults = ValuesOf<typeof DEFAULT_FIELDS>;
export type StepFields = ValuesOf<typeof STEP_FIELDS>;

export interface ConfigFile {
  readonly name?: Located | undefined;
  readonly dependencies: readonly Located[];
  readonly packages?: readonly Located[] | undefined;
  readonly defaults: Defaults;
  readonly packageSteps: ReadonlyMap<string, WrittenStep>;
  readonly steps: ReadonlyMap<string, WrittenStep>;
}

export interface WrittenStep {
  readonly fields: StepFields;
  readonly key: Located;
}

export function readConfigFile(document: Document): ConfigFile {
  const fields = parseDocument(document).fields(FILE_FIELDS);
  return {
    name: fields.name?.text(),
    dependencies: fields.dependencies?.texts() ?? [],
    packages: fields.packages?.texts(),
    defaults: fields.defaults ? readDefaults(fields.defaults) : {},
    packageSteps: fields.packageSteps ? readSteps(fields.packageSteps) : new Map(),
    steps: fields.steps ? readSteps(fields.steps) : new Map(),
  };
}

function readDefaults(value: ConfigValue): Defaults {
  return defaultsOf(value.fields(DEFAULT_FIELDS));
}

function defaultsOf(fields: Partial<Record<keyof typeof DEFAULT_FIELDS, ConfigValue>>): Defaults {
  return {
    inputs: fields.inputs?.texts(),
    optionalInputs: fields.optionalInputs?.texts(),
    env: fields.env?.texts().map(checkVariable),
    tools: fields.tools?.texts(),
    includeIgnored: fields.includeIgnored?.flag(),
    cacheFailures: fields.cacheFailures?.flag(),
    hermetic: fields.hermetic?.oneOf(HERMETIC),
    observed: fields.observed?.flag(),
    keepUnproven: fields.keepUnproven?.oneOf(KEEP_UNPROVEN),
    acceptMarked: fields.acceptMarked?.flag(),
    sandbox: fields.sandbox?.flag(),
  };
}

function checkVariable(written: Located): Located {
  const why = whyNotAVariable(written.text);
  if (why !== undefined) throw written.refuse(why);
  return written;
}

function readSteps(value: ConfigValue): Map<string, WrittenStep> {
  const steps = new Map<string, WrittenStep>();
  for (const [name, { key, value: step }] of value.entries()) {
    checkStepName(name, key);
    steps.set(name, { fields: readStep(step), key: key.text() });
  }
  return steps;
}

/** Characters with a meaning in step references ("^build", "pkg#build") and globs are refused. */
function checkStepName(name: string, key: ConfigValue): void {
  if (!/^[^\s#^*?!{}[\]()/-][^\s#^*?!{}[\]()]*$/.test(name)) {
    throw key.refuse(`${JSON.stringify(name)} can’t name a step: no spaces, "#", "^" or glob characters`);
  }
}

function readStep(value: ConfigValue): StepFields {
  const fields = value.fields(STEP_FIELDS);
  return {
    ...defaultsOf(fields),
    command: fields.command && readCommand(fields.command),
    outputs: fields.outputs?.texts(),
    dependsOn: fields.dependsOn?.texts(),
    cwd: fields.cwd?.text(),
    cache: fields.cache?.flag(),
    state: fields.state?.texts(),
    checkpoint: fields.checkpoint && readCheckpoint(fields.checkpoint),
  };
}

function readCommand(value: ConfigValue): CommandField {
  const command = value.isList ? value.texts() : value.text('a line in "quotes", or a list of words [ … ],');
  const isEmpty = 'text' in command ? command.text.trim() === '' : !command[0]?.text;
  if (isEmpty) throw value.refuse('the command is empty');
  return command;
}

function readCheckpoint(value: ConfigValue): CheckpointField {
  const { folders, every, keep } = value.fields(CHECKPOINT_FIELDS);
  if (!folders) throw value.refuse('"folders" is missing: name the folders that a checkpoint keeps');
  return { folders: folders.texts(), every: every?.text(), keep: keep?.count() };
}
