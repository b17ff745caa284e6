// From what a run looked at to a path set: each path with what lies there, provided that nobody but the action changed it
// while it ran. What it left in the workspace that no output names is told too: a hit does not make it, so there is none where it
// is not as it was left.
//
// Kept short, because each hit looks at all of it again: what is missing below a missing folder is told by that folder,
// and a folder in which something is there needs no mention.
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

/** Throws ASSAY_INPUT_CHANGED where something changed while the action ran, ASSAY_OUTPUT_UNFIT where it left too much. */
export function gatherPathSet(
  action: Pick<KeyedAction, 'request' | 'tools'>,
  { readSet: looks, written, findings }: Pick<Verdict, 'readSet' | 'written' | 'findings'>,
  folders: ScratchFolders,
  states: States,
): PathSet {
  const gathering = new Gathering(action, written, folders, states);
  for (const look of looks) gathering.add(look);
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
    /* A tool's own file is in the key by its content, wherever it lies. */
    this.#ownFiles = new Set(tools.flatMap((tool) => [tool, ...tool.interpreters]).map(({ file }) => file));
  }

  add(look: ReadSetEntry): void {
    const isPrivate = isAtOrBelow(look.path, absPath(this.#folders.root));
    if (!isPrivate && !this.#ownFiles.has(look.path)) this.#add(look);
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
    /* One name that was sought in several folders above is told once. */
    const once = new Map(rooted.map((seen) => [JSON.stringify([seen.root, seen.path]), seen]));
    return [...once.values()].sort(compareObservedPaths);
  }

  #add(look: ReadSetEntry): void {
    const names = look.listed && (this.#observed || !look.excused);
    const stats = statsAt(look.path);
    if (look.was === 'there' && look.changed && !stats?.isDirectory() && this.#isUndeclared(look.path))
      throw new AssayError(
        'ASSAY_INPUT_CHANGED',
        `it looked at ${readable(look.path)} and then changed it: what was there before is not known any more`,
      );
    if (look.was === 'absent') this.#addAbsent(look, stats);
    else if (look.was === undefined) this.#keep(look, false);
    else if (!look.changed || names) {
      if (!stats) throw changed(look.path, 'went away');
      if (names && stats.isDirectory()) this.#checkNames(look.path, stats);
      else if (!stats.isDirectory()) this.#checkUntouched(look.path, stats);
      this.#keep(look, names);
    }
  }

  #addAbsent({ path, changed: isOwn, searchedFrom }: ReadSetEntry, stats: Stats | undefined): void {
    if (!stats) this.#addMissing(topmostAbsent(path), searchedFrom);
    else if (isOwn) this.#found.set(path, { ...MISSING, left: this.#states.at(path), searchedFrom });
    else throw changed(path, 'appeared');
  }

  /** It was missed in a search only if all that was missed below it was. */
  #addMissing(path: AbsPath, bases: readonly AbsPath[]): void {
    const known = this.#found.get(path)?.searchedFrom;
    const isSearch = bases.length > 0 && known?.length !== 0;
    const searchedFrom = isSearch ? [...new Set([...(known ?? []), ...bases])] : [];
    this.#found.set(path, { ...MISSING, searchedFrom });
  }

  #isLeft(path: AbsPath): boolean {
    const holdsOutput = this.#outputs.some((output) => isAtOrBelow(output, path));
    return this.#isUndeclared(path) && !holdsOutput && statsAt(path) !== undefined;
  }

  /** Something of the workspace that is none of the action's own. */
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

  /** A folder's own time changes also by what the action makes in it: then each name is looked at. */
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
   * What lies above the workspace is told as it is seen from there, so that in another checkout the same place is looked at;
   * the same for tools. What may have been named by its absolute path is told by that, too: both must be as they were.
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

  /** In a checkout that lies deeper there are more folders above. */
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

/** Where it can't be looked, nothing can be seen. */
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
