// Whether a command came to a path above its workspace in a search from folder to folder up to the root, as tools look for
// package.json, .git or .editorconfig.
//
// It did if it looked for the same name one folder further down. What it looked at in one folder above only may as well have
// been named by its absolute path: the two can't be told apart.

import type { RelPath } from '../core/path.ts';
import { type AbsPath, foldersAbove, inside, isAtOrBelow, relativeIn } from './abspath.ts';
import type { Access } from './access.ts';

export class UpwardSearches {
  readonly #workspace: AbsPath;
  readonly #touched = new Set<AbsPath>();
  readonly #missed = new Set<AbsPath>();

  constructor(accesses: readonly Access[], workspace: AbsPath) {
    this.#workspace = workspace;
    for (const access of accesses) {
      if (!('path' in access)) continue;
      this.#touched.add(access.path);
      if (access.kind === 'absent') this.#missed.add(access.path);
    }
  }

  include(path: AbsPath): boolean {
    if (isAtOrBelow(path, this.#workspace)) return false;
    let below = this.#workspace;
    for (const folder of foldersAbove(this.#workspace)) {
      const name = relativeIn(folder, path);
      if (name !== undefined) return name !== '' && this.#soughtIn(below, name);
      below = folder;
    }
    return false;
  }

  #soughtIn(folder: AbsPath, name: RelPath): boolean {
    if (this.#touched.has(inside(folder, name))) return true;
    for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1))
      if (this.#missed.has(inside(folder, name.slice(0, end) as RelPath))) return true;
    return false;
  }
}
