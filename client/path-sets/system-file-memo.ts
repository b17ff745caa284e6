// What lay at paths outside the workspace a moment ago: the actions of a graph mostly look at the same system files. Forgotten
// when a command has run, which may have changed them, as tools are (tool-memo.ts). Only a lookup is answered from here: what
// an action has seen while it ran is looked at anew.
import type { AbsPath } from '../../hermeticity/system/absolute-path.ts';

export class SystemFileMemo {
  readonly #states = new Map<AbsPath, string>();

  state(path: AbsPath, look: () => string): string {
    const state = this.#states.get(path) ?? look();
    this.#states.set(path, state);
    return state;
  }

  forget(): void {
    this.#states.clear();
  }
}
