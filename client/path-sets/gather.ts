// Builds the path set of a run: each path that the action read, and each other fact, with its state.
// Throws if anything but the action itself changed a file that it read, or a path that it looked for, while it ran.
// The state of a listing is what the command was shown. Two listings that show different names are a reason to throw.
//
// Files that the action left in the workspace and no output names go into the set too. A hit does not create
// them, so there is no hit unless they are as the run left them.
// A missing folder stands for everything missing below it, except where a package's programs were searched: others
// may install them.

import { lstatSync, type Stats } from 'node:fs';
import { AssayError, isSystemError } from '../../core/errors.ts';
import { parseRelPath, type RelPath } from '../../core/path.ts';
import {
  LOADER_CACHE,
  MACHINE,
  type ObservedPath,
  type PathSet,
  sortObservedPaths,
} from '../../core/path-set.ts';
import { type FileLens, isFileLens } from '../../hermeticity/lenses/file-lenses.ts';
import { lensNamed } from '../../hermeticity/lenses/lenses.ts';
import type { FileStamp } from '../../hermeticity/trace/access.ts';
import { namesNow } from '../../hermeticity/trace/folder-names.ts';
import { DEFAULT_POLICY } from '../../hermeticity/verdict/policy.ts';
import type { ReadSetEntry, Shown } from '../../hermeticity/verdict/read-set.ts';
import { isInToolCache } from '../../hermeticity/verdict/tool-caches.ts';
import type { Verdict } from '../../hermeticity/verdict/verdict.ts';
import {
  type AbsPath,
  absPath,
  FILESYSTEM_ROOT,
  inside,
  isAtOrBelow,
  parentFolder,
  readable,
  relativeIn,
  toBytes,
} from '../../system/paths/absolute-path.ts';
import { ASSAY_FOLDER } from '../../system/paths/assay-folder.ts';
import type { ScratchFolders } from '../action/environment.ts';
import { keeperOf } from '../action/owned-caches.ts';
import { programPlaces } from '../action/program-folders.ts';
import { stateAndCheckpointPaths } from '../action/request.ts';
import { wasUntouched } from '../files/settled.ts';
import type { StatRow } from '../files/stat-table.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { sourceOfCompiled } from '../lenses/compiled-module.ts';
import { OBSERVED } from '../limits.ts';
import { kernelFileState, UNKNOWN } from './kernel-files.ts';
import { type Listing, pathIn } from './listings.ts';
import { LOADER_CACHE_FILE, loaderCache, RENAMED } from './loader-cache.ts';
import { isInstalled, isKernelPath, type RootedPath, WORKSPACE } from './roots.ts';
import { ABSENT_STATE, type States } from './states.ts';
import { UnorderedOutputs } from './unordered-outputs.ts';

/**
 * Throws ASSAY_INPUT_CHANGED if a path changed while the action ran, ASSAY_OUTPUT_UNFIT if it left too many
 * files.
 */
export function gatherPathSet(
  action: Pick<KeyedAction, 'request' | 'tools' | 'inputs'>,
  { readSet, unkeyed, openedInputs, impliedFolders, written, findings, kernelFacts, libraries }: Gathered,
  folders: ScratchFolders,
  states: States,
  facts: readonly Fact[] = [],
): PathSet {
  for (const path of unkeyed) throw changed(path, 'appeared');
  checkOpenedInputs(openedInputs, action);
  checkFolders(impliedFolders, folders.madeAtMs);
  const gathering = new Gathering(action, written, folders, states);
  for (const entry of readSet) gathering.add(entry);
  if (findings.some(({ kind }) => kind === 'write')) gathering.addLeft();
  for (const name of kernelFacts) gathering.addKernelFile(name);
  gathering.addLibraries(libraries);
  return gathering.end(facts);
}

type Gathered = Pick<
  Verdict,
  | 'readSet'
  | 'unkeyed'
  | 'openedInputs'
  | 'impliedFolders'
  | 'written'
  | 'findings'
  | 'kernelFacts'
  | 'libraries'
>;

