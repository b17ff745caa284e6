// A command starts without its own earlier outputs, which it finds nowhere in its workspace: what lies in a declared output
// afterwards is what this run made, and nothing stale is sealed with it. They are moved, not deleted: where the command does
// not get as far as writing an output, the earlier one comes back. One that ends well and did not make it leaves nothing there, as
// it would in a fresh checkout; unless git tracks what was there: that is somebody's source, and was declared by mistake.
//
// Where that can't be done (a mount point, another file system, no rights) the command runs all the same, with the
// earlier output in place, and what it makes is not published.
import { cpSync, lstatSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import { removeTemporaryFolder, temporaryFolder } from '../../hermeticity/system/temporary-folder.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { isTracked } from '../inputs/git-tracked.ts';
import { withOpenParent } from './open-parent.ts';
import { moveAside } from './restore.ts';
import { Staging } from './staging.ts';

export interface SetAside {
  /** The outputs that an earlier run had left. */
  readonly earlier: readonly RelPath[];
  /** Why an earlier output is still in place, if one is. */
  readonly fault?: string;
  /** Of the outputs that an earlier run had left, or somebody wrote, one that is not there now. */
  missing(): RelPath | undefined;
  /** Says which process writes the outputs now, so that a later run can end it if this one is killed. */
  recordWriter(pid: number): void;
  /** Ends it: puts back what was not replaced, if that is wanted, and drops the rest. */
  finish(putBack: boolean): void;
}

export function setOutputsAside(
  request: RunRequest,
  outputs: readonly RelPath[] = request.outputs,
): SetAside {
  const { workspace, workingDirectory } = request;
  if (outputs.length === 0 && stateAndCheckpointPaths(request).length === 0) return NOTHING_TO_DO;
  const moved = new Map<RelPath, string>();
  try {
    const folders = { workspace, staging: Staging.create(workspace), copies: new EarlierCopies() };
    const { staging, copies } = folders;
    const faults = outputs.flatMap((path) => moveOutput(path, folders, moved) ?? []);
    quietly(() => mkdirSync(toSystemPath(workspace, workingDirectory), { recursive: true }));
    return {
      earlier: [...moved.keys()],
      ...(faults[0] !== undefined && { fault: faults[0] }),
      missing: () => [...moved.keys()].find((path) => !exists(workspace, path)),
      recordWriter: (pid) =>
        quietly(() => staging.recordCommand(pid, [...request.outputs, ...stateAndCheckpointPaths(request)])),
      finish(putBack) {
        for (const [path, aside] of moved) {
          if (putBack || isSource(workspace, path)) quietly(() => bringBack(path, aside, folders));
        }
        quietly(() => copies.remove());
        staging.remove();
      },
    };
  } catch (error) {
    const earlier = outputs.find((path) => exists(workspace, path));
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
    return exists(workspace, path) ? notSetAside(path, error) : undefined;
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
  if (exists(workspace, path)) return;
  const near = staging.isInWorkspace ? staging.next() : aside;
  if (near !== aside) copy(aside, near);
  withOpenParent(workspace, path, (target) => renameSync(near, target));
}

function exists(workspace: string, path: RelPath): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Asked only where the command has not made it. Where git can't say so, rather too much is kept than too little. */
function isSource(workspace: string, path: RelPath): boolean {
  return !exists(workspace, path) && isTracked(workspace, path) !== false;
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // The command's own outcome is what counts.
  }
}

/**
 * Copies of earlier outputs in a temporary folder, for a workspace whose staging folder is inside it. No rename
 * leads there, so the outputs are copied and deleted.
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
