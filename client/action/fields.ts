// The fields of an action in one table: assay.json and its schema, the flags, and the library's checks come
// from it. Each field has one description. A field of ActionDeclaration that is missing here does not
// compile. The options of an action also have their values, words and defaults here.
import type { ActionDeclaration } from './declaration.ts';

/** What to do about accesses beyond the declaration: not watch, report them, or refuse the result. */
const HERMETIC = ['off', 'warn', 'strict'] as const;
type Hermetic = (typeof HERMETIC)[number];

/** Whether to keep results that are unproven (core/evidence.ts): not at all, here, or at the remote too. */
const KEEP_UNPROVEN = ['no', 'local', 'shared'] as const;
type KeepUnproven = (typeof KEEP_UNPROVEN)[number];

export interface ActionOptions {
  /** Files that .gitignore hides are inputs, too. */
  readonly includeIgnored: boolean;
  /** Publish a result with an exit code other than 0. `local`: keep a watched one here, for a day. */
  readonly cacheFailures: boolean | 'local';
  readonly hermetic: Hermetic;
  /** Reads observed in earlier runs count as declared. */
  readonly observed: boolean;
  /** Run in a sandbox that hides everything undeclared. */
  readonly sandbox: boolean;
  readonly keepUnproven: KeepUnproven;
}

export const OPTION_DEFAULTS: ActionOptions = {
  includeIgnored: false,
  cacheFailures: false,
  hermetic: 'warn',
  observed: false,
  sandbox: false,
  keepUnproven: 'no',
};

export interface Option<Value> {
  readonly kind: 'flag' | 'word' | 'flag-or-word';
  readonly values: readonly Value[];
  readonly flag: string;
  /** What may stand after the flag, and what it means. "": nothing stands there. */
  readonly words: Readonly<Record<string, Value>>;
  /** A phrase without a final full stop: the help shows it as it is, the schema as a sentence. */
  readonly text: string;
}

function onOff(
  flag: string,
  text: string,
  words: Readonly<Record<string, boolean>> = { '': true },
): Option<boolean> {
  return { kind: 'flag', values: [false, true], flag, words, text };
}

function oneOf<Word extends string>(flag: string, values: readonly Word[], text: string): Option<Word> {
  const words = Object.fromEntries(values.map((word) => [word, word]));
  return { kind: 'word', values, flag, words, text };
}

export type OptionName = keyof ActionOptions;

export const OPTIONS: { readonly [Name in OptionName]: Option<ActionOptions[Name]> } = {
  includeIgnored: onOff('include-ignored', 'files that .gitignore hides are inputs too, if a glob matches'),
  cacheFailures: {
    kind: 'flag-or-word',
    values: [false, true, 'local'],
    flag: 'cache-failures',
    words: { '': true, local: 'local' },
    text: 'store and replay results with an exit code other than 0. local: on this machine only, for a day, and only if the command was watched; --force runs it',
  },
  hermetic: oneOf(
    'hermetic',
    HERMETIC,
    'what to do if the command accesses more than it declares: off: do not watch it, and keep its result on this machine for such runs only; warn (default): report it; strict: fail and store nothing',
  ),
  sandbox: onOff(
    'sandbox',
    'run the command where it sees only its declared inputs at /workspace, installed software, an empty home and /tmp, and no network (needs bubblewrap)',
  ),
  keepUnproven: oneOf(
    'keep-unproven',
    KEEP_UNPROVEN,
    'whether to keep a result that nothing can prove, because its command used the network, a daemon, or was not wholly seen or not at all: no (default), local: on this machine, shared: at the remote too, and accept such results from it',
  ),
  observed: onOff('inputs', 'files that earlier runs were seen to read count as declared', {
    declared: false,
    observed: true,
  }),
};

export const OPTION_NAMES = Object.keys(OPTIONS).filter((name): name is OptionName =>
  Object.hasOwn(OPTIONS, name),
);

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The options for which `read` has a value. */
export function readOptions(
  read: <Name extends OptionName>(name: Name) => ActionOptions[Name] | undefined,
): Partial<ActionOptions> {
  const options: Writable<Partial<ActionOptions>> = {};
  const keep = <Name extends OptionName>(name: Name) => {
    const value = read(name);
    if (value !== undefined) options[name] = value;
  };
  OPTION_NAMES.forEach(keep);
  return options;
}

export type ActionFieldKind = 'text' | 'texts' | 'variables' | 'flag' | 'word' | 'flag-or-word' | 'object';

export interface ActionField {
  readonly kind: ActionFieldKind;
  /** Absent if the command line spells the field in another way (commands/action-flags.ts). */
  readonly flag?: string;
  /** What stands for the flag's value in the help. */
  readonly value?: string;
  /** What may stand after the flag; "": nothing. */
  readonly words?: Readonly<Record<string, unknown>>;
  /** What a word of a file or a program may be. */
  readonly values?: readonly unknown[];
  /** A phrase without a final full stop: the help shows it as it is, the schema as a sentence. */
  readonly text: string;
}

const list = (name: string, value: string, text: string) =>
  ({ kind: 'texts', flag: name, value, text }) as const;

/** Fields that the "defaults" of an assay.json may set too. */
export const DEFAULT_FIELDS = {
  inputs: list('input', 'GLOB', 'files, folders or globs that the command reads; "!GLOB" excludes'),
  optionalInputs: list('optional-input', 'GLOB', 'the same as inputs, but they may match nothing'),
  env: {
    ...list(
      'env',
      'NAME|NAME=VALUE',
      'variables that the command sees: NAME, VITE_* or NAME=VALUE; no others',
    ),
    kind: 'variables',
  },
  tools: list(
    'tool',
    'NAME',
    'programs that the command uses, found on your PATH. Their content is part of the key. The command’s own program always counts',
  ),
  ...OPTIONS,
} as const;

export const ACTION_FIELDS = {
  ...DEFAULT_FIELDS,
  command: { kind: 'texts', text: 'the program and its arguments' },
  workspace: { kind: 'text', text: 'the folder that all paths are relative to' },
  outputs: list(
    'output',
    'PATH',
    'files or folders that the command writes. The command owns them: anything else there is removed',
  ),
  cwd: { kind: 'text', flag: 'cwd', value: 'DIR', text: 'the folder to run in (default: the workspace)' },
  state: list(
    'state',
    'PATH',
    'files or folders that make the next run faster (.tsbuildinfo, .eslintcache). Assay carries them over from the nearest earlier commit; they are never part of the key. A result made with them is not cached, and with "strict" hermeticity they are not used. The command owns them: anything else there is removed',
  ),
  checkpoint: {
    kind: 'object',
    text: 'folders that hold the command’s progress. Assay saves them while it runs, and a killed run resumes from them',
  },
} as const satisfies Readonly<Record<keyof ActionDeclaration, ActionField>>;
