// The states of the paths of a path set that came from a remote.
// A remote learns nothing about paths outside the workspace, the folders above it, the tools and the
// installed software, but whether a path exists that was recorded as absent. Properties of the machine are compared by a hash (machine.ts).
//
// A remote may name any path, and the next request of the client depends on the state of that path. So a set
// with any other path is refused as a whole. The time for all sets of one lookup is bounded. A path that is
// recorded as absent is only checked for existence. Content that may be private (private-paths.ts) is
// "unreadable". A user's own file below a home refuses the set: no set that Assay publishes has one.
import { AssayError } from '../../core/errors.ts';
import { parseRelPath } from '../../core/path.ts';
import { LOADER_CACHE, MACHINE, type ObservedPath, type PathSet, type StateOf } from '../../core/path-set.ts';
import { isComparedKernelFile } from '../../hermeticity/verdict/kernel-files.ts';
import { DEFAULT_POLICY } from '../../hermeticity/verdict/policy.ts';
import {
  type AbsPath,
  absPath,
  FILESYSTEM_ROOT,
  inside,
  readable,
} from '../../system/paths/absolute-path.ts';
import { OBSERVED } from '../limits.ts';
import { folderOfPattern, isPattern, rootOfPattern } from './name-patterns.ts';
import { isAbove, isInstalled, isKernelPath, WORKSPACE } from './roots.ts';
import { isRecordedAbsent, type States } from './states.ts';
import type { SystemFileMemo } from './system-file-memo.ts';

export class ForeignStates {
  readonly #states: States;
  readonly #now: () => number;
  readonly #systemFiles: SystemFileMemo | undefined;
  /** Facts that `check` has let through: the lookup asks for their states next. */
  readonly #admitted = new Set<ObservedPath>();
  /** Set at the first check. */
  #until: number | undefined;

  /** `systemFiles`: answers paths of installed software from an earlier lookup of this process. */
  constructor(states: States, now: () => number, systemFiles?: SystemFileMemo) {
    this.#states = states;
    this.#now = now;
    this.#systemFiles = systemFiles;
  }

  /** Throws ASSAY_PATH_SET_REFUSED. */
  check(set: PathSet): void {
    if (set.length > OBSERVED.maxForeignPaths) throw refused('a path set of the remote is too large');
    for (const seen of set) {
      if (this.#systemFiles?.foreignState(seen) !== undefined) continue;
      this.#check(seen);
      this.#admitted.add(seen);
    }
  }

  /** Whether other clients look at this path. */
  admits(seen: ObservedPath): boolean {
    try {
      this.#check(seen);
      return true;
    } catch {
      return false;
    }
  }

  /** Throws ASSAY_PATH_SET_REFUSED for a refused path, and when the time is up. */
  readonly of: StateOf = (seen) => {
    const known = this.#systemFiles?.foreignState(seen);
    if (known !== undefined) return known;
    if (!this.#admitted.has(seen)) this.#check(seen);
    this.#checkTime();
    const state = this.#states.ofForeign(seen, () => this.#checkTime());
    if (this.#isSystems(seen)) this.#systemFiles?.keepForeignState(seen, state);
    return state;
  };

  /** Installed by the system, and in no home: neither the action nor its tools change what is said about it. */
  #isSystems({ root, path }: ObservedPath): boolean {
    const { roots, privatePaths } = this.#states;
    const absolute = root === '' ? roots.resolve({ root, path }) : undefined;
    const real = absolute && privatePaths.realPath(absolute);
    return real !== undefined && isInstalled(real) && !roots.isInWorkspace(real) && !roots.homes.around(real);
  }

  #check(seen: ObservedPath): void {
    for (const { path, as } of isPattern(seen.root) ? this.#pathsOfPattern(seen) : this.#pathsOf(seen)) {
      if (this.#isAllowed(path, as)) continue;
      throw refused(
        `the remote's result depends on ${readable(path)}, which lies neither in or above the workspace nor among installed software`,
      );
    }
  }

  #pathsOf(seen: ObservedPath): CheckedPath[] {
    const path = this.#pathOf(seen);
    return path === undefined ? [] : [{ path, as: seen }];
  }

  /** A pattern asks about all names of its folders, as a listing does. */
  #pathsOfPattern(seen: ObservedPath): CheckedPath[] {
    const root = rootOfPattern(seen.root);
    if (isPattern(root) || !isPlain(seen)) throw refused('a path set of the remote is malformed');
    const listing = { ...seen, root, state: 'names', names: true };
    const at = { root, path: folderOfPattern(seen.path) };
    if (isAbove(root)) {
      const folders = this.#states.roots.pathsAbove(at).filter((path) => !TEMPORARY.has(path));
      return folders.map((path) => ({ path, as: { ...listing, root: '' } }));
    }
    const folder = this.#states.roots.resolve(at);
    if (folder !== undefined && TEMPORARY.has(folder)) return [];
    return [seen.path, at.path].flatMap((path) => this.#pathsOf({ ...listing, path }));
  }

  /** Undefined for a fact that is no path, and for a root that this action does not have. */
  #pathOf(seen: ObservedPath): AbsPath | undefined {
    const { root, path } = seen;
    const { roots } = this.#states;
    const isFact = root === MACHINE || root === LOADER_CACHE;
    if ((isAbove(root) || isFact) && !isPlain(seen)) throw refused('a path set of the remote is malformed');
    if (!isAbove(root) && !isFact) return roots.resolve({ root, path });
    if (!isFact) return inside(FILESYSTEM_ROOT, parseRelPath(path));
    // A name that is none of these is the name of a property, which machine.ts knows or not.
    if (root === MACHINE && path.includes('/') && !isComparedKernelFile(path))
      throw refused(`the remote's result depends on ${readable(path)}, which is not compared`);
    return undefined;
  }