/** What was found is what the key has. Inputs that are laid out as links have stats of the links. */
function checkOpenedInputs(
  opened: Verdict['openedInputs'],
  { request, inputs }: Pick<KeyedAction, 'request' | 'inputs'>,
): void {
  const rows = inputs.links ? undefined : inputs.statRows();
  for (const [path, stamp] of opened) {
    const [, , ctimeMs, ino] = rows?.get(path) ?? [];
    if (ctimeMs === undefined || ino === undefined) continue;
    if (!isStampOf({ ctimeMs, ino }, stamp))
      throw changed(inside(absPath(request.workspace), path), 'changed');
  }
}

/** Bazel lays out a folder of inputs as a link. A look at the link itself tells the link's inode. */
function checkFolders(seen: Verdict['impliedFolders'], startedAtMs: number): void {
  for (const [path, stamp] of seen) {
    const stats = statsAt(stamp.at ?? path);
    const isSame = stats?.isSymbolicLink()
      ? isStampOf(stats, stamp) && wasUntouched(stats, startedAtMs)
      : isFolderOf(stats, stamp);
    if (!isSame) throw changed(path, 'was moved or replaced');
  }
}

/** A fact that is no path. Its state is taken now. */
export interface Fact extends Pick<ObservedPath, 'path' | 'note'> {
  readonly root: typeof LOADER_CACHE | typeof MACHINE;
}

interface Found extends Omit<ObservedPath, 'root' | 'path'> {
  readonly searchedFrom: readonly AbsPath[];
}

type Kept = Pick<ReadSetEntry, 'path' | 'searchedFrom'> & { readonly lens?: string };

interface Hidden {
  /** The command was shown it. */
  readonly wasThere: boolean;
  /** Names in it that do not count either. */
  readonly without: readonly string[];
}

const NONE: Shown = new Map();

class Gathering {
  readonly #unordered: UnorderedOutputs;
  readonly #written: ReadonlySet<AbsPath>;
  readonly #folders: ScratchFolders;
  readonly #states: States;
  readonly #ownFiles: ReadonlySet<string>;
  /** By the real path of a tool's file: its stats of before the run. */
  readonly #toolStats: ReadonlyMap<string, Pick<Stats, 'ino' | 'ctimeMs'>>;
  readonly #workspace: AbsPath;
  readonly #outputs: readonly AbsPath[];
  readonly #programs: ReadonlySet<AbsPath>;
  readonly #found = new Map<AbsPath, Found>();
  readonly #facts: Fact[] = [];
  /** By folder: the topmost missing one of it and those above it; null for a folder that is there. */
  readonly #topmost = new Map<AbsPath, AbsPath | null>();
  /** Folders that a listing does not count. */
  readonly #hidden = new Map<AbsPath, Hidden>();
  #ownNames: ReadonlyMap<AbsPath, readonly string[]> | undefined;
  /** The dynamic loader looked up libraries in its cache, and no program read the cache itself. */
  #usedLoaderCache = false;

