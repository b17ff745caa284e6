// Everything that a scan asks the file system about, through one window, so that it can be written down: a later scan of
// the same declaration would see the same if each of these looked the same (see scan-memo.ts).
import { type BigIntStats, lstatSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import { type Listed, listFolder } from './list-folder.ts';

export class Observations {
  readonly workspace: string;
  /** By RelPath for what lies in the workspace, by absolute path for the rest. Undefined: nothing was there. */
  readonly seen = new Map<string, BigIntStats | undefined>();

  constructor(workspace: string) {
    this.workspace = workspace;
  }

  lstat(path: RelPath): BigIntStats | undefined {
    const stats = lstatSync(toSystemPath(this.workspace, path), QUIETLY);
    this.seen.set(path, stats);
    return stats;
  }

  /** A folder's own times change when an entry comes or goes: looking at it stands for its whole list. */
  list(folder: RelPath): Listed[] {
    if (!this.seen.has(folder)) this.lstat(folder);
    return listFolder(this.workspace, folder);
  }

  /** For what lies above the workspace. */
  exists(absolute: string): boolean {
    const stats = lstatSync(absolute, QUIETLY);
    this.seen.set(absolute, stats);
    return stats !== undefined;
  }
}

const QUIETLY = { bigint: true, throwIfNoEntry: false } as const;

/** What is at a name that `seen` holds now. */
export function lookAgain(workspace: string, name: string): BigIntStats | undefined {
  return lstatSync(isAbsolute(name) ? name : toSystemPath(workspace, name as RelPath), QUIETLY);
}
