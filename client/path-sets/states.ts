// The current state of a path, as a text that a path set records:
//
//   file HASH | program HASH | link TARGET | folder | names HASH | absent | other | unreadable
//
// For a name that was searched in the folders above a root: absent | above N N …, the numbers of the folders
// that have it, counted upwards.
import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { childOf, nameFromBytes, parentOf, type RelPath, ROOT } from '../../core/path.ts';
import type { ObservedPath, PathSet } from '../../core/path-set.ts';
import {
  type AbsPath,
  absPath,
  inside,
  isAtOrBelow,
  toBytes,
} from '../../hermeticity/system/absolute-path.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { type ActionPaths, isAbove, Roots } from './roots.ts';
import type { SystemFileMemo } from './system-file-memo.ts';

export const ABSENT = 'absent';

/** Assay's folder in a workspace; it exists while Assay restores or runs something. */
export const ASSAY_FOLDER = '.assay';

export class States {
  readonly roots: Roots;
  readonly #digests: FileDigests;
  readonly #outputs: ReadonlySet<AbsPath>;

  readonly #workspace: AbsPath;
  readonly #systemFiles: SystemFileMemo | undefined;

  /** `systemFiles`: answers paths outside the workspace from an earlier lookup of this process. */
  constructor(action: ActionPaths, digests: FileDigests, systemFiles?: SystemFileMemo) {
    this.#workspace = absPath(action.request.workspace);
    this.#systemFiles = systemFiles;
    this.roots = new Roots(action);
    this.#digests = digests;
    this.#outputs = new Set(
      outputsAndFoldersAbove(action.request.outputs, absPath(action.request.workspace)),
    );
  }

  /** The state of a recorded path. A file that the recording run itself left there counts as absent. */
  readonly of = (seen: ObservedPath): string => {
    if (isAbove(seen.root)) return this.#above(seen);
    const path = this.roots.resolve(seen);
    if (path === undefined) return 'no such root';
    const state = this.#memoized(path, seen.names ? seen.without : undefined);
    return state === seen.left ? ABSENT : state;
  };

  /** The same for a path set of a remote (foreign-states.ts). `onChunk` is called while a file is read. */
  ofForeign(seen: ObservedPath, onChunk: () => void): string {
    if (isAbove(seen.root)) return this.#above(seen);
    const path = this.roots.resolve(seen);
    if (path === undefined) return 'no such root';
    if (isRecordedAbsent(seen)) return isThere(path) ? 'there' : ABSENT;
    const isOurs = this.roots.isOwn(path);
    const state = this.#read(path, { without: seen.names ? seen.without : undefined, onChunk, isOurs });
    return state === seen.left ? ABSENT : state;
  }

  #memoized(path: AbsPath, without: readonly string[] | undefined): string {
    const isOutside = without === undefined && !isAtOrBelow(path, this.#workspace);
    if (!this.#systemFiles || !isOutside) return this.at(path, without);
    return this.#systemFiles.state(path, () => this.at(path));
  }

  #above(seen: ObservedPath): string {
    const found = this.roots.pathsAbove(seen).flatMap((path, at) => (isThere(path) ? [at + 1] : []));
    return found.length === 0 ? ABSENT : `above ${found.join(' ')}`;
  }

  /** The absolute paths of a set on this machine. */
  pathsOf(set: PathSet): AbsPath[] {
    const { roots } = this;
    const paths = set.flatMap((seen) =>
      isAbove(seen.root) ? roots.pathsAbove(seen) : (roots.resolve(seen) ?? []),
    );
    return [...new Set(paths)];
  }

  /** With `without`: the state of a folder is its names, except these. */
  at(path: AbsPath, without?: readonly string[]): string {
    return this.#read(path, { without, isOurs: true });
  }

  #read(path: AbsPath, how: StateOptions): string {
    const bytes = toBytes(path);
    try {
      const stats = lstatSync(bytes, { throwIfNoEntry: false });
      if (stats?.isDirectory() && how.without) return `names ${this.#namesHash(path, how.without)}`;
      return stats ? this.#stateOf(path, bytes, stats, how) : ABSENT;
    } catch (error) {
      if (error instanceof AssayError && error.code === 'ASSAY_PATH_SET_REFUSED') throw error;
      return isSystemError(error, 'ENOTDIR') ? ABSENT : 'unreadable';
    }
  }

  /** The names in a folder, except outputs, Assay's folder and `without`. */
  names(folder: AbsPath, without: readonly string[]): string[] {
    const own = new Set([ASSAY_FOLDER, ...without]);
    return readdirSync(toBytes(folder), { encoding: 'buffer' })
      .map(nameFromBytes)
      .filter((name) => !own.has(name))
      .filter((name) => !this.#outputs.has(inside(folder, childOf(ROOT, name))))
      .sort();
  }

  #namesHash(folder: AbsPath, without: readonly string[]): string {
    return digestOf(Buffer.from(this.names(folder, without).join('\0'))).hash;
  }

  #stateOf(path: AbsPath, bytes: Buffer, stats: Stats, { onChunk, isOurs }: StateOptions): string {
    if (stats.isDirectory()) return 'folder';
    if (stats.isSymbolicLink()) return `link ${nameFromBytes(readlinkSync(bytes, 'buffer'))}`;
    // Reading a file of /proc or /sys may never end.
    if (!stats.isFile() || isVirtual(path)) return 'other';
    if (!isOurs && (stats.mode & 0o004) === 0) return 'unreadable';
    const kind = (stats.mode & 0o100) !== 0 ? 'program' : 'file';
    return `${kind} ${this.#digests.digest(path, stats, () => bytes, onChunk).hash}`;
  }
}

interface StateOptions {
  readonly without?: readonly string[] | undefined;
  /** Called while a file is read; may throw. */
  readonly onChunk?: () => void;
  /** False: a file that other users may not read is not read. */
  readonly isOurs: boolean;
}

function isRecordedAbsent({ state, left }: ObservedPath): boolean {
  return state === ABSENT && left === '';
}

function isVirtual(path: AbsPath): boolean {
  return path.startsWith('/proc/') || path.startsWith('/sys/');
}

/** False also if the path cannot be reached: a command could not reach it either. */
function isThere(path: AbsPath): boolean {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Assay creates these folders before an action runs, so for the action they always exist. */
function* outputsAndFoldersAbove(outputs: readonly RelPath[], workspace: AbsPath): Generator<AbsPath> {
  for (const output of outputs) {
    for (let path = output; path !== ROOT; path = parentOf(path)) yield inside(workspace, path);
  }
}
