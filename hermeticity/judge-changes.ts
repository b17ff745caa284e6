// Judges what an action changed: files that it wrote, removed, moved, and the links that it left.
import { type AbsPath, isAtOrBelow, linkedFrom, relativeIn } from './abspath.ts';
import type { Access, PathAccess, RenameAccess, SymlinkAccess } from './access.ts';
import type { LookJudge } from './judge-looks.ts';
import { isSharedMemory, type Scene } from './scene.ts';

export class ChangeJudge {
  readonly #scene: Scene;
  readonly #looks: LookJudge;

  constructor(scene: Scene, looks: LookJudge) {
    this.#scene = scene;
    this.#looks = looks;
  }

  written(access: PathAccess): void {
    const known = this.#isKnown(access.path);
    if (!access.attributes) this.#scene.own.wrote(access.path);
    if (!known) this.#suspectWrite(access, access.path, access.asked, access.folder === true);
  }

  deleted(access: Access, path: AbsPath): void {
    const { own, declared } = this.#scene;
    const wasOwn = own.isOwn(path);
    own.deleted(path);
    if (wasOwn || this.#isFree(path) || declared.isInOutput(path)) return;
    const relative = relativeIn(declared.workspace, path);
    const input = relative !== undefined && declared.isPresentInput(relative);
    this.#scene.suspect({ kind: 'delete', access, path, ...(input && { detail: 'a declared input' }) });
  }

  /** What is moved or gets a second name was not opened, but its content is now under another name. */
  paired(access: RenameAccess): void {
    const { own } = this.#scene;
    const { path, to, process, atMs } = access;
    const known = this.#isKnown(to);
    this.#looks.hear({ kind: 'read', path, process, atMs });
    if (access.exchange) this.#exchanged(access);
    else if (access.kind === 'hardlink') own.wrote(to);
    else {
      if (!own.isOwn(path)) this.deleted(access, path);
      own.renamed(path, to);
    }
    if (!known) this.#suspectWrite(access, to, undefined, false);
  }

  linked(access: SymlinkAccess): void {
    const known = this.#isKnown(access.path);
    this.#scene.own.linked(access.path, access.target);
    if (!known) this.#suspectWrite(access, access.path, undefined, false);
  }

  /** Links in an output that are left at the end and lead to what another machine does not have. */
  suspectEscapes(): void {
    const { own, declared, report } = this.#scene;
    for (const [path, target] of own.links) {
      const staysInside =
        !target.startsWith('/') && isAtOrBelow(linkedFrom(path, target), declared.workspace);
      if (staysInside || !declared.isInOutput(path)) continue;
      const access = report.accesses.find((one) => one.kind === 'symlink' && one.target === target);
      if (access) this.#scene.suspect({ kind: 'symlink-escape', access, path, detail: `leads to ${target}` });
    }
  }

  #exchanged(access: RenameAccess): void {
    const { own } = this.#scene;
    const { path, to, process, atMs } = access;
    const known = this.#isKnown(path);
    this.#looks.hear({ kind: 'read', path: to, process, atMs });
    own.wrote(path);
    own.wrote(to);
    if (!known) this.#suspectWrite(access, path, undefined, false);
  }

  /** A new folder is judged once, with all that comes into it; but a folder that only holds outputs excuses nothing. */
  #isKnown(path: AbsPath): boolean {
    const { own, declared } = this.#scene;
    for (const above of own.ownAbove(path)) if (above === path || !declared.isImplied(above)) return true;
    return false;
  }

  #isFree(path: AbsPath): boolean {
    const place = this.#scene.placeOf(path);
    return place === 'scratch' || place === 'kernel';
  }

  #suspectWrite(access: Access, path: AbsPath, asked: AbsPath | undefined, folder: boolean): void {
    const { declared, own } = this.#scene;
    if (this.#isFree(path)) return;
    const relative = relativeIn(declared.workspace, path);
    const gone = () => own.isRemoved(path);
    if (relative === undefined) {
      const escapes = asked !== undefined && declared.isInOutput(asked);
      if (escapes)
        this.#scene.suspect({ kind: 'symlink-escape', access, path: asked, detail: `leads to ${path}` });
      else this.#scene.suspect({ kind: 'write', access, path, unless: () => isSharedMemory(path) && gone() });
    } else if (declared.isPresentInput(relative)) {
      this.#scene.suspect({ kind: 'mutate', access, path, detail: 'a declared input' });
    } else if (!declared.isInOutput(path) && !(folder && declared.isImplied(path))) {
      /* Made and removed again within the run: nobody can come to depend on it. */
      this.#scene.suspect({
        kind: 'write',
        access,
        path,
        fix: { flag: '--output', value: relative },
        unless: gone,
      });
    }
  }
}
