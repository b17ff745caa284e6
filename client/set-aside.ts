// A command starts without its own earlier outputs: what lies in a declared output afterwards is what this run made, and
// nothing stale is sealed with it. They are moved, not deleted: where the command does not get as far as writing an
// output, the earlier one comes back.
import { existsSync, renameSync } from 'node:fs';
import { AssayError } from '../core/errors.ts';
import { type RelPath, toSystemPath } from '../core/path.ts';
import { makeParents, moveAside } from './restore.ts';
import { Staging } from './staging.ts';

export interface SetAside {
  /** Says which process writes the outputs now, so that a later run can end it if this one is killed. */
  writtenBy(pid: number): void;
  /** Ends it: puts back what a failed command did not replace, and drops the rest. */
  settle(succeeded: boolean): void;
}

export function setOutputsAside(workspace: string, outputs: readonly RelPath[]): SetAside {
  if (outputs.length === 0) return { writtenBy() {}, settle() {} };
  const staging = Staging.create(workspace);
  const moved = new Map<RelPath, string>();
  for (const path of outputs) {
    if (!prepare(workspace, path)) continue;
    const aside = moveAside(workspace, path, staging);
    if (aside !== undefined) moved.set(path, aside);
  }
  return {
    writtenBy: (pid) => staging.recordCommand(pid),
    settle(succeeded) {
      if (!succeeded) putBack(workspace, moved);
      staging.remove();
    },
  };
}

/** An output behind a link may lie anywhere: nothing is moved there, and sealing will refuse to publish it. */
function prepare(workspace: string, path: RelPath): boolean {
  try {
    makeParents(workspace, path);
    return true;
  } catch (error) {
    if (error instanceof AssayError) return false;
    throw error;
  }
}

function putBack(workspace: string, moved: ReadonlyMap<RelPath, string>): void {
  for (const [path, aside] of moved) {
    const place = toSystemPath(workspace, path);
    if (!existsSync(place)) renameSync(aside, place);
  }
}
