// Which lens a listing has: by the identity of the program that made it, never by its name alone.
// A program that runs the user's code in its own process (Python) has a lens only for folders that its importer
// listed, and that it listed exactly once. A folder has a lens only if all its listers have one.
import { type AbsPath, isAtOrBelow, parentFolder } from '../system/absolute-path.ts';
import type { Access, PathAccess, TracedProcess, TraceReport } from '../trace/access.ts';
import { joinLenses, type LensName } from './lenses.ts';

/** What identifies a program on this machine. */
export interface Programs {
  readonly workspace: AbsPath;
  /** A path of the command's words, from its working directory, without links. */
  realPathOf(text: string): AbsPath | undefined;
  /** The name of the npm package that a file belongs to. */
  packageOf(file: AbsPath): string | undefined;
  /** The text of a file of the workspace. */
  textAt(path: AbsPath): string;
}

/** A program whose file is known, not only its name. */
export type Program = LensName | 'python' | 'mkdir' | 'vitest';

const NODE = /^node(?:js)?$/;
const PYTHON = /^python[\d.]*$/;
const TSC_PACKAGE = /^(?:typescript|@typescript\/(?:typescript|native-preview)-[\w-]+)$/;
const TSC_FILE = /\/(?:bin\/tsc|lib\/_?tsc(?:\.js)?)$/;
const VITEST_PACKAGE = /^vitest$/;
const VITEST_FILE = /\/vitest\.mjs$/;
const ESBUILD_PACKAGE = /^(?:esbuild|@esbuild\/[\w-]+)$/;
/** With one of these, esbuild takes files of other extensions, expands patterns, or asks plugins. */
const ESBUILD_EXTENDED = /^--(?:loader|resolve-extensions|service)(?::|=|$)|\*/;
/** As the system installs it, not a script of that name. */
const MKDIR_FILE = /^(?:\/usr)?\/(?:bin|lib)\//;
/** CPython reads this at its start. */
const PYTHON_LIBRARY = /\/lib\/python3[\d.]*\/encodings\//;
const MODULE = /\.(?:py|pyc|so)$/;

export class Listers {
  readonly #report: TraceReport;
  readonly #programsHere: Programs;
  readonly #listings = new Map<AbsPath, PathAccess[]>();
  readonly #programs = new Map<number, Program | undefined>();
  /** Folders that Python's importer has listed in this run. */
  readonly #importerFolders = new Set<AbsPath>();
  #isCPython: boolean | undefined;

  constructor(report: TraceReport, programs: Programs) {
    this.#report = report;
    this.#programsHere = programs;
  }

  note(listing: PathAccess): void {
    const earlier = this.#listings.get(listing.path);
    if (earlier) earlier.push(listing);
    else this.#listings.set(listing.path, [listing]);
  }

