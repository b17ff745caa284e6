// The states of paths outside the workspace, for the lookups of one graph run: most actions read the same
// system files.
// It is cleared after each command, which may have changed them. Sealing never uses it.
import type { ObservedPath } from '../../core/path-set.ts';
import type { AbsPath } from '../../hermeticity/system/absolute-path.ts';
import { Homes } from './homes.ts';

export class SystemFileMemo {
  readonly #states = new Map<AbsPath, string>();
  readonly #foreign = new Map<string, string>();
  #homes: Homes | undefined;

  get homes(): Homes {
    this.#homes ??= new Homes();
    return this.#homes;
  }

  state(path: AbsPath, read: () => string): string {
    const state = this.#states.get(path) ?? read();
    this.#states.set(path, state);
    return state;
  }

  /** The state of a fact as a lookup at a remote compares it (foreign-states.ts): such a fact was admitted. */
  foreignState(seen: ObservedPath): string | undefined {
    const name = nameOfSystemPath(seen);
    return name === undefined ? undefined : this.#foreign.get(name);
  }

  /** For a fact that means the same in every action of the workspace. */
  keepForeignState(seen: ObservedPath, state: string): void {
    const name = nameOfSystemPath(seen);
    if (name !== undefined) this.#foreign.set(name, state);
  }

  forget(): void {
    this.#states.clear();
    this.#foreign.clear();
    this.#homes = undefined;
  }
}

/** Undefined for a listing, for a path that the recorded run made, and for all but absolute paths. */
function nameOfSystemPath({ root, path, names, state, left, without }: ObservedPath): string | undefined {
  if (root !== '' || names || left !== '' || without.length > 0) return undefined;
  // A path that was absent is only checked for its existence.
  return state === 'absent' ? `absent ${path}` : `there ${path}`;
}
