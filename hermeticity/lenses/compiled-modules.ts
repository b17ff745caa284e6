// Which compiled Python modules only Python's importer opened, and which may count by their bytes for somebody.
// Guaranteed: a module has the importer's lens only if every opening of it looks like an import.
//
// The importer lists the folder of the source, and then opens the compiled module once. Whoever copies or packs
// modules lists __pycache__ itself, opens a module twice, or never listed the folder of the source.
import { type AbsPath, parentFolder } from '../system/absolute-path.ts';
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
  #listed: ReadonlyMap<AbsPath, ReadonlySet<number>> | undefined;
  #hasLinkedCache: boolean | undefined;

  constructor(report: TraceReport, listers: Listers) {
    this.#report = report;
    this.#listers = listers;
  }

  note(access: PathAccess): void {
    if (access.kind !== 'read' || !COMPILED.test(access.path)) return;
    const earlier = this.#openings.get(access.path);
    if (earlier) earlier.push(access);
    else this.#openings.set(access.path, [access]);
  }

  /** Undefined for a path that is no compiled module, and for one that nobody opened. */
  lensFor(path: AbsPath): CompiledLens | undefined {
    const openings = this.#openings.get(path);
    if (!openings) return undefined;
    const folder = parentFolder(path);
    const processes = new Set(openings.map(({ process }) => process));
    const isImported =
      BY_IMPORTER.test(path) &&
      processes.size === openings.length &&
      !this.#listersOf(folder) &&
      !this.#isCacheLinked() &&
      openings.every(({ process }) => this.#isImporter(process, searchedFolder(path)));
    return isImported ? 'pyc-source-1' : 'pyc-bytes-1';
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
