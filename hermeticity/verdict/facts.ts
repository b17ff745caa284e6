// Collects the facts of a run: every path that the action read, probed, missed, listed or followed, with what it was
// shown. omissions.ts is the one table of exceptions.
// Guaranteed: no finding, and no lack of one, changes a fact.
import type { RelPath } from '../../core/path.ts';
import { relativeIn } from '../../system/paths/absolute-path.ts';
import type { FileStamp, PathAccess } from '../trace/access.ts';
import { kernelUse } from './kernel-files.ts';
import { isOmitted } from './omissions.ts';
import { ReadSet } from './read-set.ts';
import type { Location, VerdictState } from './verdict-state.ts';

export class Facts {
  readonly #state: VerdictState;
  readonly readSet: ReadSet;
  /** The names of the kernel files that the result depends on (kernel-files.ts). */
  readonly kernelFiles = new Set<string>();
  /** Files that the declaration covers, that the action used, and that the key does not have. */
  readonly unkeyed = new Set<PathAccess['path']>();

  /** What was found at declared inputs: another file may have stood there for a while. */
  readonly openedInputs: [path: RelPath, stamp: FileStamp][] = [];

  /** The same for folders that are no facts because the key has what lies in them. */
  readonly impliedFolders: [path: PathAccess['path'], stamp: FileStamp][] = [];

  constructor(state: VerdictState) {
    this.#state = state;
    this.readSet = new ReadSet(state);
  }

  note(access: PathAccess, place: Location): void {
    this.#noteInput(access);
    if (place === 'kernel') this.#noteKernelFile(access);
    else if (!isOmitted(access, place, this.#state)) {
      this.readSet.note(access);
      if (this.#isUnkeyed(access)) this.unkeyed.add(access.path);
    } else this.#noteImplied(access);
  }

  /** A folder that the action makes was not there: else mkdir fails. mkdir -p is an omission. */
  noteMade(access: PathAccess, place: Location): void {
    if (place !== 'workspace' || !access.created || !access.folder) return;
    const missed: PathAccess = { ...access, kind: 'absent' };
    if (!isOmitted(missed, place, this.#state)) this.readSet.note(missed);
  }

  #noteImplied({ path, stamp }: PathAccess): void {
    const { declared, own } = this.#state;
    if (stamp && declared.isAboveInput(path) && !own.isOwn(path)) this.impliedFolders.push([path, stamp]);
  }

  #noteInput({ path, stamp }: PathAccess): void {
    if (!stamp) return;
    const { declared, own } = this.#state;
    const relative = relativeIn(declared.workspace, path);
    if (relative !== undefined && declared.isPresentInput(relative) && !own.isOwn(path))
      this.openedInputs.push([relative, stamp]);
  }

  #noteKernelFile(access: PathAccess): void {
    const name = this.#state.kernelName(access);
    if (name === undefined || access.kind === 'followed') return;
    if (kernelUse(name, access.kind === 'read') !== 'fact') return;
    if (!this.#state.startUps.isOfStart(access, this.#state.programOf(access), name))
      this.kernelFiles.add(access.kind === 'list' ? `${name}/` : name);
  }

  /** A file that came after the key was made, and was used. */
  #isUnkeyed({ kind, path }: PathAccess): boolean {
    if (kind !== 'read' && kind !== 'exec' && kind !== 'followed') return false;
    const { declared } = this.#state;
    const relative = relativeIn(declared.workspace, path);
    return relative !== undefined && declared.covers(relative) && !declared.isPresentInput(relative);
  }
}
