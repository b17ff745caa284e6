// The fields of an action in one table: assay.json and its schema, the flags, and the library's checks come
// from it. Each field has one description. A field of ActionDeclaration that is missing here does not
// compile.
import type { ActionDeclaration } from './declaration.ts';

export type ActionFieldKind =
  | 'text'
  | 'texts'
  | 'variables'
  | 'flag'
  | 'hermetic'
  | 'keepUnproven'
  | 'object';

export interface ActionField {
  readonly kind: ActionFieldKind;
  /** Absent if the command line spells the field in another way (commands/action-flags.ts). */
  readonly flag?: string;
  /** What stands for the flag's value in the help. */
  readonly value?: string;
  /** A phrase without a final full stop: the help shows it as it is, the schema as a sentence. */
  readonly text: string;
}

const flag = (name: string, text: string) => ({ kind: 'flag', flag: name, text }) as const;
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
  includeIgnored: flag('include-ignored', 'files that .gitignore hides are inputs too, if a glob matches'),
  cacheFailures: flag('cache-failures', 'store and replay results with an exit code other than 0'),
  hermetic: {
    kind: 'hermetic',
    flag: 'hermetic',
    value: 'off|warn|strict',
    text: 'what to do if the command accesses more than it declares: off: do not watch it, and keep its result on this machine for such runs only; warn (default): report it; strict: fail and store nothing',
  },
  observed: { kind: 'flag', text: 'files that earlier runs were seen to read count as declared' },
  keepUnproven: {
    kind: 'keepUnproven',
    flag: 'keep-unproven',
    value: 'no|local|shared',
    text: 'whether to keep a result that nothing can prove, because its command used the network, a daemon, or was not wholly seen or not at all: no (default), local: on this machine, shared: at the remote too, and accept such results from it',
  },
  sandbox: flag(
    'sandbox',
    'run the command where it sees only its declared inputs at /workspace, installed software, an empty home and /tmp, and no network (needs bubblewrap)',
  ),
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
