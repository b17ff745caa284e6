// Judges what an action changed: writes, deletions, renames, and the links that it left.
import type { RelPath } from '../../core/path.ts';
import { type AbsPath, isAtOrBelow, relativeIn, targetOfLink } from '../../system/paths/absolute-path.ts';
import type { Access, PathAccess, RenameAccess, SymlinkAccess } from '../trace/access.ts';
import { isOwnKernelFile } from './kernel-files.ts';
import { isLockOfCargo, isPackageFolder } from './tool-caches.ts';
import { isSharedMemory, type VerdictState } from './verdict-state.ts';

/** How many files of a new undeclared folder get a finding each: enough to recognise the folder. */
const REPORTED_PER_NEW_FOLDER = 10;

/** Takes a read that a change implies. */
interface Reads {
  look(access: PathAccess): void;
  /** Whether the action found something at this path. */
  found(path: AbsPath): boolean;
}

export class ChangeJudge {
  readonly #state: VerdictState;
  readonly #reads: Reads;
  readonly #reportedIn = new Map<AbsPath, number>();

  constructor(state: VerdictState, reads: Reads) {
    this.#state = state;
    this.#reads = reads;
  }

  written(access: PathAccess): void {
    const { own } = this.#state;
    const { path } = access;
    if (access.wanted) this.#suspectStale(access);
    this.#judgeWrite(access, path, access);
    if (!access.attributes) own.wrote(path);
    const first = own.firstNameOf(path);
    if (first !== undefined && !own.isOwn(first)) this.#suspectWrite(access, first);
  }

  deleted(access: Access, path: AbsPath): void {
    const { own, declared } = this.#state;
    const wasOwn = own.isOwn(path);
    own.deleted(path);
    if (wasOwn || this.#isFree(path) || declared.isInOutput(path)) return;
    const relative = relativeIn(declared.workspace, path);
    const input = relative !== undefined && declared.isPresentInput(relative);
    this.#state.suspect({ kind: 'delete', access, path, ...(input && { detail: 'a declared input' }) });
  }

  /** A rename or a hard link does not open the file, but its content becomes visible under another name. */
  paired(access: RenameAccess): void {
    const { own } = this.#state;
    const { path, to, process, atMs } = access;
    this.#reads.look({ kind: 'read', path, process, atMs });
    this.#judgeWrite(access, to);
    if (access.exchange) this.#exchanged(access);
    else if (access.kind === 'hardlink') own.named(to, path);
    else {
      if (!own.isOwn(path)) this.deleted(access, path);
      own.renamed(path, to);
    }
  }

  linked(access: SymlinkAccess): void {
    this.#judgeWrite(access, access.path);
    this.#state.own.linked(access.path, access.target);
  }

  /** Links left in an output that lead to something which another machine does not have. */
  suspectEscapes(): void {
    const { own, declared, report } = this.#state;
    for (const [path, target] of own.links) {
      const staysInside =
        !target.startsWith('/') && isAtOrBelow(targetOfLink(path, target), declared.workspace);
      if (staysInside || !declared.isInOutput(path)) continue;
      const access = report.accesses.find((one) => one.kind === 'symlink' && one.target === target);
      if (access) this.#state.suspect({ kind: 'symlink-escape', access, path, detail: `leads to ${target}` });
    }
  }

  #exchanged(access: RenameAccess): void {
    const { own } = this.#state;
    const { path, to, process, atMs } = access;
    this.#reads.look({ kind: 'read', path: to, process, atMs });
    this.#judgeWrite(access, path);
    own.wrote(path);
    own.wrote(to);
  }

  /**
   * The earlier output was set aside. Had it been present, its content would have become part of this one.
   */
  #suspectStale(access: PathAccess): void {
    const { own, declared, policy } = this.#state;
    const isExpected = policy.outputCheckers.has(this.#state.programOf(access));
    if (isExpected || !declared.wasThereEarlier(access.path) || own.wasDeleted(access.path)) return;
    const detail = 'appends to an output of an earlier run';
    this.#state.suspect({ kind: 'stale-output', access, path: access.path, detail });
  }

