// Sets the earlier outputs of a command aside before it starts, and the caches that its tools left
// (earlier-caches.ts), so that its outputs contain only what this run made.
// If the command fails, an output that it did not write comes back. If it succeeds without writing one, that
// is gone, as in a fresh checkout; but a file that git tracks comes back, because it is a source that was
// declared by mistake.
//
// The outputs are moved, not deleted. If they cannot be moved (a mount point, another file system, no
// permission), the command runs with them in place, and its result is not published.
import { cpSync, lstatSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import { makeFolder } from '../../hermeticity/system/make-folder.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../hermeticity/system/temporary-folder.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { isTracked } from '../inputs/git-tracked.ts';
import { withOpenParent } from './open-parent.ts';
import { moveAside } from './restore.ts';
import { Staging } from './staging.ts';

export interface SetAside {
  /** The outputs of an earlier run that were moved. */
  readonly earlier: readonly RelPath[];
  /** Why an earlier output could not be moved. */
  readonly fault?: string;
  /** An output that was moved and that the command did not make again. */
  missing(): RelPath | undefined;
  /** Records the process group that writes the outputs: a later run ends it if this one is killed. */
  recordWriter(pid: number): void;
  /** With `putBack`, puts back outputs that the command did not write. Deletes the others. */
  finish(putBack: boolean): void;
}

export function setOutputsAside(
  request: RunRequest,
  outputs: readonly RelPath[] = request.outputs,
  caches: readonly RelPath[] = [],
): SetAside {
  const { workspace, workingDirectory } = request;
  const isIdle = outputs.length + caches.length + stateAndCheckpointPaths(request).length === 0;
  if (isIdle) return NOTHING_TO_DO;
  const moved = new Map<RelPath, string>();
  const movedCaches = new Map<RelPath, string>();
  try {
    const folders = { workspace, staging: Staging.create(workspace), copies: new EarlierCopies() };
    const { staging, copies } = folders;
    const faults = outputs.flatMap((path) => moveOutput(path, folders, moved) ?? []);
    // A cache that cannot be moved stays: if the command reads it, that is a finding.
    for (const cache of caches) moveOutput(cache, folders, movedCaches);
    quietly(() => makeFolder(toSystemPath(workspace, workingDirectory)));
    return {
      earlier: [...moved.keys()],
      ...(faults[0] !== undefined && { fault: faults[0] }),
      missing: () => [...moved.keys()].find((path) => !existsAt(workspace, path)),
      recordWriter: (pid) =>
        quietly(() => staging.recordCommand(pid, [...request.outputs, ...stateAndCheckpointPaths(request)])),
      finish(putBack) {
        for (const [path, aside] of putBack ? movedCaches : [])
          quietly(() => bringBack(path, aside, folders));
        for (const [path, aside] of moved) {
          if (putBack || isSource(workspace, path)) quietly(() => bringBack(path, aside, folders));
        }
        quietly(() => copies.remove());
        staging.remove();
      },
    };
  } catch (error) {
    const earlier = outputs.find((path) => existsAt(workspace, path));
    return earlier === undefined ? NOTHING_TO_DO : { ...NOTHING_TO_DO, fault: notSetAside(earlier, error) };
  }
}

const NOTHING_TO_DO: SetAside = { earlier: [], missing: () => undefined, recordWriter() {}, finish() {} };

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

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // The command's own outcome counts.
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
