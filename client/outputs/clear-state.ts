// Removes what earlier runs left in the state folders of a step, so that its command starts clean.
// A path that cannot be removed is named: the result of that command is not proven equal to a clean one's.
import { lstatSync } from 'node:fs';
import { messageOf } from '../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import { refuseLinkedParents } from './outputs.ts';
import { moveAside } from './restore.ts';
import { Staging } from './staging.ts';

/** Undefined if nothing remains; else what the command starts with. */
export function clearState(workspace: string, paths: readonly RelPath[]): string | undefined {
  const present = paths.filter((path) => isPresent(workspace, path));
  if (present.length === 0) return undefined;
  try {
    const staging = Staging.create(workspace);
    try {
      for (const path of present) {
        refuseLinkedParents(workspace, path);
        moveAside(workspace, path, staging);
      }
    } finally {
      staging.remove();
    }
    return undefined;
  } catch (error) {
    return `${LEFTOVER}, which could not be set aside (${messageOf(error)})`;
  }
}

/** What a command starts with if its state folders stay as they are; undefined if they are empty. */
export function leftoverState(workspace: string, paths: readonly RelPath[]): string | undefined {
  return paths.some((path) => isPresent(workspace, path)) ? LEFTOVER : undefined;
}

const LEFTOVER = 'the state that lay in the workspace';

/** A path that cannot be checked counts as present. */
function isPresent(workspace: string, path: RelPath): boolean {
  try {
    return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}