  /**
   * Files of the action's own were judged when it created them. A new folder gets a finding, and so do the
   * first files in it.
   */
  #judgeWrite(access: Access, path: AbsPath, what: Pick<PathAccess, 'asked' | 'folder'> = {}): void {
    if (this.#isOutputOnly(path)) return;
    const [nearest, ...further] = this.#state.own.ownAbove(path);
    if (nearest === path) return;
    const folders = [nearest, ...further].filter((folder) => folder !== undefined);
    /* A folder that exists only to hold outputs does not stand for its contents. */
    const holder = folders.findLast((folder) => !this.#state.declared.isImplied(folder));
    if (holder === undefined) this.#suspectWrite(access, path, what);
    else if (!what.folder && this.#isOneOfTheFirstIn(holder)) this.#suspectWrite(access, path, what, holder);
  }

  /** The common case: a write to an output, which is no finding. */
  #isOutputOnly(path: AbsPath): boolean {
    const { declared } = this.#state;
    if (!declared.isInOutput(path)) return false;
    const relative = relativeIn(declared.workspace, path);
    return relative !== undefined && !declared.isPresentInput(relative);
  }

  #isOneOfTheFirstIn(holder: AbsPath): boolean {
    const count = (this.#reportedIn.get(holder) ?? 0) + 1;
    this.#reportedIn.set(holder, count);
    return count <= REPORTED_PER_NEW_FOLDER;
  }

  /** What the action found in its declared TMPDIR, and then changed, is no longer known. */
  #isFree(path: AbsPath): boolean {
    const place = this.#state.locationOf(path);
    if (place === 'temporary') return !this.#reads.found(path);
    return place === 'scratch' || (place === 'kernel' && this.#isOwnKernelFile(path));
  }

  /** Another file of the kernel is a setting of the machine, or a device: no hit repeats the write. */
  #isOwnKernelFile(path: AbsPath): boolean {
    const name = this.#state.kernelName({ path });
    return name !== undefined && isOwnKernelFile(name);
  }

  /** `holder`: the new folder around the path, which the fix suggests as output. */
  #suspectWrite(
    access: Access,
    path: AbsPath,
    { asked, folder }: Pick<PathAccess, 'asked' | 'folder'> = {},
    holder: AbsPath = path,
  ): void {
    const { declared, own } = this.#state;
    if (this.#isFree(path) || declared.isInToolCache(path)) return;
    if (isLockOfCargo(path) && this.#state.listers.programOf(access.process) === 'cargo') return;
    const relative = relativeIn(declared.workspace, path);
    const gone = () => own.isRemoved(path);
    const isTemporary = access.kind === 'write' && access.created === true;
    if (relative === undefined) {
      const escapes = asked !== undefined && declared.isInOutput(asked);
      if (escapes)
        this.#state.suspect({ kind: 'symlink-escape', access, path: asked, detail: `leads to ${path}` });
      else
        this.#state.suspect({
          kind: 'write',
          access,
          path,
          unless: () => (isTemporary || isSharedMemory(path)) && gone(),
        });
    } else if (declared.isPresentInput(relative)) {
      this.#state.suspect({ kind: 'mutate', access, path, detail: 'a declared input' });
    } else if (!declared.isInOutput(path) && !(folder && declared.isImplied(path))) {
      /* Created and removed within the run: nothing can depend on it. */
      this.#state.suspect({
        kind: 'write',
        access,
        path,
        fix: { flag: '--output', value: relativeIn(declared.workspace, holder) ?? relative },
        unless: () => gone() || (folder === true && this.#isForCaches(path, relative)),
      });
    }
  }

  /** A new folder for packages that got only caches of tools. Assay removes it (client/outputs/new-caches.ts). */
  #isForCaches(path: AbsPath, relative: RelPath): boolean {
    const { declared, own } = this.#state;
    if (!isPackageFolder(relative)) return false;
    const inside = [...own.written].filter((one) => one !== path && isAtOrBelow(one, path));
    return (
      inside.some((one) => declared.isInToolCache(one)) &&
      inside.every((one) => own.isRemoved(one) || declared.isInToolCache(one))
    );
  }
}
