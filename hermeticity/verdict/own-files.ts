// What the action has made itself so far: a file that it wrote before it read it is no input, and what it removed before it
// looked for it is no surprise.
import type { RelPath } from '../../core/path.ts';
import { type AbsPath, foldersAbove, inside, isAtOrBelow, relativeIn } from '../system/absolute-path.ts';

export class OwnFiles {
  readonly #own = new Set<AbsPath>();
  /** Folders that have held something of its own: only when one of these moves does anything move with it. */
  readonly #holders = new Set<AbsPath>();
  readonly #removed = new Set<AbsPath>();
  readonly #links = new Map<AbsPath, string>();
  /** Second names of a file, each with the first one. */
  readonly #names = new Map<AbsPath, AbsPath>();
  /** Everything that was ever its own, for questions that are asked at the end. */
  readonly #everWritten = new Set<AbsPath>();
  readonly #everDeleted = new Set<AbsPath>();

  /** Its content is now the action's own: it was made, or emptied and written again. */
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

  /** It is now the same file as `first`. */
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

  /** All that is its own below a folder goes with it. */
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

  /** The first name of a file that has several, if it is known that this is not the first. */
  firstNameOf(path: AbsPath): AbsPath | undefined {
    return this.#names.get(path);
  }

  isOwn(path: AbsPath): boolean {
    return this.#own.has(path) || this.#isBelow(path, this.#own);
  }

  /** The path itself and the folders above it that are its own, the nearest first. */
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

  /** Something of its own is or was below this folder. */
  holds(folder: AbsPath): boolean {
    return this.#holders.has(folder);
  }

  /** All that it ever wrote. */
  get written(): ReadonlySet<AbsPath> {
    return this.#everWritten;
  }

  /** The symbolic links that it made and left. */
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
