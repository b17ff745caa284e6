// Paths that programs probe wherever they run, whatever the action. They are no findings: a finding on every
// action of a kind teaches people to ignore findings. They are still part of the read set, so a cached result
// depends on them.
import { type RelPath, ROOT } from '../../core/path.ts';
import {
  type AbsPath,
  FILESYSTEM_ROOT,
  inside,
  isBelow,
  parentFolder,
  relativeIn,
  targetOfLink,
} from '../../system/paths/absolute-path.ts';
import type { Access, PathAccess } from '../trace/access.ts';
import { UpwardSearches } from './upward-search.ts';
import type { VerdictState } from './verdict-state.ts';

const COMPILERS = /^(?:cc1|cc1plus|cpp|clang(?:\+\+)?(?:-\d+)?)$/;

const TYPESCRIPT = /\.[cm]?tsx?$/;
const MAKE = /^g?make$/;
const WILDCARD = /\$[({]wildcard\s+([^)}]*)/g;
/** The folder before the first wildcard of a pattern; no match if a variable comes first. */
const FOLDER_OF_PATTERN = /^((?:[^/*?[$]+\/)*)[^/$]*[*?[]/;

/** A search that tries the action's folders first and then finds the file among the system's. */
interface Search {
  readonly program: RegExp;
  /** Extracts the searched name from the path where it was found. */
  readonly found: RegExp;
  /** Extracts it from a path where it was missing. If absent, any suffix of that path may be the name. */
  readonly missed?: RegExp;
}

const LIBRARY_TO_LINK = /\/(lib[^/]+)\.(?:so|a)$/;
const LIBRARY_TO_LOAD = /\/(lib[^/]+\.so[.\d]*)$/;

const SEARCHES: readonly Search[] = [
  {
    program: COMPILERS,
    /* Skips the architecture's and the library's folder: "include/aarch64-linux-gnu/", "include/c++/12/". */
    found: /^.*\/include(?:-fixed)?\/(?:[^/]+-linux-[^/]+\/)?(?:c\+\+\/\d+\/)?(?:[^/]+-linux-[^/]+\/)?(.+)$/,
  },
  { program: /^(?:collect2|ld(?:\.\w+)?)$/, found: LIBRARY_TO_LINK, missed: LIBRARY_TO_LINK },
  /* Any program that searches its own folder for libraries first (rpath). */
  { program: /./, found: LIBRARY_TO_LOAD, missed: LIBRARY_TO_LOAD },
  { program: /^perl[\d.]*$/, found: /\/perl(?:5|-base)?\/(?:[\d.]+\/)?(.+\.pm)$/ },
];

export class AmbientProbes {
  readonly #state: VerdictState;
  readonly #found = new Map<Search, ReadonlySet<string>>();
  #listedByMake: ReadonlySet<AbsPath> | undefined;
  #firstListings: ReadonlySet<Access> | undefined;
  #usedNames: ReadonlyMap<string, AbsPath> | undefined;
  #searches: UpwardSearches | undefined;

  constructor(state: VerdictState) {
    this.#state = state;
  }

  /** Whether this program always probes this path, so that its absence is no finding. */
  isRoutine(access: PathAccess): boolean {
    const { policy } = this.#state;
    const { path } = access;
    if (policy.ambientNames.some((pattern) => pattern.test(path)) || this.#isCaseTrial(path)) return true;
    const program = this.#state.programOf(access);
    const isPlain = policy.shells.has(program) || policy.plainPrograms.has(program);
    if (!isPlain && (policy.configurationNames.test(path) || this.#isConfigurationSearch(path))) return true;
    const isSought = policy.programProbes.some(
      (seeker) => seeker.program.test(program) && seeker.names.test(path),
    );
    return (
      isSought || SEARCHES.some((search) => search.program.test(program) && this.#foundLater(search, path))
    );
  }

  /** The same for names that tools search in every folder up to the root, and at the root itself. */
  isRoutineAbove(path: AbsPath): boolean {
    return this.#isUpwardSearch(path) || this.#state.policy.triedEverywhere.test(path);
  }

  /** Python searches each module first beside the program or in the working folder, then among its own. */
  isImport(listing: PathAccess): boolean {
    const { accesses } = this.#state.report;
    const from = accesses.indexOf(listing) + 1;
    const next = accesses.slice(from).find((access) => access.process === listing.process);
    return next !== undefined && 'path' in next && this.#state.locationOf(next.path) === 'toolchain';
  }

  /** Whether the program lists a folder to process whatever it contains, not only to find names. */
  collects(listing: PathAccess): boolean {
    const program = this.#state.toolOf(listing);
    if (program === 'tsc') return this.#hasSources(listing.path);
    return MAKE.test(program) && this.#wildcards().has(listing.path);
  }

  /** Python lists each folder that it loads modules from, before its script can list it. */
  isFirstListing(listing: PathAccess): boolean {
    this.#firstListings ??= firstListings(this.#state.report.accesses);
    return this.#firstListings.has(listing);
  }

  #foundLater(search: Search, path: AbsPath): boolean {
    const found = this.#foundBy(search);
    if (search.missed) return found.has(search.missed.exec(path)?.[1] ?? '');
    const names = path.split('/');
    return names.some((_, at) => found.has(names.slice(at).join('/')));
  }

  #foundBy(search: Search): ReadonlySet<string> {
    const known = this.#found.get(search);
    if (known) return known;
    const found = new Set<string>();
    for (const access of this.#state.report.accesses) {
      if (access.kind !== 'read' || this.#state.locationOf(access.path) !== 'toolchain') continue;
      const name = search.found.exec(access.path)?.[1];
      if (name !== undefined) found.add(name);
    }
    this.#found.set(search, found);
    return found;
  }

  /**
   * tsc lists the folders of its "include" setting and their parents; only the former contain what it reads.
   */
  #hasSources(folder: AbsPath): boolean {
    return this.#state.report.accesses.some(
      (access) =>
        access.kind === 'read' && TYPESCRIPT.test(access.path) && parentFolder(access.path) === folder,
    );
  }

  /** The folders of `$(wildcard …)` that are written without variables. */
  #wildcards(): ReadonlySet<AbsPath> {
    this.#listedByMake ??= new Set(
      this.#state.report.accesses.flatMap((access) => {
        const isMakefile = access.kind === 'read' && MAKE.test(this.#state.programOf(access));
        return isMakefile ? this.#wildcardsIn(access.path) : [];
      }),
    );
    return this.#listedByMake;
  }

  #wildcardsIn(makefile: AbsPath): AbsPath[] {
    const path = relativeIn(this.#state.declared.workspace, makefile);
    const text = path === undefined ? '' : this.#state.declared.textOf(path);
    const patterns = [...text.matchAll(WILDCARD)].flatMap(([, words = '']) => words.split(/\s+/));
    const folders = patterns.flatMap((pattern) => FOLDER_OF_PATTERN.exec(pattern)?.[1] ?? []);
    return folders.map((folder) => targetOfLink(makefile, folder === '' ? '.' : folder));
  }

  /**
   * A search that leaves the workspace looks for configuration, whatever its name. Vite also takes an
   * absolute path for one below its own folder.
   */
  #isConfigurationSearch(path: AbsPath): boolean {
    const { report, declared } = this.#state;
    const { workspace } = declared;
    this.#searches ??= new UpwardSearches(report.accesses, [workspace]);
    return this.#searches.goesBeyond(path) || isBelow(path, inside(workspace, relativePart(workspace)));
  }

  #isUpwardSearch(path: AbsPath): boolean {
    const { declared, policy } = this.#state;
    for (let at = path; at !== FILESYSTEM_ROOT; at = parentFolder(at)) {
      const name = at.slice(at.lastIndexOf('/') + 1);
      if (policy.upwardNames.has(name) && isBelow(declared.workspace, parentFolder(at))) return true;
    }
    return false;
  }

  /**
   * A program tests whether the file system is case-sensitive: it probes the name of a file that it uses,
   * with other capitals. tsc swaps the capitals of its own path.
   */
  #isCaseTrial(path: AbsPath): boolean {
    this.#usedNames ??= usedNames(this.#state.report.accesses);
    const used = this.#usedNames.get(path.toLowerCase());
    return used !== undefined && used !== path;
  }
}

function relativePart(folder: AbsPath): RelPath {
  return relativeIn(FILESYSTEM_ROOT, folder) ?? ROOT;
}

/** The files that were read or run, by their names in small letters. */
function usedNames(accesses: readonly Access[]): ReadonlyMap<string, AbsPath> {
  const used = new Map<string, AbsPath>();
  for (const access of accesses)
    if (access.kind === 'exec' || access.kind === 'read') used.set(access.path.toLowerCase(), access.path);
  return used;
}

/** The first listing of each folder by each process. */
function firstListings(accesses: readonly Access[]): ReadonlySet<Access> {
  const first = new Map<string, Access>();
  for (const access of accesses) {
    if (access.kind !== 'list') continue;
    const name = `${access.process} ${access.path}`;
    if (!first.has(name)) first.set(name, access);
  }
  return new Set(first.values());
}
