// Chooses the lens of a listing: by the identity of the program that made it, never by its name alone.
// A program that runs the user's code in its own process (Python) has a lens only for folders that its importer
// listed, and that it listed exactly once. A folder has a lens only if all its listers have one.
// Every other listing by Python or Node has the lens `runtime-1`: all names but the caches of Python's tools.
import { type AbsPath, isAtOrBelow, parentFolder } from '../../system/paths/absolute-path.ts';
import type { Access, PathAccess, TracedProcess, TraceReport } from '../trace/access.ts';
import { joinLenses, type LensName } from './lenses.ts';

/** What identifies a program on this machine. */
interface Programs {
  readonly workspace: AbsPath;
  /** A path of the command's words, from its working directory, without links. */
  realPathOf(text: string): AbsPath | undefined;
  /** The name of the npm package that a file belongs to. */
  packageOf(file: AbsPath): string | undefined;
  /** The text of a file of the workspace. */
  textAt(path: AbsPath): string;
}

/** A program whose file is known, not only its name. */
export type Program =
  | Exclude<LensName, 'python-1' | 'runtime-1'>
  | 'esbuild-service'
  | 'python'
  | 'node'
  | 'cargo'
  | 'mkdir'
  | 'vitest';

const NODE = /^node(?:js)?$/;
/** CPython's file, and the folder with its library and bin. */
const PYTHON_FILE = /^(.*)\/bin\/python[\d.]*$/;
const TSC_PACKAGE = /^(?:typescript|@typescript\/(?:typescript|native-preview)-[\w-]+)$/;
const TSC_FILE = /\/(?:bin\/tsc|lib\/_?tsc(?:\.js)?)$/;
const VITEST_PACKAGE = /^vitest$/;
const VITEST_FILE = /\/vitest\.mjs$/;
const ESBUILD_PACKAGE = /^(?:esbuild|@esbuild\/[\w-]+)$/;
/** With one of these, esbuild takes files of other extensions, or expands patterns. */
const ESBUILD_EXTENDED = /^--(?:loader|resolve-extensions)(?::|=|$)|\*/;
/** Its library starts it so, and tells it all options and plugins through a pipe. */
const ESBUILD_SERVICE = /^--service(?:=|$)/;
const MAKES_PARENTS = /^(?:-[a-zA-Z]*p|--parents$)/;
/** As the system installs it. */
const MKDIR_FILE = /^(?:\/usr)?\/bin\/mkdir$/;
const CARGO_FILE = /\/bin\/cargo$/;
const GO_FILE = /\/go(?:-[\d.]+)?\/bin\/go$/;
/** Node as a package, or from a package manager's folder. */
const NODE_PACKAGE = /^node(?:-[\w-]+)?$/;
/** esbuild takes every file that fits such a path: import(`./data/${name}.md`). */
const globImport = (start: string) =>
  new RegExp(
    `\\b(?:import|require)\\s*\\(\\s*(?:/\\*.*?\\*/\\s*)*(?:\`${start}[^\`]*\\$\\{|(["'\`])${start}[^\\n]*?\\1\\s*\\+)`,
  );
