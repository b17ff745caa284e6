// What programs look for wherever they run, whatever the action: no finding, because it would stand on every action of its
// kind and teach people to read past findings. It is a look all the same: whoever keeps the result keeps these paths with it.
import { type AbsPath, FILESYSTEM_ROOT, isBelow, parentFolder } from './abspath.ts';
import type { PathAccess } from './access.ts';
import type { Scene } from './scene.ts';

const COMPILERS = /^(?:cc1|cc1plus|cpp|clang(?:\+\+)?(?:-\d+)?)$/;

/** Below a folder for headers, without the machine's or the library's own part: "include/aarch64-linux-gnu/", "include/c++/12/". */
const HEADER =
  /^.*\/include(?:-fixed)?\/(?:[^/]+-linux-[^/]+\/)?(?:c\+\+\/\d+\/)?(?:[^/]+-linux-[^/]+\/)?(.+)$/;

export class Habits {
  readonly #scene: Scene;
  #systemHeaders: ReadonlySet<string> | undefined;
  #programs: ReadonlySet<string> | undefined;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** That something is not there which this program always looks for. */
  excusesAbsent(access: PathAccess): boolean {
    const { policy } = this.#scene;
    if (policy.habitual.some((pattern) => pattern.test(access.path))) return true;
    const program = this.#scene.programOf(access);
    const isSought = policy.seekers.some(
      (seeker) => seeker.program.test(program) && seeker.names.test(access.path),
    );
    return isSought || (COMPILERS.test(program) && this.#isSystemHeader(access.path));
  }

  /** The same for what is looked for in every folder up to the root. */
  excusesAbove(path: AbsPath): boolean {
    return this.#isUpwardSearch(path) || this.#isCaseTrial(path);
  }

  /** Python looks for each module first where the program lies, or in the working folder, and then among its own. */
  isImport(listing: PathAccess): boolean {
    const { accesses } = this.#scene.report;
    const from = accesses.indexOf(listing) + 1;
    const next = accesses.slice(from).find((access) => access.process === listing.process);
    return next !== undefined && 'path' in next && this.#scene.placeOf(next.path) === 'toolchain';
  }

  /** A header of the system is sought in the action's own folders first. */
  #isSystemHeader(path: AbsPath): boolean {
    this.#systemHeaders ??= this.#readHeaders();
    const names = path.split('/');
    return names.some((_, at) => this.#systemHeaders?.has(names.slice(at).join('/')));
  }

  #readHeaders(): Set<string> {
    const found = new Set<string>();
    for (const access of this.#scene.report.accesses) {
      if (access.kind !== 'read' || this.#scene.placeOf(access.path) !== 'toolchain') continue;
      const name = HEADER.exec(access.path)?.[1];
      if (name !== undefined) found.add(name);
    }
    return found;
  }

  #isUpwardSearch(path: AbsPath): boolean {
    const { declared, policy } = this.#scene;
    for (let at = path; at !== FILESYSTEM_ROOT; at = parentFolder(at)) {
      const name = at.slice(at.lastIndexOf('/') + 1);
      if (policy.upwardNames.has(name) && isBelow(declared.workspace, parentFolder(at))) return true;
    }
    return false;
  }

  /** Whether this file system tells capitals apart is asked by looking for a program by its name in capitals. */
  #isCaseTrial(path: AbsPath): boolean {
    this.#programs ??= new Set(
      this.#scene.report.accesses.flatMap((access) => (access.kind === 'exec' ? [access.path] : [])),
    );
    const small = path.toLowerCase();
    return [...this.#programs].some((program) => program !== path && program.toLowerCase() === small);
  }
}
