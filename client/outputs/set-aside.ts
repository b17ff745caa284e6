// A command starts without its own earlier outputs, which it finds nowhere in its workspace: what lies in a declared output
// afterwards is what this run made, and nothing stale is sealed with it. They are moved, not deleted: where the command does
// not get as far as writing an output, the earlier one comes back. One that ends well and did not make it leaves nothing there, as
// it would in a fresh checkout; unless git tracks what was there: that is somebody's source, and was declared by mistake.
//
// Where that can't be done (a mount point, another file system, no rights) the command runs all the same, with the
// earlier output in place, and what it makes is not published.
import { lstatSync, mkdirSync, renameSync } from 'node:fs';
import { messageOf } from '../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import { type RunRequest, stateAndCheckpointPaths } from '../action/request.ts';
import { isTracked } from '../inputs/git-tracked.ts';
import { withAnchor } from './open-parent.ts';
import { moveAside } from './restore.ts';
import { copy, Shelter } from './shelter.ts';
import { Staging } from './staging.ts';

export interface SetAside {
  /** The outputs that an earlier run had left. */
  readonly earlier: readonly RelPath[];
  /** Why an earlier output is still in place, if one is. */
  readonly fault?: string;
  /** Of the outputs that an earlier run had left, or somebody wrote, one that is not there now. */
  unmade(): RelPath | undefined;
  /** Says which process writes the outputs now, so that a later run can end it if this one is killed. */
  writtenBy(pid: number): void;
  /** Ends it: puts back what was not replaced, if that is wanted, and drops the rest. */
  settle(putBack: boolean): void;
}

export function setOutputsAside(
  request: RunRequest,
  outputs: readonly RelPath[] = request.outputs,
): SetAside {
  const { workspace, workingDirectory } = request;
  if (outputs.length === 0 && stateAndCheckpointPaths(request).length === 0) return NOTHING_TO_DO;
  const moved = new Map<RelPath, string>();
  try {
    const places = { workspace, staging: Staging.create(workspace), shelter: new Shelter() };
    const { staging, shelter } = places;
    const faults = outputs.flatMap((path) => moveOutput(path, places, moved) ?? []);
    quietly(() => mkdirSync(toSystemPath(workspace, workingDirectory), { recursive: true }));
    return {
      earlier: [...moved.keys()],
      ...(faults[0] !== undefined && { fault: faults[0] }),
      unmade: () => [...moved.keys()].find((path) => !isThere(workspace, path)),
      writtenBy: (pid) =>
        quietly(() => staging.recordCommand(pid, [...request.outputs, ...stateAndCheckpointPaths(request)])),
      settle(putBack) {
        for (const [path, aside] of moved) {
          if (putBack || isSource(workspace, path)) quietly(() => bringBack(path, aside, places));
        }
        quietly(() => shelter.remove());
        staging.remove();
      },
    };
  } catch (error) {
    const earlier = outputs.find((path) => isThere(workspace, path));
    return earlier === undefined ? NOTHING_TO_DO : { ...NOTHING_TO_DO, fault: notSetAside(earlier, error) };
  }
}

const NOTHING_TO_DO: SetAside = { earlier: [], unmade: () => undefined, writtenBy() {}, settle() {} };

interface Places {
  readonly workspace: string;
  readonly staging: Staging;
  readonly shelter: Shelter;
}

function moveOutput(path: RelPath, places: Places, moved: Map<RelPath, string>): string | undefined {
  const { workspace, staging } = places;
  try {
    const aside = moveAside(workspace, path, staging);
    if (aside !== undefined) moved.set(path, staging.isInSight ? hide(path, aside, places) : aside);
    return undefined;
  } catch (error) {
    return isThere(workspace, path) ? notSetAside(path, error) : undefined;
  }
}

function hide(path: RelPath, aside: string, { workspace, shelter }: Places): string {
  try {
    return shelter.takeIn(aside);
  } catch (error) {
    withAnchor(workspace, path, (place) => renameSync(aside, place));
    throw error;
  }
}

function notSetAside(path: RelPath, error: unknown): string {
  return `its earlier output ${path} could not be set aside: ${messageOf(error)}`;
}

function bringBack(path: RelPath, aside: string, { workspace, staging }: Places): void {
  if (isThere(workspace, path)) return;
  const near = staging.isInSight ? staging.next() : aside;
  if (near !== aside) copy(aside, near);
  withAnchor(workspace, path, (place) => renameSync(near, place));
}

function isThere(workspace: string, path: RelPath): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Asked only where the command has not made it. Where git can't say so, rather too much is kept than too little. */
function isSource(workspace: string, path: RelPath): boolean {
  return !isThere(workspace, path) && isTracked(workspace, path) !== false;
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // The command's own outcome is what counts.
  }
}
