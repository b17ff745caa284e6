// The read set: what an action read beyond its declaration, such as its toolchain. A result depends on these
// paths as on its inputs, so a later run must check that they are unchanged.
//
// Not included: declared inputs and outputs, the action's own files, kernel files, and parents of declared
// paths.
import { parseRelPath } from '../../core/path.ts';
import { type AbsPath, inside } from '../system/absolute-path.ts';
import type { PathAccess } from '../trace/access.ts';
import { UpwardSearches } from './upward-search.ts';
import type { VerdictState } from './verdict-state.ts';

export interface ReadSetEntry {
  readonly path: AbsPath;
  /** The state at the first access. Undefined: the name was only searched in a listing. */
  readonly was: 'there' | 'absent' | undefined;
  /** The folder was listed. */
  readonly listed: boolean;
  /** The declaration or the policy excuses every listing of it. */
  readonly excused: boolean;
  /** The action wrote or deleted it later. */
  readonly changed: boolean;
  /** The workspace, or tool folders, from which a search up to the root came by this path. */
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

  /** The folder was listed only to check for these names. */
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
