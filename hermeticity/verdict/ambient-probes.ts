// What programs look for wherever they run, whatever the action: no finding, because it would stand on every action of its
// kind and teach people to read past findings. It is a look all the same: whoever keeps the result keeps these paths with it.
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
/** Up to the part of a pattern that has a wildcard in it; none if a variable is on the way. */
const FOLDER_OF_PATTERN = /^((?:[^/*?[$]+\/)*)[^/$]*[*?[]/;

/** What is sought in the action's folders first, and then found among the system's own. */
interface Search {
  readonly program: RegExp;
  /** Takes the name that was sought from the path where it was found. */
  readonly found: RegExp;
  /** Takes it from a path where it was not. Without it any end of that path may be the name. */
  readonly missed?: RegExp;
}

const LIBRARY_TO_LINK = /\/(lib[^/]+)\.(?:so|a)$/;
const LIBRARY_TO_LOAD = /\/(lib[^/]+\.so[.\d]*)$/;

const SEARCHES: readonly Search[] = [
  {
    program: COMPILERS,
    /* Without the machine's or the library's own part: "include/aarch64-linux-gnu/", "include/c++/12/". */
    found: /^.*\/include(?:-fixed)?\/(?:[^/]+-linux-[^/]+\/)?(?:c\+\+\/\d+\/)?(?:[^/]+-linux-[^/]+\/)?(.+)$/,
  },
  { program: /^(?:collect2|ld(?:\.\w+)?)$/, found: LIBRARY_TO_LINK, missed: LIBRARY_TO_LINK },
  /* Any program whose libraries are sought beside its own first (rpath). */
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

  /** That something is not there which this program always looks for. */
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

  /** The same for what is looked for in every folder up to the root. */
  excusesAbove(path: AbsPath): boolean {
    return this.#isUpwardSearch(path) || this.#isCaseTrial(path);
  }

  /** Python looks for each module first where the program lies, or in the working folder, and then among its own. */
  isImport(listing: PathAccess): boolean {
    const { accesses } = this.#state.report;
    const from = accesses.indexOf(listing) + 1;
    const next = accesses.slice(from).find((access) => access.process === listing.process);
    return next !== undefined && 'path' in next && this.#state.locationOf(next.path) === 'toolchain';
  }

  /** It lists a folder not only to look for names, but to work on whatever lies there. */
  collects(listing: PathAccess): boolean {
    const program = this.#state.programOf(listing);
    if (program === 'tsc') return this.#hasSources(listing.path);
    return MAKE.test(program) && this.#wildcards().has(listing.path);
  }

  /** Before its script can list a folder that it loads modules from, Python has done so itself. */
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

  /** tsc lists what the "include" of its settings names, and the folders above that; only the former hold what it reads. */
  #hasSources(folder: AbsPath): boolean {
    return this.#state.report.accesses.some(
      (access) =>
        access.kind === 'read' && TYPESCRIPT.test(access.path) && parentFolder(access.path) === folder,
    );
  }

  /** The folders of `$(wildcard …)`, as far as they are written out. */
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

  /** Whether this file system tells capitals apart is asked by looking for a program by its name in capitals. */
  #isCaseTrial(path: AbsPath): boolean {
    this.#programs ??= new Set(
      this.#state.report.accesses.flatMap((access) => (access.kind === 'exec' ? [access.path] : [])),
    );
    const small = path.toLowerCase();
    return [...this.#programs].some((program) => program !== path && program.toLowerCase() === small);
  }
}

/** Of each folder by each process. */
function firstListings(accesses: readonly Access[]): ReadonlySet<Access> {
  const first = new Map<string, Access>();
  for (const access of accesses) {
    if (access.kind !== 'list') continue;
    const name = `${access.process} ${access.path}`;
    if (!first.has(name)) first.set(name, access);
  }
  return new Set(first.values());
}
