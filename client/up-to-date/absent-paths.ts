// The stats that a step or the configuration depends on, reduced to the rows that must be checked.
// If the reduced rows are unchanged, all original rows are (invariant G6 of graph-state.ts).
//
// An absent path needs no lstat of its own: the mtime of its folder changes when an entry is added. So the
// nearest existing folder stands for all absent paths in it. But outputs come and go in the same folders. So
// a folder that was not listed has a list of the names it lacks. If only its times differ, these names are
// checked one by one.
// A link to a folder could not stand for absent paths. No relative path here lies behind one (inputs/scan.ts,
// state-recorder.ts). An absent path that a command looked for has its absolute name, and is checked itself, until
// `withProvingFolders` has found that its folder can stand for it.
import { lstatSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import { parentOf, ROOT } from '../../core/path.ts';
import { type AbsPath, absPath, parentFolder, relativeIn } from '../../system/paths/absolute-path.ts';
import { isSettled } from '../files/settled.ts';
import { lstatIn } from '../files/stat-recorder.ts';
import { ABSENT, isAbsent, rowOf, type StatRow } from '../files/stat-table.ts';

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

/**
 * The same stats, in which the folder of an absent path stands for it where it can: a real folder of the workspace whose
 * times are settled, and in which no step makes outputs. `checkedAt`: the clock before the paths were found absent. A
 * name that was added since would have given the folder times that are not settled.
 */
export function withProvingFolders(
  { rows, traversed }: PathStats,
  workspace: AbsPath,
  changing: ChangingFolders,
  checkedAt: number,
): PathStats {
  const standIns = new Map<AbsPath, StatRow | undefined>();
  const standInFor = (folder: AbsPath, name: string): StatRow | undefined => {
    if (!standIns.has(folder))
      standIns.set(folder, changing.has(name) ? undefined : provingRow(folder, rows.get(name), checkedAt));
    return standIns.get(folder);
  };
  const proven = new Map<string, StatRow>();
  const searched = new Set(traversed);
  for (const [name, row] of rows) {
    const path = name.startsWith('/') && isAbsent(row) ? absPath(name) : undefined;
    const relative = path && relativeIn(workspace, path);
    const folder = relative ? parentOf(relative) : ROOT;
    const standIn = path && mayProve(folder) ? standInFor(parentFolder(path), folder) : undefined;
    proven.set(relative && standIn ? relative : name, row);
    if (!standIn) continue;
    proven.set(folder, standIn);
    if (!rows.has(folder)) searched.add(folder);
  }
  return { rows: proven, traversed: searched };
}

/** Tools make temporary folders in node_modules: its times would cost other steps their state. */
function mayProve(folder: string): boolean {
  return folder !== ROOT && basename(folder) !== 'node_modules';
}

/** `known`: its row, if the step depends on more than the names that it lacks. Undefined if it can't stand for them. */
function provingRow(folder: AbsPath, known: StatRow | undefined, checkedAt: number): StatRow | undefined {
  try {
    if (realpathSync.native(folder) !== folder) return undefined;
    if (known) return isAbsent(known) ? undefined : known;
    const stats = lstatSync(folder);
    return stats.isDirectory() && isSettled(stats, checkedAt) ? rowOf(stats) : undefined;
  } catch {
    return undefined;
  }
}

/** The folders at, above and below outputs. Their times change whenever a step runs. */
export class ChangingFolders {
  readonly #outputs: ReadonlySet<string>;
  readonly #above: ReadonlySet<string>;

  constructor(outputs: Iterable<string>) {
    this.#outputs = new Set(outputs);
    this.#above = new Set([...this.#outputs].flatMap(foldersOf));
  }

  has(folder: string): boolean {
    return this.#above.has(folder) || [folder, ...foldersOf(folder)].some((one) => this.#outputs.has(one));
  }
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

/** False also where nobody can tell: a command may have made the folder unsearchable. The build has ended well. */
export function isSurelyAbsent(root: string, name: string): boolean {
  try {
    return lstatIn(root, name) === undefined;
  } catch {
    return false;
  }
}

function foldersOf(name: string): string[] {
  const folders: string[] = [];
  for (let at = name.lastIndexOf('/'); at > 0; at = name.lastIndexOf('/', at - 1))
    folders.push(name.slice(0, at));
  return folders;
}
