// What lies at a path now, in the words of a path set.
//
//   file HASH | program HASH | link TARGET | folder | names HASH | absent | other | unreadable
//
// Of a name that was sought in the folders above the workspace, whatever lies there: absent | above N N …, the folders that
// have it, counted from the workspace up.
import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { isSystemError } from '../../core/errors.ts';
import { childOf, nameFromBytes, parentOf, type RelPath, ROOT } from '../../core/path.ts';
import type { PathSet, SeenPath } from '../../core/path-set.ts';
import { type AbsPath, absPath, inside, isAtOrBelow, toBytes } from '../../hermeticity/abspath.ts';
import type { FileDigests } from '../inputs/file-digest.ts';
import type { Elsewhere } from './elsewhere.ts';
import { ABOVE, type Looker, Roots } from './roots.ts';

export const ABSENT = 'absent';

/** Assay's own folder in a workspace, there while something is restored or run. */
export const OWN_FOLDER = '.assay';

export class States {
  readonly roots: Roots;
  readonly #digests: FileDigests;
  readonly #outputs: ReadonlySet<AbsPath>;

  readonly #workspace: AbsPath;
  readonly #elsewhere: Elsewhere | undefined;

  /** `elsewhere`: for who may be told what was so a moment ago. */
  constructor(action: Looker, digests: FileDigests, elsewhere?: Elsewhere) {
    this.#workspace = absPath(action.request.workspace);
    this.#elsewhere = elsewhere;
    this.roots = new Roots(action);
    this.#digests = digests;
    this.#outputs = new Set(
      outputsAndFoldersAbove(action.request.outputs, absPath(action.request.workspace)),
    );
  }

  /** As a path set is asked for it: what the run that told it left there itself counts as nothing. */
  readonly of = (seen: SeenPath): string => {
    if (seen.root === ABOVE) return this.#above(seen.path);
    const path = this.roots.resolve(seen);
    if (path === undefined) return 'no such root';
    const state = this.#recentlyAt(path, seen.names ? seen.without : undefined);
    return state === seen.left ? ABSENT : state;
  };

  #recentlyAt(path: AbsPath, without: readonly string[] | undefined): string {
    const isElsewhere = without === undefined && !isAtOrBelow(path, this.#workspace);
    if (!this.#elsewhere || !isElsewhere) return this.at(path, without);
    return this.#elsewhere.state(path, () => this.at(path));
  }

  #above(name: string): string {
    const found = this.roots.everywhereAbove(name).flatMap((path, at) => (isThere(path) ? [at + 1] : []));
    return found.length === 0 ? ABSENT : `above ${found.join(' ')}`;
  }

  /** Where the paths of a set lie here. */
  pathsOf(set: PathSet): AbsPath[] {
    const { roots } = this;
    const paths = set.flatMap((seen) =>
      seen.root === ABOVE ? roots.everywhereAbove(seen.path) : (roots.resolve(seen) ?? []),
    );
    return [...new Set(paths)];
  }

  /** `without`: the names of the folder count, without these. */
  at(path: AbsPath, without?: readonly string[]): string {
    const bytes = toBytes(path);
    try {
      const stats = lstatSync(bytes, { throwIfNoEntry: false });
      if (stats?.isDirectory() && without) return `names ${this.#namesHash(path, without)}`;
      return stats ? this.#stateOf(path, bytes, stats) : ABSENT;
    } catch (error) {
      return isSystemError(error, 'ENOTDIR') ? ABSENT : 'unreadable';
    }
  }

  /** The names in a folder that are not the action's own doing. */
  names(folder: AbsPath, without: readonly string[]): string[] {
    return readdirSync(toBytes(folder), { encoding: 'buffer' })
      .map(nameFromBytes)
      .filter((name) => name !== OWN_FOLDER && !without.includes(name))
      .filter((name) => !this.#outputs.has(inside(folder, childOf(ROOT, name))))
      .sort();
  }

  #namesHash(folder: AbsPath, without: readonly string[]): string {
    return digestOf(Buffer.from(this.names(folder, without).join('\0'))).hash;
  }

  #stateOf(path: AbsPath, bytes: Buffer, stats: Stats): string {
    if (stats.isDirectory()) return 'folder';
    if (stats.isSymbolicLink()) return `link ${nameFromBytes(readlinkSync(bytes, 'buffer'))}`;
    if (!stats.isFile()) return 'other';
    const kind = (stats.mode & 0o100) !== 0 ? 'program' : 'file';
    return `${kind} ${this.#digests.digest(path, stats, () => bytes).hash}`;
  }
}

/** Where it can't be looked, a command can't look either. */
function isThere(path: AbsPath): boolean {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** They are made before an action runs, so they are always there for it, and its own afterwards. */
function* outputsAndFoldersAbove(outputs: readonly RelPath[], workspace: AbsPath): Generator<AbsPath> {
  for (const output of outputs) {
    for (let path = output; path !== ROOT; path = parentOf(path)) yield inside(workspace, path);
  }
}
