// Builds the path set of a run: each path that the action read, with the state of that path.
// Throws if anything but the action itself changed such a path while it ran.
//
// Files that the action left in the workspace and no output names go into the set too. A hit does not create
// them, so there is no hit unless they are as the run left them.
// The set is short, because each hit checks all of it: a missing folder stands for everything missing below
// it, and a folder is omitted if the set has an existing path below it.
import { lstatSync, type Stats } from 'node:fs';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { childOf, parseRelPath, ROOT } from '../../core/path.ts';
import { compareObservedPaths, type ObservedPath, type PathSet } from '../../core/path-set.ts';
import {
  type AbsPath,
  absPath,
  FILESYSTEM_ROOT,
  foldersAbove,
  inside,
  isAtOrBelow,
  parentFolder,
  readable,
  toBytes,
} from '../../hermeticity/system/absolute-path.ts';
import type { ReadSetEntry } from '../../hermeticity/verdict/read-set.ts';
import type { Verdict } from '../../hermeticity/verdict/verdict.ts';
import type { ScratchFolders } from '../action/environment.ts';
import { stateAndCheckpointPaths } from '../action/request.ts';
import { wasUntouched } from '../files/settled.ts';
import { OBSERVED } from '../limits.ts';
import type { KeyedAction } from '../run/key.ts';
import { isInstalled, isKernelPath, type RootedPath, WORKSPACE } from './roots.ts';
import { ABSENT, ASSAY_FOLDER, type States } from './states.ts';

/**
 * Throws ASSAY_INPUT_CHANGED if a path changed while the action ran, ASSAY_OUTPUT_UNFIT if it left too many
 * files.
 */
export function gatherPathSet(
  action: Pick<KeyedAction, 'request' | 'tools'>,
  { readSet, written, findings }: Pick<Verdict, 'readSet' | 'written' | 'findings'>,
  folders: ScratchFolders,
  states: States,
): PathSet {
  const gathering = new Gathering(action, written, folders, states);
  for (const entry of readSet) gathering.add(entry);
  if (findings.some(({ kind }) => kind === 'write')) gathering.addLeft();
  return gathering.end();
}

interface Found extends Omit<ObservedPath, 'root' | 'path'> {
  readonly searchedFrom: readonly AbsPath[];
}

class Gathering {
  readonly #observed: boolean;
  readonly #written: ReadonlySet<AbsPath>;
  readonly #folders: ScratchFolders;
  readonly #states: States;
  readonly #ownFiles: ReadonlySet<string>;
  readonly #workspace: AbsPath;
  readonly #outputs: readonly AbsPath[];
  readonly #found = new Map<AbsPath, Found>();

  constructor(
    { request, tools }: Pick<KeyedAction, 'request' | 'tools'>,
    written: ReadonlySet<AbsPath>,
    folders: ScratchFolders,
    states: States,
  ) {
    this.#observed = request.observed;
    this.#written = written;
    this.#folders = folders;
    this.#states = states;
    this.#workspace = absPath(request.workspace);
    this.#outputs = [...request.outputs, ...stateAndCheckpointPaths(request), parseRelPath(ASSAY_FOLDER)].map(
      (path) => inside(this.#workspace, path),
    );
    // A tool's own file is in the key by its content.
    this.#ownFiles = new Set(tools.flatMap((tool) => [tool, ...tool.interpreters]).map(({ file }) => file));
  }