const GLOB_IMPORT = globImport('\\.');
const GLOB_IMPORT_ABOVE = globImport('\\.\\./');
const BUNDLED = /\.(?:[cm]?[jt]s|[jt]sx)$/;
/** The start of a path in a source or in a tsconfig.json. */
const UPWARD = /["'`]((?:\.\.\/)*\.\.)(?=["'`/])/g;
const PACKAGES = /\/node_modules\//;
/** Code that loads a module by its path, not through the importer. */
const LOADS_BY_PATH = /\b(?:spec_from_file_location|\w*FileLoader|load_source|run_path)\b/;
/** The virtual machine of a Java installation, and a program of one. */
const JVM = /^(.*?)(?:\/jre)?\/lib\/(?:[\w-]+\/){1,2}libjvm\.so$/;
const PROGRAM_FILE = /^(.*?)(?:\/jre)?\/bin\/[^/]+$/;
const DEBUGGED = /\/\.(?:java|attach)_pid(\d+)$/;
const INSTALLED = /\/(?:site|dist)-packages\//;
const ENCODINGS = /\/encodings\//;

export class Listers {
  readonly #report: TraceReport;
  readonly #programsHere: Programs;
  readonly #listings = new Map<AbsPath, PathAccess[]>();
  readonly #programs = new Map<number, Program | undefined>();
  #imports: ReadonlyMap<number, readonly Import[]> | undefined;
  #loadsByPath: boolean | undefined;
  /** The folders of the Java installations whose virtual machine was loaded. */
  #machines: ReadonlySet<string> | undefined;
  readonly #expands: { inside?: boolean; above?: boolean } = {};

  constructor(report: TraceReport, programs: Programs) {
    this.#report = report;
    this.#programsHere = programs;
  }

  note(listing: PathAccess): void {
    const earlier = this.#listings.get(listing.path);
    if (earlier) earlier.push(listing);
    else this.#listings.set(listing.path, [listing]);
  }

  /** Whether anyone but Python's importer listed the folder. */
  isListed(folder: AbsPath): boolean {
    return this.#listings.has(folder) && this.lensFor(folder) !== 'python-1';
  }

  /** The lens for all listings of the folder; "" if one of them may act on any name. */
  lensFor(folder: AbsPath): string {
    const lenses = (this.#listings.get(folder) ?? []).map((listing) => this.#lensOf(listing));
    return lenses.every((lens) => lens !== undefined) ? joinLenses(lenses) : '';
  }

  #lensOf(listing: PathAccess): LensName | undefined {
    const program = this.programOf(listing.process);
    if (program === 'mkdir' || program === 'cargo') return undefined;
    if (program === 'node' || program === 'vitest') return 'runtime-1';
    if (program === 'python') return this.#isByImporter(listing) ? 'python-1' : 'runtime-1';
    if (program === 'go-1' && this.#embeds(listing.path)) return undefined;
    if (program === 'esbuild-1' && this.#expandsInto(listing.path)) return undefined;
    if (program === 'esbuild-service') return this.#onlySearches(listing.path) ? 'esbuild-1' : undefined;
    return program;
  }

  programOf(index: number): Program | undefined {
    if (!this.#programs.has(index)) this.#programs.set(index, this.#identify(this.#report.processes[index]));
    return this.#programs.get(index);
  }

  /** By the file that ran. Without it nothing is known. */
  #identify(process: TracedProcess | undefined): Program | undefined {
    if (!process?.file || process.argvIsCut) return undefined;
    const { file, hooked, argv } = process;
    const args = argv.slice(1);
    if (this.#isPython(file)) return 'python';
    if (NODE.test(nameOf(file))) {
      if (!this.#isNode(file)) return undefined;
      return (hooked ? undefined : this.#scriptOf(args[0] ?? '')) ?? 'node';
    }
    if (TSC_FILE.test(file) && this.#isIn(file, TSC_PACKAGE)) return 'tsc-1';
    if (nameOf(file) === 'esbuild' && this.#isIn(file, ESBUILD_PACKAGE)) {
      if (args.some((arg) => ESBUILD_EXTENDED.test(arg))) return undefined;
      return args.some((arg) => ESBUILD_SERVICE.test(arg)) ? 'esbuild-service' : 'esbuild-1';
    }
    if (MKDIR_FILE.test(file)) return args.some((arg) => MAKES_PARENTS.test(arg)) ? 'mkdir' : undefined;
    if (CARGO_FILE.test(file) && !isAtOrBelow(file, this.#programsHere.workspace)) return 'cargo';
    return GO_FILE.test(file) ? 'go-1' : undefined;
  }

  /** Its own library is what CPython reads at its start. */
  #isPython(file: AbsPath): boolean {
    const [, home] = PYTHON_FILE.exec(file) ?? [];
    const library = `${home}/lib/python3`;
    return (
      home !== undefined &&
      this.#report.accesses.some(
        (access) => 'path' in access && access.path.startsWith(library) && ENCODINGS.test(access.path),
      )
    );
  }

  #isNode(file: AbsPath): boolean {
    return !isAtOrBelow(file, this.#programsHere.workspace) || this.#isIn(file, NODE_PACKAGE);
  }

  /** Node runs the script itself, without options of Node that may load other code first. */
  #scriptOf(script: string): Program | undefined {
    const file = script === '' || script.startsWith('-') ? undefined : this.#programsHere.realPathOf(script);
    if (file === undefined) return undefined;
    if (TSC_FILE.test(file) && this.#isIn(file, TSC_PACKAGE)) return 'tsc-1';
    return VITEST_FILE.test(file) && this.#isIn(file, VITEST_PACKAGE) ? 'vitest' : undefined;
  }

  #isIn(file: AbsPath, packages: RegExp): boolean {
    return packages.test(this.#programsHere.packageOf(file) ?? '');
  }

  // ---- Java ----

  /**
   * At its start the virtual machine lists the folder of the records once, and looks for a debugger of its own. A
   * program that lists them once more (jps) wants to know them.
   */
  isStartOfJava({ process, path }: PathAccess): boolean {
    const [, pid] = DEBUGGED.exec(path) ?? [];
    const { processes, accesses } = this.#report;
    if (!this.#isJava(processes[process]?.file)) return false;
    if (pid !== undefined) return String(processes[process]?.pid) === pid;
    const listings = accesses.filter(
      (one) => one.kind === 'list' && one.process === process && isOfRecords(one, path),
    );
    return listings.length <= 1;
  }

  #isJava(file: AbsPath | undefined): boolean {
    this.#machines ??= new Set(
      this.#report.accesses.flatMap((access) => ('path' in access && JVM.exec(access.path)?.[1]) || []),
    );
    const [, home] = PROGRAM_FILE.exec(file ?? '') ?? [];
    return home !== undefined && this.#machines.has(home);
  }

  // ---- esbuild ----

  /** Whether a source takes files of this folder by a pattern, or leads above the workspace. */
  #expandsInto(folder: AbsPath): boolean {
    if (!this.#isAboveWorkspace(folder)) {
      this.#expands.inside ??= this.#expandsBy(GLOB_IMPORT);
      return this.#expands.inside;
    }
    this.#expands.above ??= this.#expandsBy(GLOB_IMPORT_ABOVE) || this.#leadsAbove();
    return this.#expands.above;
  }

  /**
   * Options and plugins of a service may take any name in the workspace. In a folder above it, esbuild looks for
   * configuration, unless something there was read or a source leads there.
   */
  #onlySearches(folder: AbsPath): boolean {
    if (!this.#isAboveWorkspace(folder) || this.#expandsInto(folder)) return false;
    return !this.#report.accesses.some(
      (access) => access.kind === 'read' && parentFolder(access.path) === folder,
    );
  }

  #isAboveWorkspace(folder: AbsPath): boolean {
    const { workspace } = this.#programsHere;
    return folder !== workspace && isAtOrBelow(workspace, folder);
  }

  /** Whether a path in a source or a tsconfig.json leads above the workspace, also if nothing is there. */
  #leadsAbove(): boolean {
    const { workspace } = this.#programsHere;
    return this.#report.accesses.some((access) => {
      if (access.kind !== 'read' || !isAtOrBelow(access.path, workspace)) return false;
      const { path } = access;
      if (PACKAGES.test(path) || !(BUNDLED.test(path) || path.endsWith('.json'))) return false;
      const depth = path.slice(workspace.length).split('/').length - 2;
      const starts = this.#programsHere.textAt(path).matchAll(UPWARD);
      return starts.some(([, start = '']) => start.split('/').length > depth);
    });
  }

  #expandsBy(pattern: RegExp): boolean {
    const { workspace } = this.#programsHere;
    return this.#report.accesses.some((access) => {
      if (access.kind !== 'read' || !BUNDLED.test(access.path)) return false;
      /* A source that another program has read before is reported for that one only. */
      if (isAtOrBelow(access.path, workspace)) return pattern.test(this.#programsHere.textAt(access.path));
      return this.programOf(access.process) === 'esbuild-1';
    });
  }

  // ---- go ----

  /** Whether a source that was read here or above may embed files of this folder. Outside the workspace: yes. */
  #embeds(folder: AbsPath): boolean {
    const { workspace } = this.#programsHere;
    if (!isAtOrBelow(folder, workspace)) return true;
    return this.#report.accesses.some((access) => {
      /* With a warm GOCACHE, go looks only at the stats of a source. */
      if (!('path' in access) || !access.path.endsWith('.go')) return false;
      const source = parentFolder(access.path);
      return isAtOrBelow(folder, source) && this.#programsHere.textAt(access.path).includes('//go:embed');
    });
  }

  // ---- Python ----

  /**
   * The importer stats a folder, lists it once, and takes modules from it later. It lists the script's folder,
   * which is the first of sys.path, before it loads any module from elsewhere. So if such a module was
   * imported, and the process listed the folder once, then the importer did it.
   */
  #isByImporter(listing: PathAccess): boolean {
    const { path: folder, process, probedFirst } = listing;
    const own = this.#listings.get(folder)?.filter((one) => one.process === process) ?? [];
    if (!probedFirst || own.length !== 1 || this.#mayLoadByPath()) return false;
    const isFirstOfPath = this.#scriptFolder(process) === folder;
    return this.#importsAfter(listing).some(
      (path) => isModuleIn(path, folder) || (isFirstOfPath && !ENCODINGS.test(path)),
    );
  }

  #importsAfter(listing: PathAccess): AbsPath[] {
    this.#imports ??= importsOf(this.#report);
    const at = this.#report.accesses.indexOf(listing);
    const imports = this.#imports.get(listing.process) ?? [];
    return imports.flatMap((one) => (one.at > at ? [one.path] : []));
  }

  /** Whether a module of the workspace that was read names a loader that lists no folder. */
  #mayLoadByPath(): boolean {
    const { workspace } = this.#programsHere;
    this.#loadsByPath ??= this.#report.accesses.some((access) => {
      if (access.kind !== 'read' || !isAtOrBelow(access.path, workspace)) return false;
      const source = access.path.endsWith('.pyc') ? sourceOf(access.path) : access.path;
      const isOwn = source?.endsWith('.py') === true && !INSTALLED.test(source);
      return isOwn && LOADS_BY_PATH.test(this.#programsHere.textAt(source as AbsPath));
    });
    return this.#loadsByPath;
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

