// The folders of a package's programs: node_modules/.bin of the package and of each folder above it, inside the
// workspace. A command finds them first on its PATH, as `npm run` has it.
// A package manager may fill a .bin folder later, and a command itself may: so the folder of a package is on PATH
// before it exists. Their list is in the key; which programs were looked up in them are facts.
import { statSync } from 'node:fs';
import { delimiter } from 'node:path';
import { childOf, isWithin, parentOf, type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import { hasUtf8Path } from '../files/current-folder.ts';
import type { Variables } from './environment.ts';
import type { RunRequest } from './request.ts';

const MANIFEST = 'package.json';

/**
 * `folder`: the package's, or the one that the command runs in. The nearest comes first. What an earlier run of the
 * command left among its `outputs` decides nothing.
 */
export function programFoldersOf(
  workspace: string,
  folder: RelPath,
  outputs: readonly RelPath[] = [],
): RelPath[] {
  return foldersUpToRoot(folder).flatMap((at) => {
    const programs = programsIn(at);
    if (!isNameable(toSystemPath(workspace, programs))) return [];
    const isThere = isFolder(workspace, programs) && !isAmong(programs, outputs);
    return isThere || isFile(workspace, manifestIn(at)) ? [programs] : [];
  });
}

function isAmong(folder: RelPath, outputs: readonly RelPath[]): boolean {
  return outputs.some((output) => isWithin(folder, output));
}

/** The folders as entries of PATH. `place`: where the command sees its workspace. */
export function programPlaces(
  { programFolders, workspace }: Pick<RunRequest, 'programFolders' | 'workspace'>,
  place = workspace,
): string[] {
  return programFolders.map((folder) => `${place}/${folder}`);
}

/**
 * Where tools are searched: in the programs of the package, then on a declared PATH, else the caller's. Shims make the command find the tools that
 * this path finds. The command's own outputs are away when it starts, so no tool is in them.
 */
export function toolPathOf(
  request: Pick<RunRequest, 'variables' | 'programFolders' | 'outputs' | 'workspace'>,
  caller: Variables,
): string {
  const declared = request.variables.find(({ name }) => name === 'PATH');
  const { workspace, outputs } = request;
  const programFolders = request.programFolders.filter((folder) => !isAmong(folder, outputs));
  return [...programPlaces({ workspace, programFolders }), declared?.value ?? caller.PATH ?? ''].join(
    delimiter,
  );
}

/** PATH is text, and separates its entries by colons. A path of an open folder means something else to the command. */
function isNameable(path: string | Buffer): path is string {
  return typeof path === 'string' && !path.includes(delimiter) && hasUtf8Path(path);
}

/** The paths whose existence decides it. */
export function programFolderCauses(folder: RelPath): RelPath[] {
  return foldersUpToRoot(folder).flatMap((at) => [programsIn(at), manifestIn(at)]);
}

function foldersUpToRoot(folder: RelPath): RelPath[] {
  return folder === ROOT ? [ROOT] : [folder, ...foldersUpToRoot(parentOf(folder))];
}

function programsIn(folder: RelPath): RelPath {
  return childOf(childOf(folder, 'node_modules'), '.bin');
}

function manifestIn(folder: RelPath): RelPath {
  return childOf(folder, MANIFEST);
}

function isFile(workspace: string, path: RelPath): boolean {
  return statAt(workspace, path)?.isFile() ?? false;
}

function isFolder(workspace: string, path: RelPath): boolean {
  return statAt(workspace, path)?.isDirectory() ?? false;
}

/** A link that leads to itself, or a folder that nobody may search, is no package. */
function statAt(workspace: string, path: RelPath) {
  try {
    return statSync(toSystemPath(workspace, path), { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
