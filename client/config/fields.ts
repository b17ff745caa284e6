// The fields of assay.json in one table. The reader, the JSON schema (scripts/config-schema.ts) and the
// suggestions for misspelt fields come from it.

export type FieldKind =
  | 'text'
  | 'texts'
  | 'variables'
  | 'flag'
  | 'count'
  | 'command'
  | 'checkpoint'
  | 'hermetic'
  | 'step'
  | 'steps';

export interface Field {
  readonly kind: FieldKind;
  readonly text: string;
}

export type FieldTable = Readonly<Record<string, Field>>;

/** Lists are added to those of a step; other fields apply where a step does not set them. */
export const DEFAULT_FIELDS = {
  inputs: { kind: 'texts', text: 'Files, folders or globs that the command reads; "!GLOB" takes away.' },
  optionalInputs: { kind: 'texts', text: 'The same, but they may match nothing.' },
  env: {
    kind: 'variables',
    text: 'Variables that the command sees: NAME, a pattern such as VITE_*, or NAME=VALUE. All others are hidden.',
  },
  tools: {
    kind: 'texts',
    text: 'Programs that the command uses; their content is in the key. Those that it names itself are found.',
  },
  includeIgnored: {
    kind: 'flag',
    text: 'Files that .gitignore hides are inputs too, if a glob matches them.',
  },
  cacheFailures: { kind: 'flag', text: 'Keep and replay results with an exit code other than 0.' },
  hermetic: {
    kind: 'hermetic',
    text: 'What to do about a command that sees or does more than it declares: nothing, mark its result (default), or fail and keep nothing.',
  },
  observed: {
    kind: 'flag',
    text: 'What earlier runs were seen to read counts as declared; without "inputs", nothing else does.',
  },
  acceptMarked: {
    kind: 'flag',
    text: 'Take results from the remote whose runs saw or did more than they declared.',
  },
  sandbox: { kind: 'flag', text: 'Run the command where only declared files can be seen.' },
} satisfies FieldTable;

export const STEP_FIELDS = {
  command: {
    kind: 'command',
    text: 'The program and its arguments as a list, or a line for the shell. Without it: the package.json script of the step’s name.',
  },
  ...DEFAULT_FIELDS,
  inputs: {
    kind: 'texts',
    text: 'Files, folders or globs that the command reads, from the package’s folder; "//…" from the root; "!GLOB" takes away. Without it: everything in the package, or, with "observed", what was seen to be read.',
  },
  outputs: {
    kind: 'texts',
    text: 'Files or folders that the command makes. They belong to it: what else lies there goes.',
  },
  dependsOn: {
    kind: 'texts',
    text: 'Steps that come first and whose outputs are inputs: "build" of this package, "^build" of the packages that it depends on, "pkg#build" of another, "//#build" of the root.',
  },
  cwd: { kind: 'text', text: 'The folder to run in (default: the package’s).' },
  cache: { kind: 'flag', text: 'false: the command runs each time, and nothing of it is kept.' },
  state: {
    kind: 'texts',
    text: 'Files or folders that make the command faster the next time (.tsbuildinfo, .eslintcache): carried over from the nearest earlier commit, never in the key. What is made with them is not kept in a cache; with "hermetic": "strict" they are not used. They belong to the step: what else lies there goes.',
  },
  checkpoint: {
    kind: 'checkpoint',
    text: 'Folders that are kept while the command runs, so that a killed run goes on where it was.',
  },
} satisfies FieldTable;

export const CHECKPOINT_FIELDS = {
  folders: { kind: 'texts', text: 'What is kept.' },
  every: { kind: 'text', text: 'How often: "30s", "10m", "1h".' },
  keep: { kind: 'count', text: 'How many are kept (default: 2).' },
} satisfies FieldTable;

export const FILE_FIELDS = {
  $schema: { kind: 'text', text: 'Where editors find what may stand here.' },
  name: { kind: 'text', text: 'The package’s name (default: that of its package.json, or its folder).' },
  dependencies: {
    kind: 'texts',
    text: 'Packages that this one depends on, by name, beside those of its package.json.',
  },
  packages: {
    kind: 'texts',
    text: 'Folders or globs of the packages, in the root’s file (default: those of npm, pnpm or yarn).',
  },
  defaults: { kind: 'step', text: 'What every step declares, in this package or, from the root, in all.' },
  packageSteps: {
    kind: 'steps',
    text: 'In the root’s file: steps of every package; its own file may say otherwise, field by field.',
  },
  steps: { kind: 'steps', text: 'The steps of this package.' },
} satisfies FieldTable;
