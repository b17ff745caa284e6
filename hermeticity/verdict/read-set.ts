// The read set: the paths that a run depends on beyond its declared inputs, with what the action was shown there.
// A result depends on them as on its inputs, so a later lookup compares all of them.
import { parseRelPath } from '../../core/path.ts';
import { type AbsPath, inside, isAtOrBelow, isBelow } from '../../system/paths/absolute-path.ts';
import { CompiledModules } from '../lenses/compiled-modules.ts';
import { PlacedTexts } from '../lenses/placed-texts.ts';
import type { FileStamp, PathAccess } from '../trace/access.ts';
import type { EntryType, FolderNames } from '../trace/folder-names.ts';
import { UpwardSearches } from './upward-search.ts';
import type { VerdictState } from './verdict-state.ts';

/** What a listing showed, without what the action had made there itself. */
export type Shown = ReadonlyMap<string, EntryType>;

interface ListedNames {
  /** Undefined if the tracer could not see them. */
  readonly shown: Shown | undefined;
  /** They changed while one listing was read: the command was shown these, or the earlier ones. */
  readonly again: boolean;
}

export interface ReadSetEntry {
  readonly path: AbsPath;
  /** The state at the first access. Undefined: the name was only searched in a listing. */
  readonly was: 'there' | 'absent' | undefined;
  /** The different listings of the folder. */
  readonly listings: readonly ListedNames[];
  /** The lens that all its listers have (../lenses/lenses.ts), or that the file has (../lenses/file-lenses.ts). */
  readonly lens: string;
  /** What was found there: more than one if somebody changed or replaced it. */
  readonly stamps: readonly FileStamp[];
  /** It was a link that the action read or followed. */
  readonly followed?: true;
  /** It was there for the action and also absent, and the action did neither. */
  readonly flickered?: true;
  /** The action wrote or deleted it later. */
  readonly changed: boolean;
  /** The workspace, or tool folders, from which a search up to the root came by this path. */
  readonly searchedFrom: readonly AbsPath[];
  /** /etc/ld.so.cache: the program itself looked at it, not only glibc's loader. */
  readonly byProgram?: true;
}

interface Found {
  readonly was: ReadSetEntry['was'];
  readonly listings: Map<FolderNames | undefined, ListedNames>;
  readonly stamps: FileStamp[];
  byProgram?: true;
  followed?: true;
  flickered?: true;
}

/**
 * esbuild lists every folder up to the root, and looks for these names there. All names of such a folder would
 * end every hit of another checkout.
 */
const ESBUILD_NAMES_ABOVE = [
  'package.json',
  'tsconfig.json',
  'jsconfig.json',
  'node_modules',
  '.pnp.cjs',
  '.pnp.data.json',
  '.pnp.js',
  '.pnp.mjs',
];
const ESBUILD = 'esbuild-1';

export class ReadSet {
  readonly #state: VerdictState;
  readonly #found = new Map<AbsPath, Found>();
  readonly #compiled: CompiledModules;
  readonly #placed: PlacedTexts;
  #created: ReadonlySet<AbsPath> | undefined;

  constructor(state: VerdictState) {
    this.#state = state;
    this.#compiled = new CompiledModules(state.report, state.listers);
    this.#placed = new PlacedTexts(state.report, state.listers, state.declared);
  }

  note(access: PathAccess): void {
    const { kind, path, byProgram, names, stamp, again = false } = access;
    const found = this.#found.get(path) ?? this.#first(path, kind);
    if (isBelow(path, this.#state.declared.workspace)) {
      this.#compiled.note(access);
      this.#placed.note(access);
    }
    if (kind === 'list') {
      this.#state.listers.note(access);
      const known = found.listings.get(names);
      if (!known || (known.again && !again))
        found.listings.set(names, { shown: names && this.#shown(path, names), again });
    }
    if (stamp) found.stamps.push(stamp);
    if (byProgram) found.byProgram = true;
    if (kind === 'followed') found.followed = true;
    /* The action's own changes never get here (omissions.ts). */
    if ((found.was === 'absent') !== (kind === 'absent')) found.flickered = true;
  }

  /** Whether the action found something at this path. */
  found(path: AbsPath): boolean {
    return this.#found.get(path)?.was === 'there';
  }

  #first(path: AbsPath, kind: PathAccess['kind']): Found {
    const found: Found = { was: kind === 'absent' ? 'absent' : 'there', listings: new Map(), stamps: [] };
    this.#found.set(path, found);
    return found;
  }

  /**
   * Without the action's own files. One that another of its processes creates just now may show before that
   * creation is reported, so everything that it ever creates counts as its own.
   */
  #shown(folder: AbsPath, names: FolderNames): Shown {
    const { own } = this.#state;
    this.#created ??= createdIn(this.#state);
    const created = this.#created;
    const shown = new Map<string, EntryType>();
    for (const [name, type] of names.entries) {
      const path = childOf(folder, name);
      if (!created.has(path) && !own.isOwn(path)) shown.set(name, type);
    }
    return shown;
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
    this.#lookForNamesAbove();
    const searches = new UpwardSearches(report.accesses, this.#usedBases());
    return [...this.#found].flatMap(([path, { listings, ...found }]) => {
      const changed = own.wasWritten(path) || own.wasDeleted(path);
      /* The name of a temporary file that the action made differs in every run. */
      if (changed && found.was === 'absent' && declared.isInTemporary(path)) return [];
      const searchedFrom = found.was === undefined ? [declared.workspace] : searches.basesOf(path);
      const lens =
        listings.size > 0
          ? this.#state.listers.lensFor(path)
          : (this.#compiled.lensFor(path) ?? this.#placed.lensFor(path) ?? '');
      return [{ path, ...found, listings: [...listings.values()], lens, changed, searchedFrom }];
    });
  }

  /** A folder above the workspace that only esbuild listed becomes a search for a few names. */
  #lookForNamesAbove(): void {
    const { workspace } = this.#state.declared;
    for (const [folder, found] of [...this.#found]) {
      if (found.listings.size === 0 || !isBelow(workspace, folder)) continue;
      if (this.#state.listers.lensFor(folder) !== ESBUILD) continue;
      /* That the folder exists is no fact: it lies above the workspace. */
      this.#found.delete(folder);
      for (const name of ESBUILD_NAMES_ABOVE) {
        const path = inside(folder, parseRelPath(name));
        if (!this.#found.has(path))
          this.#found.set(path, { was: undefined, listings: new Map(), stamps: [] });
      }
    }
  }
}

function childOf(folder: AbsPath, name: string): AbsPath {
  return (folder === '/' ? `/${name}` : `${folder}/${name}`) as AbsPath;
}

function createdIn({ report }: VerdictState): ReadonlySet<AbsPath> {
  const created = new Set<AbsPath>();
  for (const access of report.accesses) {
    if (access.kind === 'symlink' || (access.kind === 'write' && access.created)) created.add(access.path);
    else if (access.kind === 'rename' || access.kind === 'hardlink') created.add(access.to);
  }
  return created;
}
