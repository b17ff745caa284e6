// The read set: what an action read beyond its declaration, such as its toolchain. A result depends on these
// paths as on its inputs, so a later run must check that they are unchanged.
//
// Not included: declared inputs and outputs, the action's own files, kernel files, and parents of declared
// paths.
import { parseRelPath } from '../../core/path.ts';
import { type AbsPath, inside, isAtOrBelow } from '../system/absolute-path.ts';
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
  /** Only programs that pass over the caches of tools listed it. */
  readonly withoutCaches: boolean;
  /** The action wrote or deleted it later. */
  readonly changed: boolean;
  /** The workspace, or tool folders, from which a search up to the root came by this path. */
  readonly searchedFrom: readonly AbsPath[];
  /** /etc/ld.so.cache: the program itself looked at it, not only glibc's loader. */
  readonly byProgram?: true;
}

interface Found {
  readonly was: ReadSetEntry['was'];
  listed: boolean;
  excused: boolean;
  withoutCaches: boolean;
  byProgram?: true;
}

export class ReadSet {
  readonly #state: VerdictState;
  readonly #found = new Map<AbsPath, Found>();

  constructor(state: VerdictState) {
    this.#state = state;
  }

  note({ kind, path, byProgram }: PathAccess, excused = false, withoutCaches = false): void {
    const found = this.#found.get(path) ?? this.#first(path, kind);
    if (kind === 'list') {
      found.excused = excused && (found.excused || !found.listed);
      found.withoutCaches = withoutCaches && (found.withoutCaches || !found.listed);
      found.listed = true;
    }
    if (byProgram) found.byProgram = true;
  }

  /** Whether the action found something at this path. */
  found(path: AbsPath): boolean {
    return this.#found.get(path)?.was === 'there';
  }

  /** The folder was listed only to check for these names. */
  noteNames(folder: AbsPath, names: Iterable<string>): void {
    for (const name of names) {
      const path = inside(folder, parseRelPath(name));
      if (!this.#found.has(path))
        this.#found.set(path, { was: undefined, listed: false, excused: false, withoutCaches: false });
    }
  }

  #first(path: AbsPath, kind: PathAccess['kind']): Found {
    const was = kind === 'absent' ? 'absent' : 'there';
    const found: Found = { was, listed: false, excused: false, withoutCaches: false };
    this.#found.set(path, found);
    return found;
  }

  /** A search starts in a folder that the action looked into: most software in a home has no part in it. */
  #usedBases(): AbsPath[] {
    const { report, declared } = this.#state;
    const isUsed = (base: AbsPath) =>
      report.accesses.some((access) => 'path' in access && isAtOrBelow(access.path, base));
    return declared.searchBases.filter((base) => base === declared.workspace || isUsed(base));
  }

  entries(): ReadSetEntry[] {
    const { own, report, declared } = this.#state;
    const searches = new UpwardSearches(report.accesses, this.#usedBases());
    return [...this.#found].flatMap(([path, entry]) => {
      const changed = own.wasWritten(path) || own.wasDeleted(path);
      /* The name of a temporary file that the action made differs in every run. */
      if (changed && entry.was === 'absent' && declared.isInTemporary(path)) return [];
      const searchedFrom = entry.was === undefined ? [declared.workspace] : searches.basesOf(path);
      return [{ path, ...entry, changed, searchedFrom }];
    });
  }
}
