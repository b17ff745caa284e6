// Prepares an action to run in copies of its workspace: what to copy, where its program is, and which
// variables to vary.

import { lstatSync } from 'node:fs';
import {
  actualEnvironment,
  looksSecretVariable,
  type ScratchFolders,
  type Variables,
} from '../../client/action/environment.ts';
import { programPlaces } from '../../client/action/program-folders.ts';
import { folderEntries } from '../../client/files/list-folder.ts';
import type { KeyedAction } from '../../client/inputs/keyed-action.ts';
import { neededFolders } from '../../client/trace/output-folders.ts';
import { neverToolFolders, toolPaths } from '../../client/trace/trace.ts';
import { AssayError } from '../../core/errors.ts';
import { childOf, isWithin, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import type { Access, TraceReport } from '../../hermeticity/trace/access.ts';
import { type AbsPath, absPath, relativeIn } from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import type { RepeatableAction } from './experiment/trial.ts';
import { REPRODUCE } from './limits.ts';

interface Before {
  /** The accesses of a trace. */
  readonly seen?: TraceReport | undefined;
  /** The folder that holds the state of an earlier run. */
  readonly earlierState?: string | undefined;
}

/**
 * With a trace (`seen`), undeclared files that it used are copied too; the command could not run without
 * them.
 */
export function repeatable(
  action: KeyedAction,
  { bin }: ScratchFolders,
  caller: Variables,
  { seen, earlierState }: Before,
): RepeatableAction {
  const { request, tools, environment } = action;
  const workspace = absPath(request.workspace);
  const program = absPath(tools[0].file);
  const keepOut = neverToolFolders(request.workspace);
  const places = tools
    .flatMap((tool) => toolPaths(tool, keepOut))
    .flatMap((path) => relativeIn(workspace, path) ?? []);
  const kept = outermost(places.filter((path) => isFolder(workspace, path)));
  const used = [...(seen ? pathsUsed(seen, workspace) : []), ...places];
  const isLeftOut = (path: RelPath) =>
    path === ROOT ||
    isAssays(path) ||
    [...request.outputs, ...request.state, ...kept].some((place) => isWithin(path, place));
  const paths = [...new Set([...action.inputs.entries().map(({ path }) => path), ...used])].filter(
    (path) => !isLeftOut(path),
  );
  refuseTooMuch(request.workspace, paths);
  const programPath = relativeIn(workspace, program);
  return {
    workspace: request.workspace,
    paths,
    kept,
    folders: [
      request.workingDirectory,
      ...neededFolders(request, seen?.accesses ?? []).map(({ folder }) => folder),
    ].filter((path) => path !== ROOT),
    workingDirectory: request.workingDirectory,
    argvIn: (place) => [
      programPath === undefined ? program : `${place}/${programPath}`,
      ...request.command.slice(1),
    ],
    environmentIn: ({ home, tmp, workspace: place }) =>
      actualEnvironment(environment, { home, tmp, bin }, programPlaces(request, place)),
    state: { paths: request.state, outputs: request.outputs, earlier: earlierState },
    undeclared: undeclaredVariables(caller, environment),
  };
}

function outermost(paths: readonly RelPath[]): RelPath[] {
  const all = [...new Set(paths)];
  return all.filter((path) => !all.some((other) => other !== path && isWithin(path, other)));
}

function isFolder(workspace: AbsPath, path: RelPath): boolean {
  return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Assay's own folder. A .git folder is copied, because a command may ask it for a version. */
function isAssays(path: RelPath): boolean {
  return path.split('/')[0] === ASSAY_FOLDER;
}

/**
 * Existing paths that the trace accessed, without the action's own outputs. A listed folder brings its names.
 */
function pathsUsed({ accesses }: TraceReport, workspace: AbsPath): RelPath[] {
  const own = new Set<RelPath>();
  const used = new Set<RelPath>();
  const uses = (path: RelPath | undefined) => {
    if (path !== undefined && path !== ROOT && !own.has(path)) used.add(path);
  };
  for (const access of accesses) {
    if (!('path' in access)) continue;
    const path = relativeIn(workspace, access.path);
    if (path === undefined) continue;
    if (access.kind === 'write' && access.created) own.add(path);
    else if (access.kind === 'symlink') own.add(path);
    else if (access.kind === 'rename' || access.kind === 'hardlink')
      markOwn(own, relativeIn(workspace, access.to));
    else if (USES.has(access.kind)) uses(path);
    if (access.kind === 'list') for (const name of namesIn(workspace, path)) uses(childOf(path, name));
  }
  return [...used].filter((path) => isThere(workspace, path));
}

function markOwn(own: Set<RelPath>, path: RelPath | undefined): void {
  if (path !== undefined) own.add(path);
}

const USES: ReadonlySet<Access['kind']> = new Set([
  'read',
  'probe',
  'list',
  'exec',
  'followed',
  'entered',
  'write',
]);

function namesIn(workspace: AbsPath, folder: RelPath): string[] {
  return isThere(workspace, folder) ? folderEntries(workspace, folder).map(({ name }) => name) : [];
}

function isThere(workspace: AbsPath, path: RelPath): boolean {
  return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
}

function refuseTooMuch(workspace: string, paths: readonly RelPath[]): void {
  let bytes = 0;
  for (const path of paths)
    bytes += lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false })?.size ?? 0;
  if (bytes <= REPRODUCE.copyBytes) return;
  throw new AssayError(
    'ASSAY_NO_VARIATION',
    `its inputs are ${bytes} bytes, more than Assay copies for each run`,
  );
}

/** The shell's own variables, and those that the fixed ones replace. */
const NOT_FOREIGN = /^(?:_|PWD|OLDPWD|SHLVL|PATH|HOME|TMPDIR|TZ|LC_ALL|ASSAY_.*|NODE_COMPILE_CACHE)$/;

/** Leaves out secrets: an action never gets one that it did not declare. */
function undeclaredVariables(
  caller: Variables,
  declared: readonly { readonly name: string }[],
): Record<string, string> {
  const known = new Set(declared.map(({ name }) => name));
  return Object.fromEntries(
    Object.entries(caller).flatMap(([name, value]) => {
      const foreign =
        value !== undefined && !known.has(name) && !NOT_FOREIGN.test(name) && !looksSecretVariable(name);
      return foreign ? [[name, value]] : [];
    }),
  );
}
