// Tracks what the action has created, renamed and deleted so far. A file that the action wrote before reading
// is no input, and a file that it deleted is expected to be absent.
import type { RelPath } from '../../core/path.ts';
import {
  type AbsPath,
  foldersAbove,
  inside,
  isAtOrBelow,
  relativeIn,
} from '../../system/paths/absolute-path.ts';

export class OwnFiles {
  readonly #own = new Set<AbsPath>();
  /** Folders that have contained a file of the action's own: only these need a scan when they are renamed. */
  readonly #holders = new Set<AbsPath>();
  readonly #removed = new Set<AbsPath>();
  readonly #links = new Map<AbsPath, string>();
  /** Hard links, each mapped to the file's first name. */
  readonly #names = new Map<AbsPath, AbsPath>();
  /** Everything that the action ever wrote or deleted, for checks at the end. */
  readonly #everWritten = new Set<AbsPath>();
  readonly #everDeleted = new Set<AbsPath>();

  /** The content is now the action's own: created, or truncated and rewritten. */
  wrote(path: AbsPath): void {
    this.#own.add(path);
    this.#everWritten.add(path);
    this.#removed.delete(path);
    for (const folder of foldersAbove(path)) {
      if (this.#holders.has(folder)) break;
      this.#holders.add(folder);
    }
  }

  linked(path: AbsPath, target: string): void {
    this.wrote(path);
    this.#links.set(path, target);
  }

  /** `path` is now a hard link to `first`. */
  named(path: AbsPath, first: AbsPath): void {
    this.wrote(path);
    this.#names.set(path, this.#names.get(first) ?? first);
  }

  deleted(path: AbsPath): void {
    this.#own.delete(path);
    this.#names.delete(path);
    this.#links.delete(path);
    this.#removed.add(path);
    this.#everDeleted.add(path);
  }

  /** The action's own files below a renamed folder move with it. */
  renamed(from: AbsPath, to: AbsPath): void {
    const moves = this.#holders.has(from) ? [...this.#own].filter((path) => isAtOrBelow(path, from)) : [from];
    const links = moves.flatMap((path) => {
      const target = this.#links.get(path);
      return target === undefined ? [] : [[moveBelow(path, from, to), target] as const];
    });
    const first = this.#names.get(from);
    for (const path of [...moves, from]) this.deleted(path);
    for (const path of moves) this.wrote(moveBelow(path, from, to));
    this.wrote(to);
    for (const [path, target] of links) this.#links.set(path, target);
    this.#names.delete(to);
    if (first !== undefined) this.#names.set(to, first);
  }

  /** The first name, if `path` is a later hard link. */
  firstNameOf(path: AbsPath): AbsPath | undefined {
    return this.#names.get(path);
  }

  isOwn(path: AbsPath): boolean {
    return this.#own.has(path) || this.#isBelow(path, this.#own);
  }

  /** The path itself and its parents that are the action's own, the nearest first. */
  *ownAbove(path: AbsPath): Generator<AbsPath> {
    if (this.#own.has(path)) yield path;
    for (const folder of foldersAbove(path)) if (this.#own.has(folder)) yield folder;
  }

  isRemoved(path: AbsPath): boolean {
    return this.#removed.has(path) || this.#isBelow(path, this.#removed);
  }

  wasWritten(path: AbsPath): boolean {
    return this.#everWritten.has(path);
  }

  wasDeleted(path: AbsPath): boolean {
    return this.#everDeleted.has(path) || this.#isBelow(path, this.#everDeleted);
  }

  /** Whether the folder contains, or ever contained, a file of the action's own. */
  holds(folder: AbsPath): boolean {
    return this.#holders.has(folder);
  }

  /** Every path that the action ever wrote. */
  get written(): ReadonlySet<AbsPath> {
    return this.#everWritten;
  }

  /** The symbolic links that the action created and left. */
  get links(): ReadonlyMap<AbsPath, string> {
    return this.#links;
  }

  #isBelow(path: AbsPath, places: ReadonlySet<AbsPath>): boolean {
    if (places.size === 0) return false;
    for (const folder of foldersAbove(path)) if (places.has(folder)) return true;
    return false;
  }
}

function moveBelow(path: AbsPath, from: AbsPath, to: AbsPath): AbsPath {
  return inside(to, relativeIn(from, path) ?? ('' as RelPath));
}