interface Import {
  /** The position of the access. */
  readonly at: number;
  readonly path: AbsPath;
}

/**
 * The modules that each process imported: it looked for the compiled form, and read one of the two. A program that
 * reads all files of a folder (tar) lists __pycache__ too, or never looks for it.
 */
function importsOf({ accesses }: TraceReport): ReadonlyMap<number, readonly Import[]> {
  const listed = new Set<AbsPath>();
  const sought = new Set<string>();
  const imports = new Map<number, Import[]>();
  for (const access of accesses) if (access.kind === 'list') listed.add(access.path);
  for (const [at, access] of accesses.entries()) {
    if (access.kind !== 'read' && access.kind !== 'absent') continue;
    const { kind, path, process } = access;
    const source = path.endsWith('.pyc') ? sourceOf(path) : undefined;
    const isCompiled = source !== undefined && !listed.has(parentFolder(path));
    if (isCompiled) sought.add(`${process} ${source}`);
    const isImport = isCompiled || isSought(path, process, sought);
    if (kind !== 'read' || !isImport) continue;
    const found = imports.get(process);
    if (found) found.push({ at, path });
    else imports.set(process, [{ at, path }]);
  }
  return imports;
}

/** With PYTHONPYCACHEPREFIX the compiled form lies below that folder, at the source's path. */
function isSought(path: AbsPath, process: number, sought: ReadonlySet<string>): boolean {
  if (!path.endsWith('.py')) return false;
  if (sought.has(`${process} ${path}`)) return true;
  const start = `${process} `;
  return [...sought].some((one) => one.startsWith(start) && one.endsWith(path));
}

/** Of a compiled module: "a/__pycache__/m.cpython-311.opt-1.pyc", or without the folder below a prefix. */
function sourceOf(compiled: AbsPath): AbsPath | undefined {
  const [, folder, name] =
    /^(.*?)(?:\/__pycache__)?\/([^/]+?)\.cpython-\d+(?:\.opt-\d)?\.pyc$/.exec(compiled) ?? [];
  return name === undefined ? undefined : (`${folder}/${name}.py` as AbsPath);
}

function nameOf(path: AbsPath): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Whether the access is to the folder of records that the path is, or lies in. */
function isOfRecords(access: Access, path: AbsPath): boolean {
  return 'path' in access && /\/hsperfdata_[^/]+$/.test(access.path) && isAtOrBelow(path, access.path);
}

/** The module itself, its compiled form, or the first file of a package. */
function isModuleIn(path: AbsPath, folder: AbsPath): boolean {
  const around = parentFolder(path);
  if (around === folder) return true;
  return parentFolder(around) === folder && /\/(?:__pycache__\/[^/]+|__init__\.[^/]+)$/.test(path);
}
