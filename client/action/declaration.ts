// An action as a user or a program declares it, and the RunRequest that follows: paths checked, defaults
// filled in.
import { realpathSync, statSync } from 'node:fs';
import { relative } from 'node:path';
import { usage } from '../../core/cli/command.ts';
import { AssayError } from '../../core/errors.ts';
import { isWithin, type RelPath, ROOT, relPathFromUser, toSystemPath } from '../../core/path.ts';
import { currentFolder } from '../files/current-folder.ts';
import { CHECKPOINT_DEFAULTS, type CheckpointPlan } from './checkpoint-plan.ts';
import { parseVariable } from './declared-variables.ts';
import { checkText } from './environment.ts';
import { type ActionOptions, readOptions } from './fields.ts';
import { programFoldersOf } from './program-folders.ts';
import {
  exclusionPatterns,
  type InputPattern,
  REQUEST_DEFAULTS,
  type RunRequest,
  stateAndCheckpointPaths,
} from './request.ts';
import { refuseReserved } from './reserved.ts';

/** A program may set an option to undefined: it is then the default. */
type GivenOptions = { readonly [Name in keyof ActionOptions]?: ActionOptions[Name] | undefined };

export interface ActionDeclaration extends GivenOptions {
  /** The program and its arguments. */
  readonly command: readonly string[];
  /** The folder that all paths are relative to (default: the current one). */
  readonly workspace?: string | undefined;
  /** Files, folders or globs that the command reads; "!GLOB" takes away. */
  readonly inputs?: readonly string[] | undefined;
  /** The same, but they may match nothing. */
  readonly optionalInputs?: readonly string[] | undefined;
  /** Files or folders that the command makes; what else lies there goes. */
  readonly outputs?: readonly string[] | undefined;
  /** Variables that the command sees: NAME, PREFIX_*, or NAME=VALUE. */
  readonly env?: readonly string[] | undefined;
  /** Programs that the command uses, beside its own. */
  readonly tools?: readonly string[] | undefined;
  /** The folder to run in, below the workspace. */
  readonly cwd?: string | undefined;
  /** Folders with the progress of a long command that may be killed. */
  readonly checkpoint?:
    | (Partial<Omit<CheckpointPlan, 'folders'>> & { readonly folders: readonly string[] })
    | undefined;
  /** Files or folders that make the next run faster: restored from the nearest earlier run. */
  readonly state?: readonly string[] | undefined;
}

export function requestFor(action: ActionDeclaration): RunRequest {
  const workspace = action.workspace === undefined ? currentFolder() : realFolder(action.workspace);
  const [program, ...rest] = action.command;
  for (const word of action.command) checkText('an argument', word);
  if (!program) throw usage('there is no command to run');
  if (action.observed && action.sandbox)
    throw usage('--sandbox cannot be used with --inputs=observed: the sandbox shows only declared inputs');
  const checkpoint = checkpointOf(action);
  const state = outputs(action.state ?? REQUEST_DEFAULTS.state);
  const made = outputs(action.outputs ?? []);
  refuseOverlap(made, { state, ...(checkpoint && { checkpoint }) });
  const inFolder = workingDirectory(workspace, action.cwd);
  return {
    ...REQUEST_DEFAULTS,
    ...optionsOf(action),
    workspace,
    workingDirectory: inFolder,
    command: [program, ...rest],
    inputs: [
      ...patterns(action.inputs, false),
      ...patterns(action.optionalInputs, true),
      ...exclusionPatterns(stateAndCheckpointPaths({ state, ...(checkpoint && { checkpoint }) })),
    ],
    outputs: made,
    variables: (action.env ?? []).map(parseVariable),
    tools: action.tools ?? [],
    programFolders: programFoldersOf(workspace, inFolder, made),
    state,
    ...(checkpoint && { checkpoint }),
  };
}

function optionsOf(given: GivenOptions): Partial<ActionOptions> {
  return readOptions((name) => given[name]);
}

function realFolder(workspace: string): string {
  if (statSync(workspace, { throwIfNoEntry: false })?.isDirectory()) return realpathSync(workspace);
  throw usage(`the workspace ${JSON.stringify(workspace)} is not a folder`);
}

function checkpointOf({ checkpoint }: ActionDeclaration): CheckpointPlan | undefined {
  if (!checkpoint || checkpoint.folders.length === 0) return undefined;
  return { ...CHECKPOINT_DEFAULTS, ...checkpoint, folders: outputs(checkpoint.folders) };
}

/** Outputs, checkpoints and state must not overlap. */
function refuseOverlap(
  made: readonly RelPath[],
  { checkpoint, state }: Pick<RunRequest, 'checkpoint' | 'state'>,
): void {
  refuseShared(made, 'an output', checkpoint?.folders ?? [], 'a checkpoint');
  refuseShared(made, 'an output', state, 'state');
  refuseShared(checkpoint?.folders ?? [], 'a checkpoint', state, 'state');
}

function refuseShared(some: readonly RelPath[], one: string, others: readonly RelPath[], two: string): void {
  const clash = some.find((path) => others.some((other) => isWithin(path, other) || isWithin(other, path)));
  if (clash !== undefined) throw new AssayError('ASSAY_OUTPUT_OVERLAP', `${clash} is ${two} and ${one}`);
}

/** By its real path: a link could later lead elsewhere under the same name. */
function workingDirectory(workspace: string, folder: string | undefined): RelPath {
  const path = toSystemPath(workspace, relPathFromUser(folder ?? ''));
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const real = isFolder ? relative(realPath(workspace), realPath(path.toString())) : '..';
  if (real === '..' || real.startsWith('../')) {
    throw usage(`--cwd ${JSON.stringify(folder)} is not a folder in the workspace`);
  }
  return relPathFromUser(real);
}

/** Only for comparison: a path that is not UTF-8 is wrong on both sides in the same way. */
function realPath(path: string): string {
  return realpathSync.native(path);
}

function patterns(globs: readonly string[] = [], optional: boolean): InputPattern[] {
  return globs.map((pattern) => ({ pattern, optional }));
}

function outputs(paths: readonly string[]): RelPath[] {
  const found = [...new Set(paths.map(relPathFromUser))];
  if (found.includes(ROOT))
    throw new AssayError('ASSAY_OUTPUT_OVERLAP', 'an output can’t be the whole workspace');
  for (const path of found) refuseUnmakeable(path);
  for (const inner of found) {
    const outer = found.find((path) => path !== inner && isWithin(inner, path));
    if (outer !== undefined) throw new AssayError('ASSAY_OUTPUT_OVERLAP', `${inner} lies inside ${outer}`);
  }
  return found;
}

function refuseUnmakeable(path: RelPath): void {
  if (/[*?]/.test(path))
    throw usage(`${path} is a glob: an output is a file or a folder, so name the folder`);
  refuseReserved(path);
}