  /** Judged by the path without links in its folders: a link of the workspace may lead anywhere. */
  #isAllowed(path: AbsPath, seen: ObservedPath): boolean {
    const { roots, privatePaths } = this.#states;
    const real = privatePaths.realPath(path) ?? path;
    if (isKernelPath(path) || isKernelPath(real)) return false;
    // The same on every machine, but for a daemon that runs or not.
    if (DEFAULT_POLICY.ambientPaths.has(path)) return true;
    if (isAbove(seen.root) || isInstalled(real) || isAbsence(seen) || isPlainFolder(seen)) return true;
    if (roots.homes.around(real) !== undefined) {
      if (privatePaths.softwareAround(real) !== undefined) return true;
      if (privatePaths.isUsers(real)) return false;
    }
    if (roots.isOwn(real)) return true;
    const above = roots.seenFrom(seen.root === '' ? WORKSPACE : seen.root, real);
    // Every path is below "/": there, only its direct entries count as above the workspace.
    return above !== undefined && (above.folder !== FILESYSTEM_ROOT || !above.sought.path.includes('/'));
  }

  #checkTime(): void {
    const now = this.#now();
    this.#until ??= now + OBSERVED.foreignLookMs;
    if (now > this.#until)
      throw refused('checking the paths that the results of the remote depend on takes too long');
  }
}

/** Everybody on a machine may list these, and programs make files with random names there. */
const TEMPORARY: ReadonlySet<AbsPath> = new Set(['/tmp', '/var/tmp'].map(absPath));

/** A path on this machine, and the fact by which it is judged. */
interface CheckedPath {
  readonly path: AbsPath;
  readonly as: ObservedPath;
}

function isPlain({ names, left, without }: ObservedPath): boolean {
  return !names && left === '' && without.length === 0;
}

/** One path that was not there. Programs look for their settings in many places: /var/ssl, ~/.java. */
function isAbsence(seen: ObservedPath): boolean {
  return isRecordedAbsent(seen) && !seen.names;
}

/** A folder whose names do not matter. */
function isPlainFolder({ state, left, names }: ObservedPath): boolean {
  return state === 'folder' && left === '' && !names;
}

/** The error for a path set of a remote that is not followed. */
export function isRefused(error: unknown): boolean {
  return error instanceof AssayError && error.code === 'ASSAY_PATH_SET_REFUSED';
}

function refused(why: string): AssayError {
  return new AssayError('ASSAY_PATH_SET_REFUSED', why);
}
