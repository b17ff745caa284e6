// The states of paths outside the workspace, for the lookups of one graph run: most actions read the same
// system files.
// It is cleared after each command, which may have changed them. Sealing never uses it.
import type { AbsPath } from '../../hermeticity/system/absolute-path.ts';

export class SystemFileMemo {
  readonly #states = new Map<AbsPath, string>();

  state(path: AbsPath, read: () => string): string {
    const state = this.#states.get(path) ?? read();
    this.#states.set(path, state);
    return state;
  }

  forget(): void {
    this.#states.clear();
  }
}
