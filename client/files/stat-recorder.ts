// Performs the lstat and readdir calls of a scan and records each result.
// If every recorded path has the same stats later, a new scan of the same declaration sees the same
// (inputs/scan-memo.ts).
import { lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';
import { AssayError, isSystemError, messageOf } from '../../core/errors.ts';
import { type RelPath, toSystemPath } from '../../core/path.ts';
import { type FolderEntry, folderEntries } from './list-folder.ts';

export class StatRecorder {
  readonly workspace: string;
  /** By RelPath in the workspace, by absolute path outside. Undefined: nothing is at the path. */
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

  /**
   * A directory's mtime changes when an entry is added or removed, so its own stats stand for its listing.
   */
  list(folder: RelPath): FolderEntry[] {
    if (!this.recorded.has(folder)) this.lstat(folder);
    this.#listed.add(folder);
    return folderEntries(this.workspace, folder);
  }

  /** Directories whose existence matters but whose contents do not. */
  traversed(): Set<string> {
    const listed: ReadonlySet<string> = this.#listed;
    const traversed = new Set<string>();
    for (const [name, stats] of this.recorded)
      if (stats?.isDirectory() && !listed.has(name)) traversed.add(name);
    return traversed;
  }

  /**
   * For a file that is read through links: records the file and every link on the way, because each may
   * change.
   */
  follow(link: string): void {
    this.lstatAbove(realpathSync(link));
    for (const each of linksOf(link)) this.lstatAbove(each);
  }

  /** For paths outside the workspace. */
  lstatAbove(absolute: string): Stats | undefined {
    const stats = lstatOrAbsent(absolute);
    this.recorded.set(absolute, stats);
    return stats;
  }
}

/** The links that resolving a path goes through, each by its path without links. The path must resolve. */
function* linksOf(path: string): Generator<string> {
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

/** Undefined also for a path below a file (ENOTDIR). */
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
