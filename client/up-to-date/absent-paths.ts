// The stats that a step or the configuration depends on, reduced to the rows that must be checked.
// If the reduced rows are unchanged, all original rows are (invariant G6 of graph-state.ts).
//
// An absent path needs no lstat of its own: the mtime of its folder changes when an entry is added. So the
// nearest existing folder stands for all absent paths in it. But outputs come and go in the same folders. So
// a folder that was not listed has a list of the names it lacks. If only its times differ, these names are
// checked one by one.
// A link to a folder could not stand for absent paths. No path here lies behind one (inputs/scan.ts,
// state-recorder.ts).
import { ABSENT, isAbsent, type StatRow } from '../files/stat-table.ts';

export interface PathStats {
  readonly rows: ReadonlyMap<string, StatRow>;
  /** Directories whose existence matters but whose contents do not. */
  readonly traversed: ReadonlySet<string>;
}

/** The stats of the files that a configuration was read from, and when. */
export interface ReadConfig {
  readonly stats: PathStats;
  readonly readAt: number;
}

export class AbsentPaths {
  readonly #config: ReadonlyMap<string, StatRow>;
  /** The absent names below each folder that stands for them. */
  readonly #absent = new Map<string, Set<string>>();
  /** Paths whose own stats count: files, and folders that were listed. */
  readonly #listed = new Set<string>();

  constructor(config: ReadonlyMap<string, StatRow>) {
    this.#config = config;
  }

  /** The rows to check: if they are unchanged, all of `rows` are. */
  needed({ rows, traversed }: PathStats): Map<string, StatRow> {
    const needed = new Map<string, StatRow>();
    for (const [name, row] of rows) {
      const [checked, checkedRow] = isAbsent(row)
        ? provingFolder(name, row, rows, this.#config)
        : [name, row];
      needed.set(checked, checkedRow);
      if (checked !== name) this.#absentBelow(checked).add(name.slice(checked.length + 1));
      else if (traversed.has(name)) this.#absentBelow(name);
      else this.#listed.add(name);
    }
    return needed;
  }

  /** For each folder whose times may change: the names that it must lack. */
  absentNames(): Map<string, readonly string[]> {
    const found = new Map<string, readonly string[]>();
    for (const [folder, names] of this.#absent)
      if (!this.#listed.has(folder)) found.set(folder, [...names].sort());
    return found;
  }

  #absentBelow(folder: string): Set<string> {
    const names = this.#absent.get(folder) ?? new Set();
    this.#absent.set(folder, names);
    return names;
  }
}

/**
 * The nearest existing folder, if everything between it and the name is recorded as absent; else the name
 * itself.
 * Outside the workspace the folder may be a link, so the name itself is checked.
 */
function provingFolder(
  name: string,
  absent: StatRow,
  rows: ReadonlyMap<string, StatRow>,
  config: ReadonlyMap<string, StatRow>,
): [string, StatRow] {
  if (name.startsWith('/')) return [name, absent];
  for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1)) {
    const folder = name.slice(0, at);
    const row = rows.get(folder) ?? config.get(folder);
    if (!row) break;
    if (!isAbsent(row)) return [folder, row];
  }
  return [name, absent];
}

/** The inverse of `needed`: adds the rows that it left out. */
export function withAbsentPaths(
  rows: ReadonlyMap<string, StatRow>,
  absentNames: ReadonlyMap<string, readonly string[]>,
): PathStats {
  const all = new Map(rows);
  const traversed = new Set<string>();
  for (const folder of rows.keys()) {
    const names = absentNames.get(folder);
    if (!names) continue;
    traversed.add(folder);
    for (const name of names) all.set(`${folder}/${name}`, ABSENT);
  }
  return { rows: all, traversed };
}

/**
 * The same stats with newer rows of folders that were only traversed: a command made files in them. A folder
 * that has a name which it must lack keeps its earlier row. `isAbsentNow` is called after the newer rows were
 * taken, so a name that appears later changes the folder's times.
 */
export function withNewTimes(
  stats: PathStats,
  newer: ReadonlyMap<string, StatRow>,
  isAbsentNow: (name: string) => boolean,
): PathStats {
  const taken = new Map([...newer].filter(([name]) => stats.traversed.has(name)));
  for (const [name, row] of stats.rows) {
    if (!isAbsent(row)) continue;
    const folders = foldersOf(name).filter((folder) => taken.has(folder));
    if (folders.length > 0 && !isAbsentNow(name)) for (const folder of folders) taken.delete(folder);
  }
  return { ...stats, rows: new Map([...stats.rows].map(([name, row]) => [name, taken.get(name) ?? row])) };
}

function foldersOf(name: string): string[] {
  const folders: string[] = [];
  for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1))
    folders.push(name.slice(0, at));
  return folders;
}
