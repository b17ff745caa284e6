// Sets the earlier outputs of a command aside before it starts, and the caches of its own tools
// (earlier-caches.ts), so that its outputs contain only what this run made.
// If the command fails, an output that it did not write comes back. If it succeeds without writing one, that
// is gone, as in a fresh checkout; but a file that git tracks comes back, because it is a source that was
// declared by mistake. A cache always comes back, except the files of it that the command wrote anew.
//
// The outputs are moved, not deleted. If they cannot be moved (a mount point, another file system, no
// permission), the command runs with them in place, and its result is not published.
import { cpSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { isWithin, nameOf, parentOf, type RelPath, toSystemPath } from '../../core/path.ts';
import { makeFolder } from '../../system/files/make-folder.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../system/files/temporary-folder.ts';
import type { OwnedCache } from '../action/owned-caches.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { isTracked } from '../inputs/git-tracked.ts';
import { isLockedByOthers } from './lock-file.ts';
import { withOpenParent } from './open-parent.ts';
import { foldersOfOutputs } from './outputs.ts';
import { putBack } from './put-back.ts';
import { moveAside } from './restore.ts';
import type { CacheAside } from './run-records.ts';
import { assayFolder, Staging } from './staging.ts';

interface SetAside {
  /** The outputs of an earlier run that were moved. */
  readonly earlier: readonly RelPath[];
  /** Folders of outputs that do not exist when the command starts. */
  readonly missingFolders: readonly RelPath[];
  /** The caches of tools that were moved. */
  readonly caches: readonly OwnedCache[];
  /** Why an earlier output could not be moved. */
  readonly fault?: string;
  /** An output that was moved and that the command did not make again. */
  missing(): RelPath | undefined;
  /** Records the process group that writes the outputs: a later run ends it if this one is killed. */
  recordWriter(pid: number): void;
  /**
   * With `failed`, puts back outputs that the command did not write, and deletes the others. Returns caches that
   * could not be put back.
   */
  finish(failed: boolean): readonly CacheAside[];
}

export function setOutputsAside(
  request: RunRequest,
  outputs: readonly RelPath[] = request.outputs,
  caches: readonly OwnedCache[] = [],
): SetAside {
  const { workspace, workingDirectory } = request;
  const isIdle = outputs.length + caches.length + stateAndCheckpointPaths(request).length === 0;
  if (isIdle) return NOTHING_TO_DO;
  const moved = new Map<RelPath, string>();
  try {
    const folders = { workspace, staging: Staging.create(workspace), copies: new EarlierCopies() };
    const { staging, copies } = folders;
    const faults = outputs.flatMap((path) => moveOutput(path, folders, moved) ?? []);
    const cachesAside = moveCaches(caches, folders);
    const emptied = removeEmptied([...moved.keys()], request);
    quietly(() => makeFolder(toSystemPath(workspace, workingDirectory)));
    return {
      earlier: [...moved.keys()],
      missingFolders: foldersOfOutputs(outputs).filter((folder) => !existsAt(workspace, folder)),
      caches: caches.filter(({ path }) => cachesAside.some((one) => one.path === path)),
      ...(faults[0] !== undefined && { fault: faults[0] }),
      missing: () => [...moved.keys()].find((path) => !existsAt(workspace, path)),
      recordWriter: (pid) =>
        quietly(() => staging.recordCommand(pid, [...request.outputs, ...stateAndCheckpointPaths(request)])),
      finish(failed) {
        for (const { folder, mode } of emptied.toReversed())
          quietly(() => mkdirSync(toSystemPath(workspace, folder), mode));
        for (const [path, aside] of moved) {
          if (failed || isSource(workspace, path)) quietly(() => bringBack(path, aside, folders));
        }
        const lost = cachesAside.filter(
          ({ path, aside }) => !succeeds(() => putBack(workspace, path, aside)),
        );
        quietly(() => copies.remove());
        if (lost.length > 0) staging.abandon();
        else staging.remove();
        return lost;
      },
    };
  } catch (error) {
    const earlier = outputs.find((path) => existsAt(workspace, path));
    return earlier === undefined ? NOTHING_TO_DO : { ...NOTHING_TO_DO, fault: notSetAside(earlier, error) };
  }
}

const NOTHING_TO_DO: SetAside = {
  earlier: [],
  missingFolders: [],
  caches: [],
  missing: () => undefined,
  recordWriter() {},
  finish: () => [],
};

interface Folders {
  readonly workspace: string;
  readonly staging: Staging;
  readonly copies: EarlierCopies;
}

function moveOutput(path: RelPath, folders: Folders, moved: Map<RelPath, string>): string | undefined {
  const { workspace, staging } = folders;
  try {
    const aside = moveAside(workspace, path, staging);
    if (aside !== undefined) moved.set(path, staging.isInWorkspace ? hide(path, aside, folders) : aside);
    return undefined;
  } catch (error) {
    return existsAt(workspace, path) ? notSetAside(path, error) : undefined;
  }
}

interface EmptiedFolder {
  readonly folder: RelPath;
  readonly mode: number;
}

/**
 * Removes the folders that held nothing but the moved outputs of a step: a clean copy has none of them, so the
 * command must not find them. Not the working directory, and none in which another run works now. Not for a
 * command without a step: its caller may have made the folder for it, as a Makefile does.
 */
function removeEmptied(moved: readonly RelPath[], request: RunRequest): EmptiedFolder[] {
  const { workspace, workingDirectory } = request;
  const emptied: EmptiedFolder[] = [];
  if (request.name === undefined) return emptied;
  const innermostFirst = foldersOfOutputs(moved).toSorted((a, b) => b.length - a.length);
  for (const folder of innermostFirst) {
    const at = toSystemPath(workspace, folder);
    quietly(() => {
      if (isWithin(workingDirectory, folder) || readdirSync(at).length > 0) return;
      if (isLockedByOthers(assayFolder(workspace), folder, request.outputs)) return;
      const { mode } = lstatSync(at);
      rmdirSync(at);
      emptied.push({ folder, mode });
    });
  }
  return emptied;
}

/**
 * Records each before it moves. A cache that cannot be moved stays: it is then an ordinary file. Not hidden in
 * a temporary folder: a cache may be large, and a copy could be lost with this process.
 */
function moveCaches(caches: readonly OwnedCache[], { workspace, staging }: Folders): CacheAside[] {
  if (caches.length === 0) return [];
  const planned = caches.map(({ path }) => ({ path, aside: staging.next() }));
  staging.recordCaches(planned);
  const moved = planned.filter(({ path, aside }) =>
    succeeds(() => moveAside(workspace, path, staging, aside)),
  );
  // A folder that held nothing else goes too, as in a fresh checkout; it comes back with the cache.
  for (const { path } of moved)
    if (nameOf(parentOf(path)) === HOLDER) quietly(() => rmdirSync(toSystemPath(workspace, parentOf(path))));
  return moved;
}

/** In node_modules. */
const HOLDER = '.cache';

function hide(path: RelPath, aside: string, { workspace, copies }: Folders): string {
  try {
    return copies.moveIn(aside);
  } catch (error) {
    withOpenParent(workspace, path, (target) => renameSync(aside, target));
    throw error;
  }
}

function notSetAside(path: RelPath, error: unknown): string {
  return `its earlier output ${path} could not be set aside: ${messageOf(error)}`;
}

function bringBack(path: RelPath, aside: string, { workspace, staging }: Folders): void {
  if (existsAt(workspace, path)) return;
  const near = staging.isInWorkspace ? staging.next() : aside;
  if (near !== aside) copy(aside, near);
  withOpenParent(workspace, path, (target) => renameSync(near, target));
}

export function existsAt(workspace: string, path: RelPath): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/**
 * True if the output is missing and git tracks it. If git gives no answer, the output counts as a source and
 * is kept.
 */
function isSource(workspace: string, path: RelPath): boolean {
  return !existsAt(workspace, path) && isTracked(workspace, path) !== false;
}

/** A failure is ignored: the command's own outcome counts. */
function quietly(work: () => void): void {
  succeeds(work);
}

function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/**
 * Copies of earlier outputs in a temporary folder, for a workspace whose staging folder is inside it. No
 * rename leads there, so the outputs are copied and deleted.
 */
class EarlierCopies {
  #root: string | undefined;
  #count = 0;

  /** Copies what is at `path` and deletes it there; returns the path of the copy. */
  moveIn(path: string): string {
    this.#root ??= temporaryFolder('earlier');
    const copied = join(this.#root, String(this.#count++));
    copy(path, copied);
    rmSync(path, { recursive: true });
    return copied;
  }

  remove(): void {
    if (this.#root !== undefined) removeTemporaryFolder(this.#root);
  }
}

function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
}
