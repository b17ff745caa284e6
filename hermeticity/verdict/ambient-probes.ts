// Paths that programs probe wherever they run, whatever the action. They are no findings: a finding on every
// action of a kind teaches people to ignore findings. They are still part of the read set, so a cached result
// depends on them.
import {
  type AbsPath,
  FILESYSTEM_ROOT,
  isBelow,
  parentFolder,
  relativeIn,
  targetOfLink,
} from '../system/absolute-path.ts';
import type { Access, PathAccess } from '../trace/access.ts';
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
  #programs: ReadonlySet<string> | undefined;

  constructor(state: VerdictState) {
    this.#state = state;
  }

  /** Whether this program always probes this path, so that its absence is no finding. */
  excusesAbsent(access: PathAccess): boolean {
    const { policy } = this.#state;
    if (policy.ambientNames.some((pattern) => pattern.test(access.path))) return true;
    const program = this.#state.programOf(access);
    const isSought = policy.programProbes.some(
      (seeker) => seeker.program.test(program) && seeker.names.test(access.path),
    );
    return (
      isSought ||
      SEARCHES.some((search) => search.program.test(program) && this.#foundLater(search, access.path))
    );
  }

  /** The same for names that tools search in every folder up to the root. */
  excusesAbove(path: AbsPath): boolean {
    return this.#isUpwardSearch(path) || this.#isCaseTrial(path);
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
    const program = this.#state.programOf(listing);
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

  #isUpwardSearch(path: AbsPath): boolean {
    const { declared, policy } = this.#state;
    for (let at = path; at !== FILESYSTEM_ROOT; at = parentFolder(at)) {
      const name = at.slice(at.lastIndexOf('/') + 1);
      if (policy.upwardNames.has(name) && isBelow(declared.workspace, parentFolder(at))) return true;
    }
    return false;
  }

  /** A program tests whether the file system is case-sensitive by probing its own name in capitals. */
  #isCaseTrial(path: AbsPath): boolean {
    this.#programs ??= new Set(
      this.#state.report.accesses.flatMap((access) => (access.kind === 'exec' ? [access.path] : [])),
    );
    const small = path.toLowerCase();
    return [...this.#programs].some((program) => program !== path && program.toLowerCase() === small);
  }
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
