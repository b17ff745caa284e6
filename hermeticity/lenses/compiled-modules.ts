// Finds the compiled Python modules that only Python's importer opened, and those whose bytes may count for another program.
// Guaranteed: a module has the importer's lens only if every opening of it looks like an import, or if only Python
// looked for it and found none.
//
// The importer lists the folder of the source, and then opens the compiled module once. A program that copies or packs
// modules lists __pycache__ itself, opens a module twice, or never listed the folder of the source.
import { type AbsPath, parentFolder } from '../../system/paths/absolute-path.ts';
import type { PathAccess, TraceReport } from '../trace/access.ts';
import type { CompiledLens } from './file-lenses.ts';
import type { Listers } from './listers.ts';

const CACHE = /\/__pycache__$/;
const COMPILED = /\/__pycache__\/[^/]+\.pyc$/;
const PACKAGE = /\/__init__\.[^/]+$/;
/** Tests that pytest rewrote have another tag: it loads them itself. */
const BY_IMPORTER = /\.cpython-\d+(?:\.opt-[A-Za-z\d]+)?\.pyc$/;

export class CompiledModules {
  readonly #report: TraceReport;
  readonly #listers: Listers;
  readonly #openings = new Map<AbsPath, PathAccess[]>();
  readonly #absent = new Map<AbsPath, PathAccess[]>();
  /** Another program looked at the file itself, as for its size. */
  readonly #measured = new Set<AbsPath>();
  #listed: ReadonlyMap<AbsPath, ReadonlySet<number>> | undefined;
  #hasLinkedCache: boolean | undefined;

  constructor(report: TraceReport, listers: Listers) {
    this.#report = report;
    this.#listers = listers;
  }

  note(access: PathAccess): void {
    if (!COMPILED.test(access.path)) return;
    if (access.kind === 'probe' && this.#listers.programOf(access.process) !== 'python')
      this.#measured.add(access.path);
    const known = access.kind === 'read' ? this.#openings : this.#absent;
    if (access.kind !== 'read' && access.kind !== 'absent') return;
    const earlier = known.get(access.path);
    if (earlier) earlier.push(access);
    else known.set(access.path, [access]);
  }

  /** Undefined for a path that is no compiled module, and for one that nobody opened or sought. */
  lensFor(path: AbsPath): CompiledLens | undefined {
    const openings = this.#openings.get(path);
    if (!openings && this.#measured.has(path)) return undefined;
    if (!openings) return this.#isSoughtByPython(path) ? 'pyc-source-1' : undefined;
    const folder = parentFolder(path);
    const processes = new Set(openings.map(({ process }) => process));
    const isImported =
      BY_IMPORTER.test(path) &&
      processes.size === openings.length &&
      !this.#listersOf(folder) &&
      !this.#measured.has(path) &&
      !this.#isCacheLinked() &&
      openings.every(({ process }) => this.#isImporter(process, searchedFolder(path)));
    return isImported ? 'pyc-source-1' : 'pyc-bytes-1';
  }

  /** Python compiles the source where it finds no module. One that appears matters if Python would run it instead. */
  #isSoughtByPython(path: AbsPath): boolean {
    const seekers = this.#absent.get(path) ?? [];
    return (
      seekers.length > 0 && seekers.every(({ process }) => this.#listers.programOf(process) === 'python')
    );
  }

  /** A process that Python forked has the importer's memory of what was listed. */
  #isImporter(process: number, folder: AbsPath): boolean {
    if (this.#listers.programOf(process) !== 'python') return false;
    const listers = this.#listersOf(folder);
    for (let at: number | undefined = process; listers && at !== undefined; ) {
      if (listers.has(at)) return true;
      at = this.#report.processes[at]?.parent;
    }
    return false;
  }

  #listersOf(folder: AbsPath): ReadonlySet<number> | undefined {
    this.#listed ??= listingsIn(this.#report);
    return this.#listed.get(folder);
  }

  /** A link may lead from one package to the compiled modules of another. */
  #isCacheLinked(): boolean {
    this.#hasLinkedCache ??= this.#report.accesses.some(
      (access) => access.kind === 'followed' && (CACHE.test(access.path) || COMPILED.test(access.path)),
    );
    return this.#hasLinkedCache;
  }
}

/** The folder in which the importer found the module: for the first file of a package, the one around the package. */
function searchedFolder(path: AbsPath): AbsPath {
  const folder = parentFolder(parentFolder(path));
  return PACKAGE.test(path) ? parentFolder(folder) : folder;
}

function listingsIn({ accesses }: TraceReport): ReadonlyMap<AbsPath, ReadonlySet<number>> {
  const listed = new Map<AbsPath, Set<number>>();
  for (const access of accesses) {
    if (access.kind !== 'list') continue;
    const processes = listed.get(access.path) ?? new Set();
    listed.set(access.path, processes.add(access.process));
  }
  return listed;
}
