// Detects searches from a folder up to the root, as tools do for package.json, .git or .editorconfig. A
// search starts at the workspace or at a tool's installation.
//
// An access is part of a search if the same name was probed one folder further down. An access in one parent
// only may as well be an absolute path: the two cannot be distinguished.
import type { RelPath } from '../../core/path.ts';
import {
  type AbsPath,
  FILESYSTEM_ROOT,
  foldersAbove,
  inside,
  isAtOrBelow,
  isBelow,
  parentFolder,
  relativeIn,
} from '../../system/paths/absolute-path.ts';
import type { Access } from '../trace/access.ts';

export class UpwardSearches {
  readonly #bases: readonly AbsPath[];
  readonly #touched: Set<AbsPath>;
  readonly #missed = new Set<AbsPath>();
  /** Every touched path, and the folders above it. */
  readonly #onTheWay = new Set<AbsPath>();

  constructor(accesses: readonly Access[], bases: readonly AbsPath[]) {
    this.#bases = [...new Set(bases)];
    this.#touched = new Set(bases);
    for (const access of accesses) {
      if (!('path' in access)) continue;
      this.#touched.add(access.path);
      if (access.kind === 'absent') this.#missed.add(access.path);
    }
    for (const path of this.#touched)
      for (let at = path; !this.#onTheWay.has(at); at = parentFolder(at)) this.#onTheWay.add(at);
  }

  /** The folders from which a search up to the root came by this path. */
  basesOf(path: AbsPath): AbsPath[] {
    return this.#bases.filter((base) => this.#wasSearchedFrom(base, path));
  }

  /**
   * Whether a search for this name went up from the path's own folder to a folder above the first base. For a
   * path above the base: whether it is part of such a search.
   */
  goesBeyond(path: AbsPath): boolean {
    const [base] = this.#bases;
    if (base === undefined) return false;
    if (!isBelow(path, base)) return this.#wasSearchedFrom(base, path);
    for (const folder of foldersAbove(path)) {
      const name = relativeIn(folder, path);
      if (name === undefined || !isAtOrBelow(folder, base)) return false;
      if (this.#wasSoughtUpTo(base, folder, name)) return true;
    }
    return false;
  }

  /** In every folder from the parent of `folder` to the parent of `base`. */
  #wasSoughtUpTo(base: AbsPath, folder: AbsPath, name: RelPath): boolean {
    for (let at = folder; isAtOrBelow(at, base); at = parentFolder(at)) {
      if (at === FILESYSTEM_ROOT || !this.#soughtIn(parentFolder(at), name)) return false;
    }
    return true;
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
    /* Most names were looked for in one folder only: there is nothing on the way to them from another one. */
    if (!this.#onTheWay.has(inside(folder, firstPart(name)))) return false;
    if (this.#touched.has(inside(folder, name))) return true;
    for (let end = name.lastIndexOf('/'); end > 0; end = name.lastIndexOf('/', end - 1))
      if (this.#missed.has(inside(folder, name.slice(0, end) as RelPath))) return true;
    return false;
  }
}

function firstPart(name: RelPath): RelPath {
  const end = name.indexOf('/');
  return end === -1 ? name : (name.slice(0, end) as RelPath);
}