  constructor(
    { request, tools }: Pick<KeyedAction, 'request' | 'tools'>,
    written: ReadonlySet<AbsPath>,
    folders: ScratchFolders,
    states: States,
  ) {
    this.#unordered = new UnorderedOutputs(request);
    this.#written = written;
    this.#folders = folders;
    this.#states = states;
    this.#workspace = absPath(request.workspace);
    this.#programs = new Set(programPlaces(request).map(absPath));
    this.#outputs = [...request.outputs, ...stateAndCheckpointPaths(request), parseRelPath(ASSAY_FOLDER)].map(
      (path) => inside(this.#workspace, path),
    );
    // A tool's own file is in the key by its content, also if its name is a link.
    const found = tools.flatMap((tool) => [tool, ...tool.interpreters]);
    this.#ownFiles = new Set(found.flatMap(({ file, real }) => [file, real]));
    this.#toolStats = new Map(
      found.flatMap(({ real, marks: [own] }) => (own ? [[real, statsOf(own.row)] as const] : [])),
    );
  }

  add(entry: ReadSetEntry): void {
    // A cache that was set aside is back by now. The command did not find it.
    if (this.#states.hides(entry.path)) return;
    const isScratch = isAtOrBelow(entry.path, absPath(this.#folders.root));
    if (isLoaderCache(entry)) this.#addLoaderCache(entry);
    else if (isScratch) return;
    else if (this.#isInKey(entry)) this.#checkTool(entry);
    else this.#add(entry);
  }

  /** The key has a script without the path of the workspace: one that others looked at counts as they saw it. */
  #isInKey({ path, lens }: ReadSetEntry): boolean {
    if (!this.#ownFiles.has(path)) return false;
    return lens === 'place-1' || this.#states.lensOfText(path, statsAt(path)) === '';
  }

  /** A tool that somebody linked meanwhile (tools.ts) was, at each start, the one of before the run or of now. */
  #checkTool({ path, stamps }: ReadSetEntry): void {
    const before = this.#toolStats.get(path);
    const stats = statsAt(path);
    if (!before || !stats || (stats.ino === before.ino && stats.ctimeMs === before.ctimeMs)) return;
    if (!stamps.every((stamp) => isStampOf(before, stamp) || isStampOf(stats, stamp)))
      throw changed(path, 'changed');
  }

  /** A cache that cannot be understood counts by its content. */
  #addLoaderCache(entry: ReadSetEntry): void {
    this.#add(entry);
    if (!loaderCache()) return;
    this.#found.delete(entry.path);
    this.#usedLoaderCache = true;
  }

  addLibraries(names: Iterable<string>): void {
    if (!this.#usedLoaderCache) return;
    for (const path of [RENAMED, ...names]) this.#facts.push({ root: LOADER_CACHE, path, note: '' });
  }

  /** Throws if the file cannot be compared, or is not the same when it is read again. */
  addKernelFile(name: string): void {
    const state = kernelFileState(name);
    if (state === UNKNOWN) throw incomparable(name, 'cannot be compared with that of another machine');
    if (kernelFileState(name) !== state) throw incomparable(name, 'changes from moment to moment');
    this.#facts.push({ root: MACHINE, path: name, note: '' });
  }

  addLeft(): void {
    const left = [...this.#written].filter((path) => this.#isLeft(path));
    if (left.length > OBSERVED.leftPaths)
      throw new AssayError(
        'ASSAY_OUTPUT_UNFIT',
        `it left ${left.length} files and folders that no output names`,
      );
    for (const path of left) this.#keep({ path, searchedFrom: [] });
  }

  end(facts: readonly Fact[]): PathSet {
    for (const [folder, hidden] of this.#hidden) this.#addHidden(folder, hidden);
    const rooted = [...this.#found].flatMap(([path, seen]) => this.#rooted(path, seen));
    for (const fact of [...this.#facts, ...facts]) {
      const seen = { ...MISSING, ...fact };
      rooted.push({ ...seen, state: this.#states.of(seen) });
    }
    // A name that was searched in several folders above is listed once.
    const once = new Map(rooted.map((seen) => [JSON.stringify([seen.root, seen.path]), seen]));
    return sortObservedPaths([...once.values()]);
  }

  #add(entry: ReadSetEntry): void {
    const { path, was, listings } = entry;
    const stats = statsAt(path);
    const isFolder = stats?.isDirectory() === true;
    if (was === 'there' && entry.changed && !isFolder && this.#isUndeclared(path)) throw rewritten(path);
    const isOwn = entry.changed;
    if (entry.flickered && !isOwn) throw changed(path, 'came or went');
    if (entry.followed && !isOwn && stats?.isSymbolicLink() === false) throw changed(path, 'was a link');
    if (isFolder && !isOwn && !this.#unordered.holds(path)) this.#checkFolder(entry, stats);
    if (was === 'absent') this.#addAbsent(entry, stats);
    else if (was === undefined) this.#keep(entry);
    else if (listings.length > 0) this.#addListing(entry);
    else if (!entry.changed || isFolder) {
      if (!stats) throw changed(path, 'went away');
      if (!isFolder) this.#checkUntouched(entry, stats);
      this.#keep(entry, stats);
    }
  }

  /** The folder may be gone by now: what counts is what it showed. */
  #addListing({ path, listings, lens, searchedFrom }: ReadSetEntry): void {
    const [{ shown: first } = { shown: undefined }, ...later] = listings;
    if (!first) throw new AssayError('ASSAY_INPUT_CHANGED', `what ${readable(path)} showed is not known`);
    const own = this.#ownNamesIn(path);
    const absent = this.#unordered.absentIn(path, first);
    const counts = (shown: Shown, without: readonly string[]) =>
      this.#states.listings.state(path, shown, { without, lens });
    for (const { shown, again } of later) {
      const without = again ? [...own, ...absent] : own;
      if (shown && counts(shown, without) === counts(first, without)) continue;
      const name = shown && differingName(first, shown);
      throw changed(name === undefined ? path : pathIn(path, name), 'came, went or became something else');
    }
    const without = [...new Set([...own, ...absent])].sort();
    const state = counts(first, without);
    const shown = this.#namesToShow(path, first, { without, lens });
    this.#found.set(path, { ...MISSING, names: true, state, without, lens, shown, searchedFrom });
    this.#hideFoldersIn(path, without, (name) => first.has(name));
    for (const [name, type] of first) {
      const cache = pathIn(path, name);
      /* A program that can't act on the name was not shown the cache: tsc and the .tsbuildinfo of another package. */
      if (lensNamed(lens)?.(name, type) === false) continue;
      if (!this.#states.listings.isToolCache(path, name, lens) || this.#found.has(cache)) continue;
      this.#keep({ path: cache, searchedFrom: [] });
    }
  }

  /**
   * A folder that the command made, or that lies around an output, is no name of a listing. So what others put
   * into it is a fact of its own.
   */
  #hideFoldersIn(folder: AbsPath, names: readonly string[], wasThere: (name: string) => boolean): void {
    const around = this.#states.listings.namesAroundOutputs(folder);
    for (const name of new Set([...names, ...around])) this.#hide(pathIn(folder, name), wasThere(name));
  }

  #hide(path: AbsPath, wasThere: boolean): void {
    if (this.#hidden.has(path) || !this.#isUndeclared(path) || this.#unordered.holds(path)) return;
    if (this.#isInToolCache(path) || this.#states.hides(path)) return;
    const without = [...this.#ownNamesIn(path), ...this.#unordered.absentIn(path, new Map())];
    this.#hidden.set(path, { wasThere, without: [...new Set(without)].sort() });
    this.#hideFoldersIn(path, without, () => wasThere);
  }

  /** A folder in which others have nothing is the same as none, unless the command looked for it. */
  #addHidden(path: AbsPath, { wasThere, without }: Hidden): void {
    const known = this.#found.get(path);
    const stats = statsAt(path);
    if (known?.names || (stats && !stats.isDirectory()) || (!stats && known)) return;
    const { listings } = this.#states;
    const listing = { without, lens: '' };
    const empty = listings.state(path, NONE, listing);
    if (wasThere && stats && listings.state(path, namesNow(path).entries, listing) !== empty) {
      if (!known) this.#keep({ path, searchedFrom: [] }, stats);
      return;
    }
    const states = known?.state === 'folder' ? { state: empty } : { left: empty };
    this.#found.set(path, { ...MISSING, searchedFrom: [], ...known, names: true, without, ...states });
  }

  /** A later miss then names what came or went. */
  #namesToShow(path: AbsPath, first: Shown, listing: Listing): readonly string[] {
    if (!isAtOrBelow(path, this.#workspace) || first.size > OBSERVED.shownNames) return [];
    return this.#states.listings.counted(path, first, listing) ?? [];
  }

  #addAbsent(entry: ReadSetEntry, stats: Stats | undefined): void {
    const { path, changed: isOwn, searchedFrom } = entry;
    if (isFileLens(entry.lens) && (isOwn || !stats)) {
      this.#keep(entry, stats);
      return;
    }
    const isExact = stats !== undefined || this.#programs.has(parentFolder(path));
    const counted = this.#unordered.countedAbsence(path, isExact ? path : this.#topmostAbsent(path));
    if (counted === undefined) return;
    if (!stats) this.#addMissing(counted, searchedFrom);
    else if (isOwn) {
      this.#found.set(path, { ...MISSING, left: this.#states.at(path), searchedFrom });
      if (stats.isDirectory()) this.#hide(path, false);
    } else throw changed(path, 'appeared');
  }

  /** A missing folder counts as searched for only if everything missing below it was searched for. */
  #addMissing(path: AbsPath, bases: readonly AbsPath[]): void {
    const earlier = this.#found.get(path)?.searchedFrom;
    const isSearch = bases.length > 0 && earlier?.length !== 0;
    const searchedFrom = isSearch ? [...new Set([...(earlier ?? []), ...bases])] : [];
    this.#found.set(path, { ...MISSING, searchedFrom });
  }

  /** Most names that are missing lie in a few folders: each folder is looked at once for the set. */
  #topmostAbsent(path: AbsPath): AbsPath {
    const folder = parentFolder(path);
    if (folder === FILESYSTEM_ROOT) return path;
    const known = this.#topmost.get(folder);
    if (known !== undefined) return known ?? path;
    const absent = statsAt(folder) ? null : this.#topmostAbsent(folder);
    this.#topmost.set(folder, absent);
    return absent ?? path;
  }

  #isLeft(path: AbsPath): boolean {
    const holdsOutput = this.#outputs.some((output) => isAtOrBelow(output, path));
    const isLeft = this.#isUndeclared(path) && !holdsOutput && !this.#isInToolCache(path);
    return isLeft && statsAt(path) !== undefined;
  }

  /** In the workspace, but neither an output nor the state of the action. */
  #isUndeclared(path: AbsPath): boolean {
    if (!isAtOrBelow(path, this.#workspace) || path === this.#workspace) return false;
    return !this.#outputs.some((output) => isAtOrBelow(path, output));
  }

  #isInToolCache(path: AbsPath): boolean {
    const relative = relativeIn(this.#workspace, path);
    const has = (beside: RelPath) => statsAt(inside(this.#workspace, beside)) !== undefined;
    return relative !== undefined && isInToolCache(relative, has);
  }

  #keep({ path, searchedFrom, lens: ofRun = '' }: Kept, stats?: Stats): void {
    const lens = this.#lensOf(path, ofRun, stats);
    const state = this.#states.at(path, stats, lens);
    this.#found.set(path, { ...MISSING, state, lens, searchedFrom });
  }

  #lensOf(path: AbsPath, ofRun: string, stats: Stats | undefined): FileLens | '' {
    if (!isFileLens(ofRun)) return '';
    if (ofRun === 'place-1') return this.#states.lensOfText(path, stats);
    this.#checkSource(path);
    return ofRun;
  }

  /** Whether Python used a compiled module depends on the times of its source. */
  #checkSource(compiled: AbsPath): void {
    const source = sourceOfCompiled(compiled);
    const stats = source && statsAt(source);
    if (source && stats && !wasUntouched(stats, this.#folders.madeAtMs)) throw changed(source, 'changed');
  }

  /** Neither the file that is there now, nor another one that stood in its place for a while, was changed. */
  #checkUntouched({ path, stamps }: Pick<ReadSetEntry, 'path' | 'stamps'>, stats: Stats): void {
    const isSame = stamps.every((stamp) => isStampOf(statsFor(stamp, stats), stamp));
    const isUntouched = isSame && wasUntouched(stats, this.#folders.madeAtMs);
    if (!isUntouched && !this.#isOnlyLinked(path, stamps, stats)) throw changed(path, 'changed');
  }

  /**
   * A package manager linked the file meanwhile. The command opened it as it was before its run, or as it is now: any
   * other time may be that of other content.
   */
  #isOnlyLinked(path: AbsPath, stamps: readonly FileStamp[], stats: Stats): boolean {
    const before = this.#states.beforeLinks(path, stats);
    if (!before) return false;
    const [, mtimeMs, ctimeMs] = before;
    const isOfOne = (stamp: FileStamp) => isStampOf(statsOf(before), stamp) || isStampOf(stats, stamp);
    const isBefore = wasUntouched({ mtimeMs, ctimeMs }, this.#folders.madeAtMs);
    return isBefore && stamps.every((stamp) => stamp.at === undefined && isOfOne(stamp));
  }

  #checkFolder({ path, stamps }: Pick<ReadSetEntry, 'path' | 'stamps'>, stats: Stats): void {
    if (!stamps.every((stamp) => isFolderOf(statsFor(stamp, stats), stamp)))
      throw changed(path, 'was moved or replaced');
  }

  /** Without names that it removed again: such a name is often another one in every run. */
  #ownNamesIn(folder: AbsPath): string[] {
    this.#ownNames ??= byFolder(this.#written);
    return (this.#ownNames.get(folder) ?? []).filter((name) => statsAt(pathIn(folder, name)));
  }

  /**
   * A path above the workspace or a tool is listed relative to it, so that another checkout checks the same
   * relative path.
   * A path that the action may have used by its absolute name is listed by that too: both states must match.
   */
  #rooted(path: AbsPath, { searchedFrom, ...seen }: Found): ObservedPath[] {
    const { roots } = this.#states;
    const absolute = { ...roots.root(path), ...seen };
    const onEveryMachine = isInstalled(path) || isKernelPath(path) || DEFAULT_POLICY.ambientPaths.has(path);
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

const MISSING = {
  names: false,
  state: ABSENT_STATE,
  left: '',
  without: [],
  lens: '',
  shown: [],
  note: '',
} as const;

function isMissing({ state, left }: Pick<ObservedPath, 'state' | 'left'>): boolean {
  return state === ABSENT_STATE && left === '';
}

function statsOf([, , ctimeMs, ino]: StatRow): Pick<Stats, 'ino' | 'ctimeMs'> {
  return { ino, ctimeMs };
}

/** `stats`: of the path by which the access names the file. */
function statsFor({ at }: FileStamp, stats: Stats): Stats | undefined {
  return at === undefined ? stats : statsAt(at);
}

/** The tracer tells microseconds, Node's stats a double in milliseconds. */
function isStampOf(
  stats: Pick<Stats, 'ino' | 'ctimeMs'> | undefined,
  { inode, changedAtMs = stats?.ctimeMs, folder }: FileStamp,
): boolean {
  if (!stats || changedAtMs === undefined || folder) return false;
  return stats.ino === inode && Math.abs(stats.ctimeMs - changedAtMs) < 0.002;
}

/** A folder's ctime changes with its names, so its inode tells which one it is. */
function isFolderOf(stats: Stats | undefined, { inode, folder }: FileStamp): boolean {
  return stats?.isDirectory() === true && folder === true && stats.ino === inode;
}

/** The names of these paths by their folders, sorted. */
function byFolder(paths: Iterable<AbsPath>): ReadonlyMap<AbsPath, readonly string[]> {
  const names = new Map<AbsPath, string[]>();
  for (const path of paths) {
    const folder = parentFolder(path);
    const known = names.get(folder);
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (known) known.push(name);
    else names.set(folder, [name]);
  }
  for (const list of names.values()) list.sort();
  return names;
}

function differingName(one: Shown, other: Shown): string | undefined {
  return [...one, ...other].find(([name]) => one.get(name) !== other.get(name))?.[0];
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

/** The loader's cache, unless a program read it itself: that may depend on all of it. */
function isLoaderCache({ path, was, changed: isOwn, byProgram }: ReadSetEntry): boolean {
  return path === LOADER_CACHE_FILE && was === 'there' && !isOwn && !byProgram;
}

function incomparable(name: string, why: string): AssayError {
  return new AssayError('ASSAY_INPUT_CHANGED', `it read ${name}, which ${why}`);
}

function rewritten(path: AbsPath): AssayError {
  const what = `it read ${readable(path)} and then changed it: the earlier content is not known any more`;
  return new AssayError('ASSAY_INPUT_CHANGED', `${what}${wayAround(path)}`);
}

/** Assay sets a cache aside only for a command that names its tool. git refreshes the index for `git status`. */
function wayAround(path: AbsPath): string {
  if (path.endsWith('/.git/index')) return '. For go build, set GOFLAGS=-buildvcs=false';
  const keeper = keeperOf(path);
  return keeper === undefined ? '' : `. Name ${keeper} in the command, or turn its cache off`;
}

function changed(path: AbsPath, how: string): AssayError {
  return new AssayError('ASSAY_INPUT_CHANGED', `${readable(path)} ${how} while it ran`);
}
