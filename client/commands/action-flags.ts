// The flags that declare an action, shared by every command that takes one, and the request that they make.
import { realpathSync, statSync } from 'node:fs';
import { relative } from 'node:path';
import { type FlagTable, type ParsedFlags, parseFlags, usage } from '../../core/command.ts';
import { AssayError } from '../../core/errors.ts';
import { isWithin, type RelPath, ROOT, relPathFromUser, toSystemPath } from '../../core/path.ts';
import { checkText } from '../environment.ts';
import { type DeclaredVariable, type InputPattern, ORDINARY, type RunRequest } from '../request.ts';

export const ACTION_FLAGS = {
  input: {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'a file, folder or glob that the command reads; "!GLOB" takes away',
  },
  'optional-input': {
    type: 'string',
    multiple: true,
    value: 'GLOB',
    text: 'the same, but it may match nothing',
  },
  'include-ignored': {
    type: 'boolean',
    text: 'take files that .gitignore hides, too (also those that git tracks all the same)',
  },
  output: {
    type: 'string',
    multiple: true,
    value: 'PATH',
    text: 'a file or folder that the command makes; it belongs to the command,\nwhat else lies there goes',
  },
  env: {
    type: 'string',
    multiple: true,
    value: 'NAME|NAME=VALUE',
    text: 'a variable that the command sees; all others are hidden from it',
  },
  tool: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    text: 'a program that the command uses; its content is in the key\n(the command’s own program always is)',
  },
  cwd: { type: 'string', value: 'DIR', text: 'the folder to run in, below this one (default: this one)' },
} satisfies FlagTable;

export interface DeclaredAction {
  readonly flags: ParsedFlags;
  readonly request: RunRequest;
}

/** Flags, `--`, command. `table` holds ACTION_FLAGS and the command's own. */
export function parseAction(name: string, args: readonly string[], table: FlagTable): DeclaredAction {
  const { own, command } = splitCommand(name, args);
  const flags = parseFlags(own, table);
  const [stray] = flags.positionals;
  if (stray !== undefined)
    throw usage(`${JSON.stringify(stray)} is no flag; the command stands after \`--\``);
  return { flags, request: requestFrom(flags, command) };
}

function splitCommand(
  name: string,
  args: readonly string[],
): { own: string[]; command: [string, ...string[]] } {
  const end = args.indexOf('--');
  const [program, ...rest] = end === -1 ? [] : args.slice(end + 1);
  for (const word of args) checkText('an argument', word);
  if (!program) throw usage(`the command to run stands after \`--\`: assay ${name} [FLAGS] -- COMMAND`);
  return { own: args.slice(0, end), command: [program, ...rest] };
}

function requestFrom(flags: ParsedFlags, command: [string, ...string[]]): RunRequest {
  const workspace = realpathSync(process.cwd());
  const observed =
    oneOf('--inputs', flags.text('inputs') ?? 'declared', ['declared', 'observed']) === 'observed';
  if (observed && flags.given('sandbox'))
    throw usage('--sandbox shows only what is declared, so --inputs=observed has nothing to observe in it');
  return {
    workspace,
    workingDirectory: workingDirectory(workspace, flags.text('cwd')),
    command,
    inputs: [...patterns(flags.all('input'), false), ...patterns(flags.all('optional-input'), true)],
    includeIgnored: flags.given('include-ignored'),
    outputs: outputs(flags.all('output')),
    variables: flags.all('env').map(variable),
    tools: flags.all('tool'),
    cacheFailures: flags.given('cache-failures'),
    hermetic: oneOf('--hermetic', flags.text('hermetic') ?? ORDINARY.hermetic, ['off', 'warn', 'strict']),
    acceptMarked: flags.given('accept-marked'),
    observed,
    sandbox: flags.given('sandbox'),
  };
}

function oneOf<T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((word) => word === text);
  if (found === undefined) throw usage(`${flag} takes ${known.join(', ')}, not ${JSON.stringify(text)}`);
  return found;
}

/** By its real path: a link on the way could lead elsewhere the next time, under the same name. */
function workingDirectory(workspace: string, folder: string | undefined): RelPath {
  const path = toSystemPath(workspace, relPathFromUser(folder ?? ''));
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const real = isFolder ? relative(workspace, realpathSync(path.toString())) : '..';
  if (real === '..' || real.startsWith('../')) {
    throw usage(`--cwd ${JSON.stringify(folder)} is not a folder in the workspace`);
  }
  return relPathFromUser(real);
}

function patterns(globs: readonly string[], optional: boolean): InputPattern[] {
  return globs.map((pattern) => ({ pattern, optional }));
}

function outputs(paths: readonly string[]): RelPath[] {
  const found = [...new Set(paths.map(relPathFromUser))];
  if (found.includes(ROOT))
    throw new AssayError('ASSAY_OUTPUT_OVERLAP', 'an output can’t be the whole workspace');
  for (const inner of found) {
    const outer = found.find((path) => path !== inner && isWithin(inner, path));
    if (outer !== undefined) throw new AssayError('ASSAY_OUTPUT_OVERLAP', `${inner} lies inside ${outer}`);
  }
  return found;
}

export function variable(text: string): DeclaredVariable {
  const at = text.indexOf('=');
  return at === -1 ? { name: text } : { name: text.slice(0, at), value: text.slice(at + 1) };
}
