// From where a command came to a path in a search from folder to folder up to the root, as tools look for package.json, .git
// or .editorconfig: from the workspace, or from the installation of a tool.
//
// It did if it looked for the same name one folder further down. What it looked at in one folder above only may as well have
// been named by its absolute path: the two can't be told apart.
import type { RelPath } from '../../core/path.ts';
import { type AbsPath, foldersAbove, inside, isAtOrBelow, relativeIn } from '../system/absolute-path.ts';
import type { Access } from '../trace/access.ts';

export class UpwardSearches {
  readonly #bases: readonly AbsPath[];
  readonly #touched: Set<AbsPath>;
  readonly #missed = new Set<AbsPath>();

  constructor(accesses: readonly Access[], bases: readonly AbsPath[]) {
    this.#bases = [...new Set(bases)];
    this.#touched = new Set(bases);
    for (const access of accesses) {
      if (!('path' in access)) continue;
      this.#touched.add(access.path);
      if (access.kind === 'absent') this.#missed.add(access.path);
    }
  }

  /** Those above which the path lies, and from which it was searched for. */
  basesOf(path: AbsPath): AbsPath[] {
    return this.#bases.filter((base) => this.#wasSearchedFrom(base, path));
  }

  #wasSearchedFrom(base: AbsPath, path: AbsPath): boolean {
    if (isAtOrBelow(path, base)) return false;
    let below = base;
    for (const folder of foldersAbove(base)) {
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
