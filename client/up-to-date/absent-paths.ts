// What a step or the configuration looked at, and how a memory keeps it short.
//
// That nothing is at a name need not be looked at where its folder is: the folder's times change when an
// entry comes. So the folder, which the configuration has mostly looked at anyway, takes the place of all
// that is not in it. But outputs come and go in the same folders. So with a folder whose list nobody has read
// stand the names that were not there: if its times are others, these names are looked at, and it is the same
// if it is still a folder and they still are not there.
// (A link to a folder would not do; nothing that is looked at here lies behind one, see inputs/scan.ts and
// state-recorder.ts.)
import { ABSENT, isAbsent, type StatRow } from '../files/stat-table.ts';

export interface PathStats {
  readonly rows: ReadonlyMap<string, StatRow>;
  /** Of those, the folders of which only that they are folders counts. */
  readonly traversed: ReadonlySet<string>;
}

export class AbsentPaths {
  readonly #config: ReadonlyMap<string, StatRow>;
  /** The names that are not there, below each folder that tells so. */
  readonly #absent = new Map<string, Set<string>>();
  /** Those whose list somebody has read. */
  readonly #listed = new Set<string>();

  constructor(config: ReadonlyMap<string, StatRow>) {
    this.#config = config;
  }

  /** Those rows that are to be looked at so that all of them are known to be the same. */
  needed({ rows, traversed }: PathStats): Map<string, StatRow> {
    const needed = new Map<string, StatRow>();
    for (const [name, row] of rows) {
      const [looked, seen] = isAbsent(row) ? witnessOf(name, row, rows, this.#config) : [name, row];
      needed.set(looked, seen);
      if (looked !== name) this.#absentBelow(looked).add(name.slice(looked.length + 1));
      else if (traversed.has(name)) this.#absentBelow(name);
      else this.#listed.add(name);
    }
    return needed;
  }

  /** By the folders that may have other times, the names that must not be in them. */
  looseFolders(): Map<string, readonly string[]> {
    const loose = new Map<string, readonly string[]>();
    for (const [folder, names] of this.#absent)
      if (!this.#listed.has(folder)) loose.set(folder, [...names].sort());
    return loose;
  }

  #absentBelow(folder: string): Set<string> {
    const names = this.#absent.get(folder) ?? new Set();
    this.#absent.set(folder, names);
    return names;
  }
}

/**
 * The nearest folder that is there, if all between it and the name are known not to be. Outside, it may be a
 * link.
 */
function witnessOf(
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

/** The other way round: what `needed` has left out comes back. */
export function withAbsentPaths(
  rows: ReadonlyMap<string, StatRow>,
  looseFolders: ReadonlyMap<string, readonly string[]>,
): PathStats {
  const all = new Map(rows);
  const traversed = new Set<string>();
  for (const folder of rows.keys()) {
    const names = looseFolders.get(folder);
    if (!names) continue;
    traversed.add(folder);
    for (const name of names) all.set(`${folder}/${name}`, ABSENT);
  }
  return { rows: all, traversed };
}
