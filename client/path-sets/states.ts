// The current state of a path, as a text that a path set records:
//
//   file HASH | program HASH | link TARGET | linked ROOT PATH | folder | names HASH | absent | other |
//   unreadable
//
// The ignore file that Assay makes in its own folder while it works is `absent`.
// With the lens of a file, as ../lenses/ says: placed HASH | placed program HASH | compiled | fits … | stale ….
// For a name that was searched in the folders above a root: absent | above N N …, the numbers of the folders
// that have it, counted upwards. For a pattern of names (name-patterns.ts): absent | there | unreadable.
// For a property of the machine (machine.ts, kernel-files.ts): value HASH | names HASH | folder | absent | unreadable | unknown.
// For a library in the loader's cache (loader-cache.ts): value HASH | absent | unknown.
import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { nameFromBytes, type RelPath } from '../../core/path.ts';
import { LOADER_CACHE, MACHINE, type ObservedPath, type PathSet } from '../../core/path-set.ts';
import { type FileLens, isFileLens } from '../../hermeticity/lenses/file-lenses.ts';
import { namesNow } from '../../hermeticity/trace/folder-names.ts';
import { type AbsPath, absPath, isAtOrBelow, relativeIn, toBytes } from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER, IGNORE_STATE } from '../../system/paths/assay-folder.ts';
import { OwnedCaches } from '../action/owned-caches.ts';
import type { FileDigests } from '../files/file-digest.ts';
import type { StatRow } from '../files/stat-table.ts';
import { isTracked } from '../inputs/git-tracked.ts';
import { compiledState } from '../lenses/compiled-module.ts';
import { mayBePlaced, placedState } from '../lenses/placed-text.ts';
import { type Listing, Listings } from './listings.ts';
import { LOADER_CACHE_FILE, type LoaderCache, loaderCache } from './loader-cache.ts';
import { isComparable, isSteady, Machine, type MachineProperty } from './machine.ts';
import {
  folderOfPattern,
  isPattern,
  matchesNamePattern,
  nameOfPattern,
  rootOfPattern,
} from './name-patterns.ts';
import { PrivatePaths } from './private-paths.ts';
import { type ActionPaths, isAbove, type RootedPath, Roots } from './roots.ts';
import type { SystemFileMemo } from './system-file-memo.ts';

export const ABSENT_STATE = 'absent';
const UNREADABLE = 'unreadable';
const ASSAYS_IGNORE_FILE = `/${ASSAY_FOLDER}/.gitignore`;

/** What shows that a path set still holds, on the same machine, boot and user. */
export interface SetCheck {
  /** Their stats count. For a pattern, its folders: their times change with their names. */
  readonly paths: readonly AbsPath[];
  readonly properties: readonly MachineProperty[];
}

export class States {
  readonly roots: Roots;
  readonly machine: Machine;
  #privatePaths: PrivatePaths | undefined;
  readonly #digests: FileDigests;
  /** What counts of the names in a folder. */
  readonly listings: Listings;
  readonly #workspace: AbsPath;
  readonly #caches: OwnedCaches;
  readonly #tracked = new Map<RelPath, boolean>();
  readonly #systemFiles: SystemFileMemo | undefined;
  /** Set when the first library is looked up. */
  #loaderCache: { readonly found: LoaderCache | undefined } | undefined;

  /** `systemFiles`: answers paths outside the workspace from an earlier lookup of this process. */
  constructor(action: ActionPaths, digests: FileDigests, systemFiles?: SystemFileMemo) {
    this.#workspace = absPath(action.request.workspace);
    this.#caches = new OwnedCaches(action.request);
    this.#systemFiles = systemFiles;
    this.roots = new Roots(action, systemFiles);
    this.machine = new Machine(action.request.workspace, () => this.roots.sourceTrees());
    this.#digests = digests;
    this.listings = new Listings(action.request, (path) => this.hides(path));
  }

  /** Created on first use: a local hit needs none. */
  get privatePaths(): PrivatePaths {
    this.#privatePaths ??= new PrivatePaths(this.#workspace, this.roots);
    return this.#privatePaths;
  }

  /** The state of a recorded path. A file that the recording run itself left there counts as absent. */
  readonly of = (seen: ObservedPath): string => {
    const fact = this.#factOf(seen);
    if (fact !== undefined) return fact;
    if (isPattern(seen.root)) return this.#like(seen);
    if (isAbove(seen.root)) return this.#above(seen);
    const state = this.#knownState(seen) ?? this.#stateNow(seen);
    return state === seen.left ? ABSENT_STATE : state;
  };

