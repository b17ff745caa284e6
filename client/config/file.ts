// Reads one assay.json: fields with types and positions, not yet resolved against packages and defaults.
// Guaranteed: everything that is wrong with its fields is in one error.

import { type ConfigValue, type Document, type Located, parseDocument } from '../../core/config/document.ts';
import { Problems } from '../../core/config/problems.ts';
import { whyNotAVariable } from '../action/declared-variables.ts';
import {
  type ActionOptions,
  DEFAULT_FIELDS,
  OPTIONS,
  type Option,
  type OptionName,
  readOptions,
} from '../action/fields.ts';
import { CHECKPOINT_FIELDS, FILE_FIELDS, STEP_FIELDS } from './fields.ts';

/** A list is a program with its arguments; a single text is a shell line. */
export type CommandField = readonly Located[] | Located;

interface CheckpointField {
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
  readonly command: CommandField;
  readonly checkpoint: CheckpointField;
}

type ValuesOf<Table extends Readonly<Record<string, { readonly kind: keyof Values }>>> = {
  readonly [Name in keyof Table]?: Values[Table[Name]['kind']] | undefined;
};

export type Defaults = ValuesOf<Omit<typeof DEFAULT_FIELDS, OptionName>> & Partial<ActionOptions>;
export type StepFields = ValuesOf<Omit<typeof STEP_FIELDS, OptionName>> & Partial<ActionOptions>;

export interface ConfigFile {
  readonly name?: Located | undefined;
  readonly dependencies: readonly Located[];
  readonly packages?: readonly Located[] | undefined;
  readonly defaults: Defaults;
  readonly packageSteps: ReadonlyMap<string, StepInFile>;
  readonly steps: ReadonlyMap<string, StepInFile>;
}

export interface StepInFile {
  readonly fields: StepFields;
  readonly key: Located;
}

export function readConfigFile(document: Document): ConfigFile {
  const problems = new Problems();
  const fields = parseDocument(document).fields(FILE_FIELDS, problems);
  const steps = (value: ConfigValue | undefined) =>
    problems.read(value, (given) => readSteps(given, problems)) ?? new Map<string, StepInFile>();
  const file: ConfigFile = {
    name: problems.read(fields.name, text),
    dependencies: problems.read(fields.dependencies, texts) ?? [],
    packages: problems.read(fields.packages, texts),
    defaults: problems.read(fields.defaults, (value) => readDefaults(value, problems)) ?? {},
    packageSteps: steps(fields.packageSteps),
    steps: steps(fields.steps),
  };
  problems.throwIfAny();
  return file;
}

const text = (value: ConfigValue) => value.text();
const texts = (value: ConfigValue) => value.texts();
const flag = (value: ConfigValue) => value.flag();

function readDefaults(value: ConfigValue, problems: Problems): Defaults {
  return defaultsOf(value.fields(DEFAULT_FIELDS, problems), problems);
}

function defaultsOf(
  fields: Partial<Record<keyof typeof DEFAULT_FIELDS, ConfigValue>>,
  problems: Problems,
): Defaults {
  const written = (name: OptionName) => fields[name];
  return {
    inputs: problems.read(fields.inputs, texts),
    optionalInputs: problems.read(fields.optionalInputs, texts),
    env: problems.read(fields.env, (value) => value.texts().map(checkVariable)),
    tools: problems.read(fields.tools, texts),
    ...readOptions((name) => problems.read(written(name), (value) => readOption(value, OPTIONS[name]))),
  };
}

function readOption<Value>(value: ConfigValue, { kind, values }: Option<Value>): Value | undefined {
  const words = values.filter((one) => typeof one === 'string');
  const isFlag = kind === 'flag' || (kind === 'flag-or-word' && value.isFlag);
  const given = isFlag ? value.flag() : value.oneOf(words);
  return values.find((one) => one === given);
}

function checkVariable(written: Located): Located {
  const why = whyNotAVariable(written.text);
  if (why !== undefined) throw written.refuse(why);
  return written;
}

function readSteps(value: ConfigValue, problems: Problems): Map<string, StepInFile> {
  const steps = new Map<string, StepInFile>();
  for (const [name, { key, value: step }] of value.entries()) {
    problems.read(key, () => checkStepName(name, key));
    const fields = problems.read(step, (written) => readStep(written, problems));
    if (fields) steps.set(name, { fields, key: key.text() });
  }
  return steps;
}

/** Characters with a meaning in step references ("^build", "pkg#build") and globs are refused. */
function checkStepName(name: string, key: ConfigValue): void {
  if (!/^[^\s#^*?!{}[\]()/-][^\s#^*?!{}[\]()]*$/.test(name)) {
    throw key.refuse(`${JSON.stringify(name)} can’t name a step: no spaces, "#", "^" or glob characters`);
  }
}

function readStep(value: ConfigValue, problems: Problems): StepFields {
  const fields = value.fields(STEP_FIELDS, problems);
  return {
    ...defaultsOf(fields, problems),
    command: problems.read(fields.command, readCommand),
    outputs: problems.read(fields.outputs, texts),
    dependsOn: problems.read(fields.dependsOn, texts),
    cwd: problems.read(fields.cwd, text),
    cache: problems.read(fields.cache, flag),
    state: problems.read(fields.state, texts),
    checkpoint: problems.read(fields.checkpoint, readCheckpoint),
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
