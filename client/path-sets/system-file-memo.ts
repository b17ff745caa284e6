// The states and stats of paths outside the workspace, for the lookups of one graph run: most actions read the
// same system files.
// It is cleared after each command, which may have changed them. Sealing never uses it.
//
// A state and the stats of a path are read at different times. The up-to-date state may record both if the
// stats were settled at `since`: then the path did not change between `since` and the stat, and a change
// after the stat shows in the next run.
import type { ObservedPath } from '../../core/path-set.ts';
import type { AbsPath } from '../../system/paths/absolute-path.ts';
import type { StatRow } from '../files/stat-table.ts';
import { Homes } from './homes.ts';

export class SystemFileMemo {
  readonly #states = new Map<string, string>();
  readonly #rows = new Map<AbsPath, StatRow>();
  readonly #foreign = new Map<string, string>();
  readonly #now: () => number;
  #homes: Homes | undefined;
  #since: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The clock before the oldest state was read. Stats that are newer do not belong to that state. */
  get since(): number | undefined {
    return this.#since;
  }

  get homes(): Homes {
    this.#homes ??= new Homes();
    return this.#homes;
  }

  state(path: AbsPath, read: () => string): string {
    const known = this.#states.get(path);
    if (known !== undefined) return known;
    this.#since ??= this.#now();
    const state = read();
    this.#states.set(path, state);
    return state;
  }

  /** The state of "/" and a relative path, if it is known. */
  knownState(path: string): string | undefined {
    return this.#states.get(`/${path}`);
  }

  row(path: AbsPath, read: () => StatRow): StatRow {
    const known = this.#rows.get(path);
    if (known) return known;
    this.#since ??= this.#now();
    const row = read();
    this.#rows.set(path, row);
    return row;
  }

  /** The state of a fact as a lookup at a remote compares it (foreign-states.ts): such a fact was admitted. */
  foreignState(seen: ObservedPath): string | undefined {
    const name = nameOfSystemPath(seen);
    this.#since ??= this.#now(); // the caller reads an unknown state next
    return name === undefined ? undefined : this.#foreign.get(name);
  }

  /** For a fact that means the same in every action of the workspace. */
  keepForeignState(seen: ObservedPath, state: string): void {
    const name = nameOfSystemPath(seen);
    if (name !== undefined) this.#foreign.set(name, state);
  }

  forget(): void {
    this.#states.clear();
    this.#rows.clear();
    this.#foreign.clear();
    this.#homes = undefined;
    this.#since = undefined;
  }
}

/** Undefined for a listing, for a path that the recorded run made, and for all but absolute paths. */
function nameOfSystemPath({ root, path, names, state, left, without }: ObservedPath): string | undefined {
  if (root !== '' || names || left !== '' || without.length > 0) return undefined;
  // A path that was absent is only checked for its existence.
  return state === 'absent' ? `absent ${path}` : `there ${path}`;
}