  /** Answers most paths of a graph's lookups before they are parsed. */
  #knownState({ root, path, names }: ObservedPath): string | undefined {
    return root === '' && !names ? this.#systemFiles?.knownState(path) : undefined;
  }

  #stateNow(seen: ObservedPath): string {
    const path = this.roots.resolve(seen);
    if (path !== undefined && this.hides(path)) return ABSENT_STATE;
    if (path === undefined) return 'no such root';
    return lensOf(seen) === ''
      ? this.#memoized(path, seen.names ? seen : undefined)
      : this.#read(path, { lens: lensOf(seen) });
  }

  /**
   * The same for a path set of a remote (foreign-states.ts): content that may be private is not read.
   * `onChunk` is called while a file is read.
   */
  ofForeign(seen: ObservedPath, onChunk: () => void): string {
    const fact = this.#factOf(seen);
    if (fact !== undefined) return fact;
    if (isPattern(seen.root)) return this.#like(seen);
    if (isAbove(seen.root)) return this.#above(seen);
    const path = this.roots.resolve(seen);
    if (path === undefined) return 'no such root';
    if (this.hides(path)) return ABSENT_STATE;
    if (isRecordedAbsent(seen)) return isThere(path) && !this.#isAssays(path) ? 'there' : ABSENT_STATE;
    const state = this.privatePaths.isPrivate(path)
      ? this.#withoutContent(path)
      : this.#read(path, { listing: seen.names ? seen : undefined, lens: lensOf(seen), onChunk });
    return state === seen.left ? ABSENT_STATE : state;
  }

  /**
   * Whether the path lies in a cache of the command's own tools, which Assay sets aside: the command never finds
   * it there. A cache that git tracks is a source, and stays in sight.
   */
  hides(path: AbsPath): boolean {
    const relative = relativeIn(this.#workspace, path);
    const cache = relative && this.#caches.cacheAround(relative);
    if (!cache) return false;
    const known = this.#tracked.get(cache) ?? isTracked(this.#workspace, cache) !== false;
    this.#tracked.set(cache, known);
    return !known;
  }

  /** Undefined for a path. */
  #factOf({ root, path }: ObservedPath): string | undefined {
    if (root === MACHINE) return this.machine.state(path);
    if (root !== LOADER_CACHE) return undefined;
    this.#loaderCache ??= { found: loaderCache() };
    const { found } = this.#loaderCache;
    return found ? found.state(path, () => this.machine.state('cpu')) : 'unknown';
  }

  #memoized(path: AbsPath, listing: Listing | undefined): string {
    const isOutside = listing === undefined && !isAtOrBelow(path, this.#workspace);
    if (!this.#systemFiles || !isOutside) return this.#read(path, { listing });
    return this.#systemFiles.state(path, () => this.at(path));
  }

  #above(seen: ObservedPath): string {
    const found = this.roots.pathsAbove(seen).flatMap((path, at) => (isThere(path) ? [at + 1] : []));
    return found.length === 0 ? ABSENT_STATE : `above ${found.join(' ')}`;
  }

  /** Whether a name in the folder of a pattern is like it. */
  #like({ root, path }: ObservedPath): string {
    const folders = this.#pathsAt({ root: rootOfPattern(root), path: folderOfPattern(path) });
    if (folders.length === 0) return 'no such root';
    const states = folders.map((folder) => nameLike(nameOfPattern(path), folder));
    return states.find((state) => state !== ABSENT_STATE) ?? ABSENT_STATE;
  }

  /**
   * `stateOf`: what was compared for this set. Undefined if a fact may change without any stat or property of
   * the machine showing it.
   */
  checkOf(set: PathSet, stateOf: (seen: ObservedPath) => string): SetCheck | undefined {
    const properties = set
      .filter(({ root, path }) => root === MACHINE && !isSteady(path))
      .map((seen) => [seen.path, stateOf(seen)] as const);
    if (!properties.every(([property, state]) => isComparable(property, state))) return undefined;
    const paths = set.flatMap(({ root, path }) => {
      if (root === MACHINE) return [];
      if (root === LOADER_CACHE) return LOADER_CACHE_FILE;
      return isPattern(root)
        ? this.#pathsAt({ root: rootOfPattern(root), path: folderOfPattern(path) })
        : this.#pathsAt({ root, path });
    });
    return { paths: [...new Set(paths)], properties };
  }

  #pathsAt(rooted: RootedPath): AbsPath[] {
    if (isAbove(rooted.root)) return this.roots.pathsAbove(rooted);
    const path = this.roots.resolve(rooted);
    return path === undefined ? [] : [path];
  }

  /** What a recorded listing shows now, as `ObservedPath.shown`. Undefined if it can't be read. */
  readonly shownNow = (seen: ObservedPath): readonly string[] | undefined => {
    const path = this.roots.resolve(seen);
    try {
      return path && this.listings.counted(path, namesNow(path).entries, seen);
    } catch {
      return undefined;
    }
  };

  /** `stats`: of the path, if they are known. `lens`: which part of a file counts. */
  at(path: AbsPath, stats?: Stats, lens: FileLens | '' = ''): string {
    return this.#read(path, { stats, lens });
  }

  /** The stats of a file before somebody linked it (stat-index.ts), if its content is still the same. */
  beforeLinks(path: AbsPath, stats: Stats): StatRow | undefined {
    const before = this.#digests.beforeLinks?.(path, stats);
    const isSame = before && this.#digests.digest(path, stats, () => toBytes(path)).hash === before.hash;
    return isSame ? before.row : undefined;
  }

  /** The lens of a file that names the workspace because an installer wrote it; else "". */
  lensOfText(path: AbsPath, stats: Stats | undefined): FileLens | '' {
    if (!stats?.isFile() || !mayBePlaced(this.#workspace, path)) return '';
    return placedState(this.#workspace, path, stats) === undefined ? '' : 'place-1';
  }

  /** That a folder exists is not private. */
  #withoutContent(path: AbsPath): string {
    return lstatSync(toBytes(path), { throwIfNoEntry: false })?.isDirectory() ? 'folder' : UNREADABLE;
  }

  #read(path: AbsPath, how: StateOptions): string {
    const bytes = toBytes(path);
    try {
      const stats = how.stats ?? lstatSync(bytes, { throwIfNoEntry: false });
      if (stats?.isDirectory() && how.listing)
        return this.listings.state(path, namesNow(path).entries, how.listing);
      if (how.lens) return this.#throughLens(path, stats, how.lens);
      return stats ? this.#stateOf(path, bytes, stats, how) : ABSENT_STATE;
    } catch (error) {
      if (error instanceof AssayError && error.code === 'ASSAY_PATH_SET_REFUSED') throw error;
      return isSystemError(error, 'ENOTDIR') ? ABSENT_STATE : UNREADABLE;
    }
  }

  /** A file with the lens of a newer version has no state that fits. */
  #throughLens(path: AbsPath, stats: Stats | undefined, lens: string): string {
    if (!isFileLens(lens)) return 'unknown lens';
    const byBytes = () => this.#read(path, { stats });
    if (lens !== 'place-1') return compiledState(path, lens, byBytes);
    return (stats && placedState(this.#workspace, path, stats)) ?? byBytes();
  }

  #stateOf(path: AbsPath, bytes: Buffer, stats: Stats, { onChunk }: StateOptions): string {
    if (stats.isDirectory()) return 'folder';
    if (stats.isSymbolicLink()) return this.#linkState(nameFromBytes(readlinkSync(bytes, 'buffer')));
    // Reading a file of /proc or /sys may never end.
    if (!stats.isFile() || isVirtual(path)) return 'other';
    const kind = (stats.mode & 0o100) !== 0 ? 'program' : 'file';
    const state = `${kind} ${this.#digests.digest(path, stats, () => bytes, onChunk).hash}`;
    return state === IGNORE_STATE && path.endsWith(ASSAYS_IGNORE_FILE) ? ABSENT_STATE : state;
  }

  /** The ignore file of Assay's folder, which is there only while Assay works in the workspace. */
  #isAssays(path: AbsPath): boolean {
    return path.endsWith(ASSAYS_IGNORE_FILE) && this.at(path) === ABSENT_STATE;
  }

  /** A link into a source tree is the same link in another checkout. */
  #linkState(target: string): string {
    const tree = this.roots.inSourceTree(target);
    return tree ? `linked ${tree.root} ${tree.path}` : `link ${target}`;
  }
}

interface StateOptions {
  /** The state of a folder is its names. */
  readonly listing?: Listing | undefined;
  readonly lens?: string;
  readonly stats?: Stats | undefined;
  /** Called while a file is read; may throw. */
  readonly onChunk?: () => void;
}

/** Of a file; the lens of a listing belongs to the listing. */
function lensOf({ names, lens }: Pick<ObservedPath, 'names' | 'lens'>): string {
  return names ? '' : lens;
}

export function isRecordedAbsent({ state, left }: ObservedPath): boolean {
  return state === ABSENT_STATE && left === '';
}

function isVirtual(path: AbsPath): boolean {
  return path.startsWith('/proc/') || path.startsWith('/sys/');
}

function nameLike(pattern: string, folder: AbsPath): string {
  try {
    const names = readdirSync(toBytes(folder), { encoding: 'buffer' }).map(nameFromBytes);
    return names.some((name) => matchesNamePattern(name, pattern)) ? 'there' : ABSENT_STATE;
  } catch (error) {
    return isSystemError(error, 'ENOENT', 'ENOTDIR') ? ABSENT_STATE : 'unreadable';
  }
}

/** False also if the path cannot be reached: a command could not reach it either. */
function isThere(path: AbsPath): boolean {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}