  add(entry: ReadSetEntry): void {
    const isScratch = isAtOrBelow(entry.path, absPath(this.#folders.root));
    if (!isScratch && !this.#ownFiles.has(entry.path)) this.#add(entry);
  }

  addLeft(): void {
    const left = [...this.#written].filter((path) => this.#isLeft(path));
    if (left.length > OBSERVED.leftPaths)
      throw new AssayError(
        'ASSAY_OUTPUT_UNFIT',
        `it left ${left.length} files and folders that no output names`,
      );
    for (const path of left) this.#keep({ path, searchedFrom: [] }, false);
  }

  end(): PathSet {
    this.#dropImpliedFolders();
    const rooted = [...this.#found].flatMap(([path, seen]) => this.#rooted(path, seen));
    // A name that was searched in several folders above is listed once.
    const once = new Map(rooted.map((seen) => [JSON.stringify([seen.root, seen.path]), seen]));
    return [...once.values()].sort(compareObservedPaths);
  }

  #add(entry: ReadSetEntry): void {
    const names = entry.listed && (this.#observed || !entry.excused);
    const stats = statsAt(entry.path);
    if (entry.was === 'there' && entry.changed && !stats?.isDirectory() && this.#isUndeclared(entry.path))
      throw new AssayError(
        'ASSAY_INPUT_CHANGED',
        `it read ${readable(entry.path)} and then changed it: the earlier content is not known any more`,
      );
    if (entry.was === 'absent') this.#addAbsent(entry, stats);
    else if (entry.was === undefined) this.#keep(entry, false);
    else if (!entry.changed || names) {
      if (!stats) throw changed(entry.path, 'went away');
      if (names && stats.isDirectory()) this.#checkNames(entry.path, stats);
      else if (!stats.isDirectory()) this.#checkUntouched(entry.path, stats);
      this.#keep(entry, names);
    }
  }

  #addAbsent({ path, changed: isOwn, searchedFrom }: ReadSetEntry, stats: Stats | undefined): void {
    if (!stats) this.#addMissing(topmostAbsent(path), searchedFrom);
    else if (isOwn) this.#found.set(path, { ...MISSING, left: this.#states.at(path), searchedFrom });
    else throw changed(path, 'appeared');
  }

  /** A missing folder counts as searched for only if everything missing below it was searched for. */
  #addMissing(path: AbsPath, bases: readonly AbsPath[]): void {
    const earlier = this.#found.get(path)?.searchedFrom;
    const isSearch = bases.length > 0 && earlier?.length !== 0;
    const searchedFrom = isSearch ? [...new Set([...(earlier ?? []), ...bases])] : [];
    this.#found.set(path, { ...MISSING, searchedFrom });
  }

  #isLeft(path: AbsPath): boolean {
    const holdsOutput = this.#outputs.some((output) => isAtOrBelow(output, path));
    return this.#isUndeclared(path) && !holdsOutput && statsAt(path) !== undefined;
  }

  /** In the workspace, but neither an output nor the state of the action. */
  #isUndeclared(path: AbsPath): boolean {
    if (!isAtOrBelow(path, this.#workspace) || path === this.#workspace) return false;
    return !this.#outputs.some((output) => isAtOrBelow(path, output));
  }

  #keep({ path, searchedFrom }: Pick<ReadSetEntry, 'path' | 'searchedFrom'>, names: boolean): void {
    const without = names ? this.#ownNamesIn(path) : [];
    const state = this.#states.at(path, names ? without : undefined);
    this.#found.set(path, { names, state, left: '', without, searchedFrom });
  }

  #checkUntouched(path: AbsPath, stats: Stats): void {
    if (!wasUntouched(stats, this.#folders.madeAtMs)) throw changed(path, 'changed');
  }

  /** A folder's mtime changes also through the action's own files: then each other entry is checked. */
  #checkNames(folder: AbsPath, stats: Stats): void {
    if (wasUntouched(stats, this.#folders.madeAtMs)) return;
    for (const name of this.#states.names(folder, this.#ownNamesIn(folder))) {
      const path = inside(folder, childOf(ROOT, name));
      const entry = statsAt(path);
      if (entry && !entry.isDirectory()) this.#checkUntouched(path, entry);
    }
  }

  #ownNamesIn(folder: AbsPath): string[] {
    const names = [...this.#written].filter((path) => parentFolder(path) === folder);
    return names.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort();
  }

  #dropImpliedFolders(): void {
    const implied = new Set<AbsPath>();
    for (const [path, { state }] of this.#found) {
      if (state === ABSENT) continue;
      for (const folder of foldersAbove(path)) {
        if (implied.has(folder)) break;
        implied.add(folder);
      }
    }
    for (const [path, { state }] of this.#found) {
      if (state === 'folder' && implied.has(path)) this.#found.delete(path);
    }
  }

  /**
   * A path above the workspace or a tool is listed relative to it, so that another checkout checks the same
   * relative path.
   * A path that the action may have used by its absolute name is listed by that too: both states must match.
   */
  #rooted(path: AbsPath, { searchedFrom, ...seen }: Found): ObservedPath[] {
    const { roots } = this.#states;
    const absolute = { ...roots.root(path), ...seen };
    const onEveryMachine = isInstalled(path) || isKernelPath(path);
    if (absolute.root !== '') return [absolute];
    const bases = searchedFrom.flatMap((folder) => roots.rootAt(folder) ?? []);
    const isSearch = bases.length > 0;
    if (!isSearch && !onEveryMachine) bases.push(WORKSPACE);
    const relative = bases.flatMap((base) => {
      const from = roots.seenFrom(base, path);
      if (!from) return [];
      return isMissing(seen) ? this.#sought(from.sought) : { ...from.found, ...seen };
    });
    return isSearch && !onEveryMachine ? relative : [absolute, ...relative];
  }

  /** A name searched in every folder above; a deeper checkout has more such folders. */
  #sought(where: RootedPath): ObservedPath {
    const seen = { ...where, ...MISSING };
    return { ...seen, state: this.#states.of(seen) };
  }
}

const MISSING = { names: false, state: ABSENT, left: '', without: [] } as const;

function isMissing({ state, left }: Pick<ObservedPath, 'state' | 'left'>): boolean {
  return state === ABSENT && left === '';
}

function topmostAbsent(path: AbsPath): AbsPath {
  let absent = path;
  for (const folder of foldersAbove(path)) {
    if (folder === FILESYSTEM_ROOT || statsAt(folder)) break;
    absent = folder;
  }
  return absent;
}

/** Undefined also if the path cannot be reached: the action could not reach it either. */
function statsAt(path: AbsPath): Stats | undefined {
  try {
    return lstatSync(toBytes(path), { throwIfNoEntry: false });
  } catch (error) {
    if (isSystemError(error, 'ENOTDIR', 'EACCES', 'ENAMETOOLONG', 'ELOOP')) return undefined;
    throw error;
  }
}

function changed(path: AbsPath, how: string): AssayError {
  return new AssayError('ASSAY_INPUT_CHANGED', `${readable(path)} ${how} while it ran`);
}
