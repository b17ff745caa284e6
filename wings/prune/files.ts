// The files of a workspace that a part of it has: those of the kept packages, and those that lie in the root itself.
// Guarantees: what .gitignore hides stays out, and so do node_modules, .git and .assay. No path leaves the workspace: a
// symbolic link is taken as a link, and only if it leads to a place inside.
import { readlinkSync } from 'node:fs';
import type { Package } from '../../client/config/packages.ts';
import type { StatRecorder } from '../../client/files/stat-recorder.ts';
import { IgnoredPaths } from '../../client/inputs/ignored-paths.ts';
import { usage } from '../../core/cli/command.ts';
import {
  childOf,
  nameOf,
  parentOf,
  parseRelPath,
  type RelPath,
  ROOT,
  toSystemPath,
} from '../../core/path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import { PRUNE } from './limits.ts';
import { isUnfinished } from './out-folder.ts';

const NEVER: ReadonlySet<string> = new Set(['node_modules', '.git', ASSAY_FOLDER]);

/** Read by npm and pnpm before any file of a package. */
const OF_INSTALL: ReadonlySet<string> = new Set([
  '.npmrc',
  '.pnpmfile.cjs',
  '.pnpmfile.mjs',
  'package.json',
  'pnpm-workspace.yaml',
]);

interface FoundFiles {
  /** Plain files and links, sorted. */
  readonly paths: readonly RelPath[];
  /** Links that lead out of the workspace, and what is neither a file, a folder nor a link. */
  readonly skipped: readonly RelPath[];
}

/** True for what an install reads of the root or of a package. */
export function isOfInstall(path: RelPath, packages: ReadonlySet<RelPath>): boolean {
  const folder = parentOf(path);
  if (folder === ROOT) return OF_INSTALL.has(nameOf(path));
  return packages.has(folder) && nameOf(path) === 'package.json';
}

/** `out`: the folder that is written, which may lie in the workspace. */
export function filesOf(
  observations: StatRecorder,
  packages: readonly Package[],
  kept: ReadonlySet<RelPath>,
  out: RelPath | undefined,
): FoundFiles {
  const ignored = new IgnoredPaths(observations);
  const dropped = new Set(
    packages.flatMap(({ folder }) => (folder === ROOT || kept.has(folder) ? [] : [folder])),
  );
  const paths: RelPath[] = [];
  const skipped: RelPath[] = [];
  const visit = (folder: RelPath): void => {
    for (const { name, isFolder } of observations.list(folder)) {
      const path = childOf(folder, name);
      if (NEVER.has(name) || isUnfinished(name) || path === out || ignored.hides(path, isFolder)) continue;
      if (isFolder && folder !== ROOT && !dropped.has(path) && !kept.has(path)) visit(path);
      else if (!isFolder) (isCopied(observations, path) ? paths : skipped).push(path);
    }
  };
  for (const folder of [ROOT, ...kept]) visit(folder);
  return { paths: paths.sort(), skipped: skipped.sort() };
}

/** A folder above a package may be a link, also out of the workspace. */
export function refuseLinkedFolder(observations: StatRecorder, folder: RelPath): void {
  for (let at = folder; at !== ROOT; at = parentOf(at))
    if (observations.lstat(at)?.isSymbolicLink())
      throw usage(`the folder of the package ${folder} is reached by a link: ${at}`);
}

/** A file that a lock file names. */
export function refuseUnlessPlainFile(observations: StatRecorder, path: RelPath): void {
  refuseLinkedFolder(observations, parentOf(path));
  if (!observations.lstat(path)?.isFile()) throw usage(`the lock file names ${path}, which is no file here`);
}

function isCopied(observations: StatRecorder, path: RelPath): boolean {
  const stats = observations.lstat(path);
  if (stats?.isFile()) return true;
  return stats?.isSymbolicLink() === true && staysInside(observations, path);
}

/** By the texts of the links alone, so that a dangling one stays what it is. */
function staysInside(observations: StatRecorder, path: RelPath): boolean {
  let left = path.split('/');
  let at: string[] = [];
  for (let links = 0; left.length > 0; ) {
    const [part = '', ...rest] = left;
    left = rest;
    if (part === '' || part === '.') continue;
    if (part === '..') {
      if (at.pop() === undefined) return false;
      continue;
    }
    const next = parseRelPath([...at, part].join('/'));
    if (!observations.lstat(next)?.isSymbolicLink()) {
      at = [...at, part];
      continue;
    }
    const target = readlinkSync(toSystemPath(observations.workspace, next)).toString();
    if (target.startsWith('/') || ++links > PRUNE.maxLinks) return false;
    left = [...target.split('/'), ...left];
  }
  return true;
}
