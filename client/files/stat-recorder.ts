// Everything that a scan asks the file system about, through one window, so that it can be written down: a later scan of
// the same declaration would see the same if each of these looked the same (see scan-memo.ts).
import { lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import { type FolderEntry, listFolder } from './list-folder.ts';

export class StatRecorder {
  readonly workspace: string;
  /** By RelPath for what lies in the workspace, by absolute path for the rest. Undefined: nothing was there. */
  readonly recorded = new Map<string, Stats | undefined>();
  readonly #listed = new Set<RelPath>();

  constructor(workspace: string) {
    this.workspace = workspace;
  }

  lstat(path: RelPath): Stats | undefined {
    const stats = lstatOrAbsent(toSystemPath(this.workspace, path));
    this.recorded.set(path, stats);
    return stats;
  }

  /** A folder's own times change when an entry comes or goes: looking at it stands for its whole list. */
  list(folder: RelPath): FolderEntry[] {
    if (!this.recorded.has(folder)) this.lstat(folder);
    this.#listed.add(folder);
    return listFolder(this.workspace, folder);
  }

  /** The folders of which only that they are folders was asked, not what is in them. */
  traversed(): Set<string> {
    const listed: ReadonlySet<string> = this.#listed;
    const passed = new Set<string>();
    for (const [name, stats] of this.recorded)
      if (stats?.isDirectory() && !listed.has(name)) passed.add(name);
    return passed;
  }

  /** For a file that is read through a link: every link on the way to it may be made to lead elsewhere. */
  follow(link: string): void {
    this.lstatAbove(realpathSync(link));
    for (const step of linksOnTheWay(link)) this.lstatAbove(step);
  }

  /** For what lies above the workspace. */
  lstatAbove(absolute: string): Stats | undefined {
    const stats = lstatOrAbsent(absolute);
    this.recorded.set(absolute, stats);
    return stats;
  }
}

/** By their own places, with no link above them. The way must have an end. */
function* linksOnTheWay(path: string): Generator<string> {
  const parts = path.split('/');
  let folder = '/';
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    const at = resolve(folder, part);
    if (!lstatSync(at).isSymbolicLink()) {
      folder = at;
      continue;
    }
    yield at;
    const target = readlinkSync(at);
    parts.unshift(target.startsWith('/') ? '/' : '.', ...target.split('/'));
  }
}

const QUIETLY = { throwIfNoEntry: false } as const;

/** Below a file there is nothing, either. */
function lstatOrAbsent(systemPath: string | Buffer): Stats | undefined {
  try {
    return lstatSync(systemPath, QUIETLY);
  } catch (cause) {
    if (isSystemError(cause, 'ENOTDIR')) return undefined;
    throw new AssayError('ASSAY_INPUT_UNREADABLE', messageOf(cause), { cause });
  }
}

/** What is at a name that `seen` holds now. */
export function lstatIn(workspace: string, name: string): Stats | undefined {
  return lstatOrAbsent(name.startsWith('/') ? name : toSystemPath(workspace, name as RelPath));
}
