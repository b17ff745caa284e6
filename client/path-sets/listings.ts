// The state of a listing: of a folder's names and types, the same for the names that a command was shown and
// for those that are there now.
// Guaranteed: every name counts with its type, except by one of these rules.
//
// - Outputs of the action, folders around them, and .assay are no names: Assay sets them aside, or makes them. What else
//   lies in such a folder is a fact of its own (gather.ts).
// - `without`: what the command made itself, and outputs of other steps that were absent when it listed the folder.
// - A cache that is set aside is no name. Another tool's cache is none either; one that the command was shown is a fact
//   of its own (gather.ts). Caches of Python's tools are names, but for programs with a lens: steps leave none.
// - `.git` counts without its type: in a worktree it is a file.
// - The lens of the programs that listed the folder (hermeticity/lenses/lenses.ts).

import { lstatSync } from 'node:fs';
import { digestOf } from '../../core/digest.ts';
import { type RelPath, ROOT, toSystemPath } from '../../core/path.ts';
import type { ObservedPath } from '../../core/path-set.ts';
import { isPythonCache, lensNamed } from '../../hermeticity/lenses/lenses.ts';
import type { EntryType } from '../../hermeticity/trace/folder-names.ts';
import { isInToolCache } from '../../hermeticity/verdict/tool-caches.ts';
import {
  type AbsPath,
  absPath,
  foldersAbove,
  inside,
  parentFolder,
  relativeIn,
} from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import type { RunRequest } from '../action/request.ts';

const GIT = '.git';

/** The part of a recorded listing that says what counts. */
export type Listing = Pick<ObservedPath, 'without' | 'lens'>;

export class Listings {
  readonly #workspace: AbsPath;
  /** A restored hit makes these folders. */
  readonly #aroundOutputs: ReadonlySet<AbsPath>;
  readonly #hidden: ReadonlySet<AbsPath>;
  readonly #isSetAside: (path: AbsPath) => boolean;

  /** `isSetAside`: whether the path is a cache that Assay sets aside before the command starts. */
  constructor(
    { workspace, outputs }: Pick<RunRequest, 'workspace' | 'outputs'>,
    isSetAside: (path: AbsPath) => boolean,
  ) {
    this.#isSetAside = isSetAside;
    this.#workspace = absPath(workspace);
    const own = outputs.map((output) => inside(this.#workspace, output));
    this.#aroundOutputs = new Set(own.flatMap((path) => [...foldersBetween(path, this.#workspace)]));
    this.#hidden = new Set([...own, ...this.#aroundOutputs]);
  }

  /** A listing with the lens of a newer version has no state that fits. */
  state(folder: AbsPath, names: ReadonlyMap<string, EntryType>, listing: Listing): string {
    const lines = this.counted(folder, names, listing);
    return lines ? `names ${digestOf(Buffer.from(lines.join('\0'))).hash}` : 'unknown lens';
  }

  /** What counts, as lines of a type and a name, sorted. Undefined for a lens that this version does not know. */
  counted(
    folder: AbsPath,
    names: ReadonlyMap<string, EntryType>,
    { without, lens }: Listing,
  ): string[] | undefined {
    const counts = lensNamed(lens);
    if (!counts) return undefined;
    const left = new Set(without);
    const lines: string[] = [];
    for (const [name, type] of names) {
      if (left.has(name) || !counts(name, type) || this.#isHidden(folder, name, lens)) continue;
      lines.push(`${name === GIT ? '' : type} ${name}`);
    }
    return lines.sort();
  }

  /** The names in this folder of folders around the action's outputs. */
  namesAroundOutputs(folder: AbsPath): string[] {
    const inside = [...this.#aroundOutputs].filter((path) => parentFolder(path) === folder);
    return inside.map((path) => path.slice(path.lastIndexOf('/') + 1));
  }

  #isHidden(folder: AbsPath, name: string, lens: string): boolean {
    if (name === ASSAY_FOLDER) return true;
    const path = pathIn(folder, name);
    return this.#hidden.has(path) || this.isToolCache(folder, name, lens) || this.#isSetAside(path);
  }

  /** Whether a tool keeps its cache under this name, and the folder around it is not part of one. */
  isToolCache(folder: AbsPath, name: string, lens: string): boolean {
    if (!MAY_BE_CACHE.test(name) || (lens === '' && isPythonCache(name))) return false;
    const around = relativeIn(this.#workspace, folder);
    if (around === undefined) return false;
    const has = (path: RelPath) => isThere(this.#workspace, path);
    const path = (around === ROOT ? name : `${around}/${name}`) as RelPath;
    return isInToolCache(path, has) && !(around !== ROOT && isInToolCache(around, has));
  }
}

/** Nearly all names fail here, and cost no more. */
const MAY_BE_CACHE = /^(?:\.|__pycache__$|target$)|\.tsbuildinfo$/;

export function pathIn(folder: AbsPath, name: string): AbsPath {
  return inside(folder, name as RelPath);
}

function isThere(workspace: AbsPath, path: RelPath): boolean {
  return lstatSync(toSystemPath(workspace, path), { throwIfNoEntry: false }) !== undefined;
}

function* foldersBetween(path: AbsPath, workspace: AbsPath): Generator<AbsPath> {
  for (const folder of foldersAbove(path)) {
    if (folder === workspace) return;
    yield folder;
  }
}
