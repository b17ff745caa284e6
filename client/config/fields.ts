// The fields of assay.json in one table. The reader, the JSON schema (scripts/config-schema.ts) and the
// suggestions for misspelt fields come from it.

import { ACTION_FIELDS, type ActionFieldKind, DEFAULT_FIELDS } from '../action/fields.ts';

export type FieldKind = ActionFieldKind | 'count' | 'command' | 'checkpoint' | 'step' | 'steps';

export interface Field {
  readonly kind: FieldKind;
  /** A phrase without a full stop at the end. */
  readonly text: string;
  /** What a word may be. */
  readonly values?: readonly unknown[];
}

type FieldTable = Readonly<Record<string, Field>>;

const { inputs, outputs, cwd, state, checkpoint } = ACTION_FIELDS;

export const STEP_FIELDS = {
  command: {
    kind: 'command',
    text: 'the program and its arguments as a list, or a shell line. Default: the package.json script of the step’s name',
  },
  ...DEFAULT_FIELDS,
  inputs: {
    kind: 'texts',
    text: `${inputs.text}. Paths are relative to the package’s folder; "//…" starts at the root. Default: everything in the package, or, with "observed", only what was seen to be read`,
  },
  outputs,
  dependsOn: {
    kind: 'texts',
    text: 'steps that run first and whose outputs are inputs: "build" of this package, "^build" of the packages that it depends on, "pkg#build" of another, "//#build" of the root',
  },
  cwd: { kind: cwd.kind, text: 'the folder to run in (default: the package’s)' },
  cache: { kind: 'flag', text: 'false: the command runs each time, and its result is not stored' },
  state,
  checkpoint: { kind: 'checkpoint', text: checkpoint.text },
} satisfies FieldTable;

export const CHECKPOINT_FIELDS = {
  folders: { kind: 'texts', text: 'the folders to save' },
  every: { kind: 'text', text: 'how often: "30s", "10m", "1h"' },
  keep: { kind: 'count', text: 'how many checkpoints to keep (default: 2)' },
} satisfies FieldTable;

export const FILE_FIELDS = {
  $schema: { kind: 'text', text: 'where editors find the schema of this file' },
  name: { kind: 'text', text: 'the package’s name (default: that of its package.json, or its folder)' },
  dependencies: {
    kind: 'texts',
    text: 'names of packages that this one depends on, in addition to those in its package.json',
  },
  packages: {
    kind: 'texts',
    text: 'only in the root’s file: folders or globs of the packages (default: the workspaces of npm, pnpm or yarn)',
  },
  defaults: {
    kind: 'step',
    text: 'fields that apply to every step of this package, or, in the root’s file, of all packages',
  },
  packageSteps: {
    kind: 'steps',
    text: 'only in the root’s file: steps of every package. A package’s own file overrides them field by field',
  },
  steps: { kind: 'steps', text: 'the steps of this package' },
} satisfies FieldTable;
