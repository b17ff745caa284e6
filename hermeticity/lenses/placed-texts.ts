// Finds the files of an installation in the workspace that only the programs read for which the installer wrote them.
// Guaranteed: such a file counts without the path of its workspace only if no other program looked at it.
//
// An archive, a digest or a size of such a file differs with the path. Python's start-up reads pyvenv.cfg before the process
// lists anything, and the site module reads it once more; Debian's reads each .pth file twice. A script is read by the program
// that runs it. A program that packs an environment lists its folders, or opens its files again.
import { type AbsPath, parentFolder } from '../../system/paths/absolute-path.ts';
import type { PathAccess, TraceReport } from '../trace/access.ts';
import type { Listers } from './listers.ts';

type Reader = 'python' | 'shell' | 'interpreter';

const CONFIG = /^(.*)\/pyvenv\.cfg$/;
const IN_SITE =
  /^(.*)\/lib(?:64)?\/(?:python|pypy)[\d.]*\/site-packages\/(?:[^/]+\.(?:pth|egg-link)|_[^/]*editable[^/]*\.py|[^/]+\.dist-info\/(?:direct_url\.json|RECORD))$/;
/** Only Python's own start lists the folder of these. */
const LISTED = /\.(?:pth|egg-link|py)$/;
const ACTIVATE = /\/bin\/activate(?:\.\w+)?$/i;
const SCRIPT = /\/(?:bin|node_modules\/\.bin)\/[^/]+$/;
const SHELL_FILE = /^(?:\/usr)?(?:\/local)?\/bin\/(?:ba|da|k|mk|z)?sh$/;
/** A shell gives the file to another program, or reads it itself. */
const REDIRECTED = /<[^\n;|&]*\/activate/;
/** How often Python opens its configuration, a .pth file, and a script that it runs. */
const TWICE = 2;

interface ScriptFiles {
  realPathOf(text: string): AbsPath | undefined;
  /** The text of a file of the workspace. */
  textAt(path: AbsPath): string;
}

export class PlacedTexts {
  readonly #report: TraceReport;
  readonly #listers: Listers;
  readonly #files: ScriptFiles;
  readonly #looks = new Map<AbsPath, PathAccess[]>();
  /** By process, the first listing in the report. */
  #firstListings: ReadonlyMap<number, number> | undefined;

  constructor(report: TraceReport, listers: Listers, files: ScriptFiles) {
    this.#report = report;
    this.#listers = listers;
    this.#files = files;
  }

  note(access: PathAccess): void {
    if (readerOf(access.path) === undefined) return;
    const earlier = this.#looks.get(access.path);
    if (earlier) earlier.push(access);
    else this.#looks.set(access.path, [access]);
  }

  lensFor(path: AbsPath): 'place-1' | undefined {
    const reader = readerOf(path);
    const looks = this.#looks.get(path) ?? [];
    if (reader === undefined || looks.every(({ kind }) => kind === 'absent')) return undefined;
    if (!LISTED.test(path) && this.#listers.isListed(parentFolder(path))) return undefined;
    const isPlain = looks.every((look) => {
      const times = looks.filter(({ kind, process }) => kind === 'read' && process === look.process).length;
      return this.#isFair(look, reader, times, looks);
    });
    return isPlain ? 'place-1' : undefined;
  }

  #isFair(look: PathAccess, reader: Reader, times: number, looks: readonly PathAccess[]): boolean {
    const { kind, path, process } = look;
    if (kind === 'exec' || kind === 'followed' || kind === 'absent') return true;
    const isRead = kind === 'read';
    if (reader === 'python') return this.#isOfPython(look, times);
    if (reader === 'shell') return this.#isShell(process) && (!isRead || (times === 1 && !this.#redirects()));
    if (!isRead) return this.#isShell(process) || looks.some((one) => one.kind === 'exec');
    const isPython = this.#listers.programOf(process) === 'python';
    return times <= (isPython ? TWICE : 1) && this.#runs(process, path, looks);
  }

  #isOfPython({ kind, path, process }: PathAccess, times: number): boolean {
    if (this.#listers.programOf(process) !== 'python') return false;
    if (kind !== 'read') return true;
    return times <= TWICE && this.#isStartedIn(environmentOf(path), process);
  }

  /** The process read the environment's configuration before it listed any folder, as only the interpreter does. */
  #isStartedIn(environment: string | undefined, process: number): boolean {
    const config = `${environment}/pyvenv.cfg` as AbsPath;
    const start = this.#looks.get(config)?.find((one) => one.kind === 'read' && one.process === process);
    if (!start) return false;
    this.#firstListings ??= firstListingsOf(this.#report);
    const listed = this.#firstListings.get(process);
    return listed !== undefined && this.#report.accesses.indexOf(start) < listed;
  }

  #isShell(process: number): boolean {
    return SHELL_FILE.test(this.#report.processes[process]?.file ?? '');
  }

  #redirects(): boolean {
    return this.#report.processes.some(({ argv }, index) => {
      if (!this.#isShell(index)) return false;
      const script = this.#scriptOf(index);
      const text = script === undefined ? '' : this.#files.textAt(script);
      return argv.some((word) => REDIRECTED.test(word)) || REDIRECTED.test(text);
    });
  }

  /** The kernel starts the interpreter of a script that is run; a shell passes on a script with a long first line. */
  #runs(process: number, path: AbsPath, looks: readonly PathAccess[]): boolean {
    if (this.#report.processes[process]?.file === undefined) return false;
    if (looks.some((one) => one.kind === 'exec' && one.process === process)) return true;
    const isInterpreter = this.#isShell(process) || this.#listers.programOf(process) === 'python';
    return isInterpreter && this.#scriptOf(process) === path;
  }

  /** The first word that is no option. */
  #scriptOf(process: number): AbsPath | undefined {
    const script = this.#report.processes[process]?.argv.slice(1).find((word) => !word.startsWith('-'));
    return script === undefined ? undefined : this.#files.realPathOf(script);
  }
}

/** Undefined for a file that no installer wrote the path of its workspace into. */
function readerOf(path: AbsPath): Reader | undefined {
  if (CONFIG.test(path) || IN_SITE.test(path)) return 'python';
  if (ACTIVATE.test(path)) return 'shell';
  return SCRIPT.test(path) ? 'interpreter' : undefined;
}

function environmentOf(path: AbsPath): string | undefined {
  return (CONFIG.exec(path) ?? IN_SITE.exec(path))?.[1];
}

function firstListingsOf({ accesses }: TraceReport): ReadonlyMap<number, number> {
  const first = new Map<number, number>();
  for (const [at, access] of accesses.entries())
    if (access.kind === 'list' && !first.has(access.process)) first.set(access.process, at);
  return first;
}
