// The states of the paths of a path set that came from a remote.
// A remote learns nothing about paths outside the workspace, the folders above it, the tools and the
// installed software.
//
// A remote may name any path, and the next request of the client depends on the state of that path. So a set
// with any other path is refused as a whole. The time for all sets of one lookup is bounded. A path that is
// recorded as absent is only checked for existence. Outside the workspace and the tools, a file that other
// users may not read is "unreadable".
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
  /** Set at the first check. */
  #until: number | undefined;

  constructor(states: States, now: () => number) {
    this.#states = states;
    this.#now = now;
  }

  /** Throws ASSAY_PATH_SET_REFUSED. */
  check(set: PathSet): void {
    for (const seen of set) this.#check(seen);
  }

  /** Throws ASSAY_PATH_SET_REFUSED for a refused path, and when the time is up. */
  readonly of: StateOf = (seen) => {
    this.#check(seen);
    this.#checkTime();
    return this.#states.ofForeign(seen, () => this.#checkTime());
  };

  #check(seen: ObservedPath): void {
    const path = this.#pathOf(seen);
    if (path === undefined || this.#isAllowed(path, seen.root)) return;
    throw refused(
      `the remote's result depends on ${readable(path)}, which lies neither in or above the workspace nor among installed software`,
    );
  }

  #pathOf({ root, path, names, left, without }: ObservedPath): AbsPath | undefined {
    const { roots } = this.#states;
    if (!isAbove(root)) return roots.resolve({ root, path });
    if (names || left !== '' || without.length > 0) throw refused('a path set of the remote is malformed');
    return inside(FILESYSTEM_ROOT, parseRelPath(path));
  }

  #isAllowed(path: AbsPath, root: string): boolean {
    if (isKernelPath(path)) return false;
    const { roots } = this.#states;
    if (isAbove(root) || isInstalled(path) || roots.isOwn(path)) return true;
    const above = roots.seenFrom(root === '' ? WORKSPACE : root, path);
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

/** The error for a path set of a remote that is not followed. */
export function isRefused(error: unknown): boolean {
  return error instanceof AssayError && error.code === 'ASSAY_PATH_SET_REFUSED';
}

function refused(why: string): AssayError {
  return new AssayError('ASSAY_PATH_SET_REFUSED', why);
}
