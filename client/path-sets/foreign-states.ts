// What lies at the paths of a path set that came from a remote.
//
// A remote may name any path, and which result is asked for next tells it what lies there. So a set is looked at only if each of
// its paths lies in the workspace, in a folder above it, in a tool's folder, or among installed software; a set with any other
// path is refused whole. The time that all sets of one lookup may take is bounded. Of a path that is told to be absent only
// whether it is there is looked at. What other users may not read counts as unreadable outside of the workspace and the tools.
import { AssayError } from '../../core/errors.ts';
import { parseRelPath } from '../../core/path.ts';
import type { ObservedPath, PathSet, StateOf } from '../../core/path-set.ts';
import { type AbsPath, FILESYSTEM_ROOT, inside, readable } from '../../hermeticity/system/absolute-path.ts';
import { OBSERVED } from '../limits.ts';
import { isAbove, isInstalled, isKernelPath, WORKSPACE } from './roots.ts';
import type { States } from './states.ts';

export class ForeignStates {
  readonly #states: States;
  readonly #now: () => number;
  /** Runs from the first look. */
  #until: number | undefined;

  constructor(states: States, now: () => number) {
    this.#states = states;
    this.#now = now;
  }

  /** Throws ASSAY_PATH_SET_REFUSED. */
  check(set: PathSet): void {
    for (const seen of set) this.#check(seen);
  }

  /** The same for one path, and if the time is up. */
  readonly of: StateOf = (seen) => {
    this.#check(seen);
    this.#checkTime();
    return this.#states.ofForeign(seen, () => this.#checkTime());
  };

  #check(seen: ObservedPath): void {
    const path = this.#lookedAt(seen);
    if (path === undefined || this.#mayLookAt(path, seen.root)) return;
    throw refused(
      `the remote's result depends on ${readable(path)}, which lies neither in or above the workspace nor among installed software`,
    );
  }

  #lookedAt({ root, path, names, left, without }: ObservedPath): AbsPath | undefined {
    const { roots } = this.#states;
    if (!isAbove(root)) return roots.resolve({ root, path });
    if (names || left !== '' || without.length > 0) throw refused('a path set of the remote makes no sense');
    return inside(FILESYSTEM_ROOT, parseRelPath(path));
  }

  #mayLookAt(path: AbsPath, root: string): boolean {
    if (isKernelPath(path)) return false;
    const { roots } = this.#states;
    if (isAbove(root) || isInstalled(path) || roots.isOwn(path)) return true;
    const above = roots.seenFrom(root === '' ? WORKSPACE : root, path);
    /* Everything lies below the root: there only what is directly in it is above the workspace. */
    return above !== undefined && (above.folder !== FILESYSTEM_ROOT || !above.sought.path.includes('/'));
  }

  #checkTime(): void {
    const now = this.#now();
    this.#until ??= now + OBSERVED.foreignLookMs;
    if (now > this.#until)
      throw refused('what the results of the remote depend on takes too long to look at');
  }
}

/** A set of a remote that is not looked at. */
export function isRefused(error: unknown): boolean {
  return error instanceof AssayError && error.code === 'ASSAY_PATH_SET_REFUSED';
}

function refused(why: string): AssayError {
  return new AssayError('ASSAY_PATH_SET_REFUSED', why);
}