  /** The lens for all listings of the folder; "" if one of them may act on any name. */
  lensFor(folder: AbsPath): string {
    const lenses = (this.#listings.get(folder) ?? []).map((listing) => this.#lensOf(listing));
    return lenses.every((lens) => lens !== undefined) ? joinLenses(lenses) : '';
  }

  #lensOf(listing: PathAccess): LensName | undefined {
    const program = this.programOf(listing.process);
    if (program === 'mkdir' || program === 'vitest') return undefined;
    if (program === 'python') return this.#isByImporter(listing) ? 'python-1' : undefined;
    if (program === 'go-1' && this.#embeds(listing.path)) return undefined;
    return program;
  }

  programOf(index: number): Program | undefined {
    if (!this.#programs.has(index)) this.#programs.set(index, this.#identify(this.#report.processes[index]));
    return this.#programs.get(index);
  }

  #identify(process: TracedProcess | undefined): Program | undefined {
    const [program = '', ...args] = process?.argv ?? [];
    if (process?.argvIsCut || program === '') return undefined;
    const name = program.slice(program.lastIndexOf('/') + 1);
    if (PYTHON.test(name)) return this.#hasPython() ? 'python' : undefined;
    if (NODE.test(name)) return this.#identifyScript(args[0] ?? '');
    const file = this.#executableOf(program, name);
    if (file === undefined) return undefined;
    if (TSC_FILE.test(file) && this.#isIn(file, TSC_PACKAGE)) return 'tsc-1';
    if (name === 'esbuild' && this.#isIn(file, ESBUILD_PACKAGE))
      return args.some((arg) => ESBUILD_EXTENDED.test(arg)) ? undefined : 'esbuild-1';
    if (name === 'mkdir' && MKDIR_FILE.test(file)) return 'mkdir';
    return name === 'go' && /\/go(?:-[\d.]+)?\/bin\/go$/.test(file) ? 'go-1' : undefined;
  }

  /** The file that ran under this name. Undefined if two different files did: nothing tells them apart. */
  #executableOf(program: string, name: string): AbsPath | undefined {
    const files = new Set<AbsPath>();
    for (const access of this.#report.accesses) {
      if (access.kind !== 'exec') continue;
      if (access.path === program || access.asked === program) return access.path;
      if (access.path.endsWith(`/${name}`)) files.add(access.path);
    }
    const [file] = files;
    return files.size === 1 ? file : undefined;
  }

  /** Node runs the script itself, without options of Node that may load other code first. */
  #identifyScript(script: string): Program | undefined {
    const file = script === '' || script.startsWith('-') ? undefined : this.#programsHere.realPathOf(script);
    if (file === undefined) return undefined;
    if (TSC_FILE.test(file) && this.#isIn(file, TSC_PACKAGE)) return 'tsc-1';
    return VITEST_FILE.test(file) && this.#isIn(file, VITEST_PACKAGE) ? 'vitest' : undefined;
  }

  #isIn(file: AbsPath, packages: RegExp): boolean {
    return packages.test(this.#programsHere.packageOf(file) ?? '');
  }

  // ---- go ----

  /** Whether a source that was read here or above may embed files of this folder. Outside the workspace: yes. */
  #embeds(folder: AbsPath): boolean {
    const { workspace } = this.#programsHere;
    if (!isAtOrBelow(folder, workspace)) return true;
    return this.#report.accesses.some((access) => {
      if (access.kind !== 'read' || !access.path.endsWith('.go')) return false;
      const source = parentFolder(access.path);
      return isAtOrBelow(folder, source) && this.#programsHere.textAt(access.path).includes('//go:embed');
    });
  }

  // ---- Python ----

  #hasPython(): boolean {
    this.#isCPython ??= this.#report.accesses.some(
      (access) => 'path' in access && PYTHON_LIBRARY.test(access.path),
    );
    return this.#isCPython;
  }

  /**
   * The importer stats a folder, lists it once, and takes modules from it later. It lists the script's folder,
   * which is the first of sys.path, before it loads any module from elsewhere. So if such a module was
   * loaded, and the folder was listed once, then the importer did it.
   */
  #isByImporter(listing: PathAccess): boolean {
    const { path: folder, process, probedFirst } = listing;
    const own = this.#listings.get(folder)?.filter((one) => one.process === process) ?? [];
    if (!probedFirst || own.length !== 1) return false;
    const isFirstOfPath = this.#scriptFolder(process) === folder;
    const isImport =
      this.#loadsLater(listing, (path) => isModuleIn(path, folder)) ||
      (isFirstOfPath && this.#loadsLater(listing, () => true)) ||
      /* A module that another process has loaded is not reported again. */
      this.#importerFolders.has(folder);
    if (isImport) this.#importerFolders.add(folder);
    return isImport;
  }

  #loadsLater(listing: PathAccess, isWanted: (path: AbsPath) => boolean): boolean {
    const { accesses } = this.#report;
    const from = accesses.indexOf(listing) + 1;
    return accesses
      .slice(from)
      .some((access) => isModuleRead(access, listing.process) && isWanted(access.path));
  }

  /** Undefined with -I or -P, which keep the script's folder out of sys.path, and if it can't be found. */
  #scriptFolder(index: number): AbsPath | undefined {
    const args = this.#report.processes[index]?.argv.slice(1) ?? [];
    for (let at = 0; at < args.length; at++) {
      const arg = args[at] ?? '';
      if (!arg.startsWith('-')) {
        const script = this.#programsHere.realPathOf(arg);
        return script === undefined ? undefined : parentFolder(script);
      }
      if (/^-[A-Za-z]*[IP]/.test(arg)) return undefined;
      if (/^-[A-Za-z]*[cm]/.test(arg)) return this.#programsHere.realPathOf('.');
      if (/^-[A-Za-z]*[WX]$/.test(arg)) at++;
    }
    return undefined;
  }
}

function isModuleRead(access: Access, process: number): access is PathAccess {
  return access.kind === 'read' && access.process === process && MODULE.test(access.path);
}

/** The module itself, its compiled form, or the first file of a package. */
function isModuleIn(path: AbsPath, folder: AbsPath): boolean {
  const around = parentFolder(path);
  if (around === folder) return true;
  return parentFolder(around) === folder && /\/(?:__pycache__\/[^/]+|__init__\.[^/]+)$/.test(path);
}
