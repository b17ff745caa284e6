// What an action looked at besides its declaration: its toolchain, and whatever else it saw. Its result depends on these
// paths as it does on its inputs, so whoever keeps the result can ask later whether they are still as they were.
//
// Left out: declared inputs and outputs, the action's own folders and what it made itself, the kernel's files, and folders
// that must be there for something else to be.
import { parseRelPath } from '../../core/path.ts';
import { type AbsPath, inside } from '../system/absolute-path.ts';
import type { PathAccess } from '../trace/access.ts';
import { UpwardSearches } from './upward-search.ts';
import type { VerdictState } from './verdict-state.ts';

export interface ReadSetEntry {
  readonly path: AbsPath;
  /** When it was looked at first. Undefined: it was only asked for among other names. */
  readonly was: 'there' | 'absent' | undefined;
  /** The names in it were read. */
  readonly listed: boolean;
  /** Every listing of it is one that the declaration or the policy excuses. */
  readonly excused: boolean;
  /** The action wrote or removed it later. */
  readonly changed: boolean;
  /** The workspace, or folders of tools: it was found or missed in a search from there up to the root. */
  readonly searchedFrom: readonly AbsPath[];
}

export class ReadSet {
  readonly #state: VerdictState;
  readonly #found = new Map<AbsPath, { was: ReadSetEntry['was']; listed: boolean; excused: boolean }>();

  constructor(state: VerdictState) {
    this.#state = state;
  }

  note({ kind, path }: PathAccess, excused = false): void {
    const found = this.#found.get(path);
    const was = kind === 'absent' ? 'absent' : 'there';
    const listed = kind === 'list';
    if (!found) this.#found.set(path, { was, listed, excused: listed && excused });
    else if (listed) {
      found.excused = excused && (found.excused || !found.listed);
      found.listed = true;
    }
  }

  /** A folder was listed only to see whether one of these names is in it. */
  noteNames(folder: AbsPath, names: Iterable<string>): void {
    for (const name of names) {
      const path = inside(folder, parseRelPath(name));
      if (!this.#found.has(path)) this.#found.set(path, { was: undefined, listed: false, excused: false });
    }
  }

  entries(): ReadSetEntry[] {
    const { own, report, declared } = this.#state;
    const searches = new UpwardSearches(report.accesses, [declared.workspace, ...declared.tools]);
    return [...this.#found].map(([path, entry]) => ({
      path,
      ...entry,
      changed: own.wasWritten(path) || own.wasDeleted(path),
      searchedFrom: entry.was === undefined ? [declared.workspace] : searches.basesOf(path),
    }));
  }
}
