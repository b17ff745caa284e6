// Scratch folders that one command left untouched, for the next command of the same graph run. Making and
// removing three folders takes longer than the work of a small step that never looks into them.
//
//   P1  A folder comes here only if a complete trace shows that no process changed anything at it or below it,
//       and that none outlived the command.
//   P2  The next command gets it under a name that no command had before: whoever remembers the old name finds
//       nothing there.
//   P3  Its home and tmp are the same directories with the same ctime as when they were made. A change by
//       anybody else shows there, and then the folder is removed.
import { chmodSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Access, TraceReport } from '../../hermeticity/trace/access.ts';
import { removeTemporaryFolder, renameTemporaryFolder } from '../../system/files/temporary-folder.ts';
import { type AbsPath, absPath, isAtOrBelow } from '../../system/paths/absolute-path.ts';

/** A private folder with an empty `home` and an empty `tmp`. */
export interface EmptyScratch {
  readonly root: string;
  /** By the file system's clock: every file that changes from now on is newer. */
  readonly madeAtMs: number;
  /** The inode and ctime of home and tmp. */
  readonly stamp: string;
}

export class ScratchPool {
  readonly #spare: EmptyScratch[] = [];

  /** Undefined if there is none, or if somebody has changed it. */
  take(): EmptyScratch | undefined {
    const spare = this.#spare.pop();
    if (!spare) return undefined;
    let { root } = spare;
    try {
      root = renameTemporaryFolder(root);
      // Not every file system changes the ctime of a folder that is renamed.
      chmodSync(root, PRIVATE_FOLDER);
      const found = stampOf(root);
      if (found.stamp === spare.stamp) return found;
    } catch {
      // Somebody removed a part of it.
    }
    removeTemporaryFolder(root);
    return undefined;
  }

  /** False if the folder must not be used again. `report`: what its command did. */
  put(scratch: EmptyScratch, report: TraceReport): boolean {
    if (!leftUntouched(absPath(scratch.root), report)) return false;
    this.#spare.push(scratch);
    return true;
  }

  /** Removes all folders. */
  close(): void {
    for (const { root } of this.#spare.splice(0)) removeTemporaryFolder(root);
  }
}

const PRIVATE_FOLDER = 0o700;

export function stampOf(root: string): EmptyScratch {
  const stamps = ['home', 'tmp'].map((name) => {
    const { ino, ctimeMs } = lstatSync(join(root, name));
    return `${ino} ${ctimeMs}`;
  });
  return { root, madeAtMs: lstatSync(root).ctimeMs, stamp: stamps.join(' ') };
}

/** Whether the trace is complete and shows no change at the folder or below it, and no process that remains (P1). */
function leftUntouched(folder: AbsPath, { complete, processes, accesses }: TraceReport): boolean {
  if (!complete || processes.some(({ survived }) => survived)) return false;
  return !accesses.some((access) => changedPaths(access).some((path) => isAtOrBelow(path, folder)));
}

function changedPaths(access: Access): readonly AbsPath[] {
  switch (access.kind) {
    case 'read':
    case 'probe':
    case 'absent':
    case 'list':
    case 'exec':
    case 'followed':
    case 'entered':
    case 'io_uring':
    case 'asked':
      return NONE;
    case 'rename':
    case 'hardlink':
      return [access.path, access.to];
    case 'connect':
    case 'bind':
      return access.address.family === 'unix' ? [access.address.path] : NONE;
    default:
      return [access.path];
  }
}

const NONE: readonly AbsPath[] = [];
