// What lies at a path now, in the words of a path set.
//
//   file HASH | program HASH | link TARGET | folder | names HASH | absent | other | unreadable
//
// Of a name that was sought in the folders above the workspace or a tool: absent | above N N …, the folders that have it,
// counted from there up.
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

/** Assay's own folder in a workspace, there while something is restored or run. */
export const ASSAY_FOLDER = '.assay';

export class States {
  readonly roots: Roots;
  readonly #digests: FileDigests;
  readonly #outputs: ReadonlySet<AbsPath>;

  readonly #workspace: AbsPath;
  readonly #elsewhere: SystemFileMemo | undefined;

  /** `elsewhere`: for who may be told what was so a moment ago. */
  constructor(action: ActionPaths, digests: FileDigests, elsewhere?: SystemFileMemo) {
    this.#workspace = absPath(action.request.workspace);
    this.#elsewhere = elsewhere;
    this.roots = new Roots(action);
    this.#digests = digests;
    this.#outputs = new Set(
      outputsAndFoldersAbove(action.request.outputs, absPath(action.request.workspace)),
    );
  }

  /** As a path set is asked for it: what the run that told it left there itself counts as nothing. */
  readonly of = (seen: ObservedPath): string => {
    if (isAbove(seen.root)) return this.#above(seen);
    const path = this.roots.resolve(seen);
    if (path === undefined) return 'no such root';
    const state = this.#recentlyAt(path, seen.names ? seen.without : undefined);
    return state === seen.left ? ABSENT : state;
  };

  /** As a path set of a remote is asked for it (foreign-states.ts). `onChunk`: while a file is read. */
  ofForeign(seen: ObservedPath, onChunk: () => void): string {
    if (isAbove(seen.root)) return this.#above(seen);
    const path = this.roots.resolve(seen);
    if (path === undefined) return 'no such root';
    if (isRecordedAbsent(seen)) return isThere(path) ? 'there' : ABSENT;
    const isOurs = this.roots.isOwn(path);
    const state = this.#look(path, { without: seen.names ? seen.without : undefined, onChunk, isOurs });
    return state === seen.left ? ABSENT : state;
  }

  #recentlyAt(path: AbsPath, without: readonly string[] | undefined): string {
    const isElsewhere = without === undefined && !isAtOrBelow(path, this.#workspace);
    if (!this.#elsewhere || !isElsewhere) return this.at(path, without);
    return this.#elsewhere.state(path, () => this.at(path));
  }

  #above(seen: ObservedPath): string {
    const found = this.roots.pathsAbove(seen).flatMap((path, at) => (isThere(path) ? [at + 1] : []));
    return found.length === 0 ? ABSENT : `above ${found.join(' ')}`;
  }

  /** Where the paths of a set lie here. */
  pathsOf(set: PathSet): AbsPath[] {
    const { roots } = this;
    const paths = set.flatMap((seen) =>
      isAbove(seen.root) ? roots.pathsAbove(seen) : (roots.resolve(seen) ?? []),
    );
    return [...new Set(paths)];
  }

  /** `without`: the names of the folder count, without these. */
  at(path: AbsPath, without?: readonly string[]): string {
    return this.#look(path, { without, isOurs: true });
  }

  #look(path: AbsPath, how: StateOptions): string {
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

  /** The names in a folder that are not the action's own doing. */
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
    /* A file of /proc or /sys may have no end, or wait for an event. */
    if (!stats.isFile() || isVirtual(path)) return 'other';
    if (!isOurs && (stats.mode & 0o004) === 0) return 'unreadable';
    const kind = (stats.mode & 0o100) !== 0 ? 'program' : 'file';
    return `${kind} ${this.#digests.digest(path, stats, () => bytes, onChunk).hash}`;
  }
}

interface StateOptions {
  readonly without?: readonly string[] | undefined;
  /** Asked while a file is read; may throw. */
  readonly onChunk?: () => void;
  /** False: what other users may not read is not read. */
  readonly isOurs: boolean;
}

function isRecordedAbsent({ state, left }: ObservedPath): boolean {
  return state === ABSENT && left === '';
}

function isVirtual(path: AbsPath): boolean {
  return path.startsWith('/proc/') || path.startsWith('/sys/');
}

/** Where it can't be looked, a command can't look either. */
function isThere(path: AbsPath): boolean {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** They are made before an action runs, so they are always there for it, and its own afterwards. */
function* outputsAndFoldersAbove(outputs: readonly RelPath[], workspace: AbsPath): Generator<AbsPath> {
  for (const output of outputs) {
    for (let path = output; path !== ROOT; path = parentOf(path)) yield inside(workspace, path);
  }
}
