// A stat index: the digest that a file had when its size, times and inode were these. A workspace has one, and a store
// has one for large programs (file-digest.ts).
// A lookup answers only for identical stats, and only settled stats are recorded (settled.ts).
//
// It saves rehashing and may be deleted at any time. Names are relative to the workspace, or absolute for
// tools.
import type { Stats } from 'node:fs';
import { type Digest, type Hash, parseHash } from '../../core/digest.ts';
import { INSTALLED_SOFTWARE } from '../../system/paths/installed-software.ts';
import { INDEX } from '../limits.ts';
import { isSettled } from './settled.ts';
import {
  readTable,
  rowAt,
  rowMatches,
  rowOf,
  type StatRow,
  type StatTable,
  sameRow,
  tableOf,
  writeTable,
} from './stat-table.ts';

const MAGIC = 'assay-stat-3';
const HASH_BYTES = 32;
/** hash:32  mode:u32  links:u32 */
const EXTRA_BYTES = HASH_BYTES + 8;

/** A file as its stats show it. */
export interface FileMark {
  readonly row: StatRow;
  readonly mode: number;
  readonly links: number;
}

export interface IndexedFile extends FileMark {
  readonly hash: Hash;
}

export class StatIndex {
  readonly #file: string;
  /** Read on first use: a run whose whole scan is in the scan memo never uses it. */
  #loaded: StatTable | undefined;
  #positions: Map<string, number> | undefined;
  readonly #fresh = new Map<string, IndexedFile>();

  constructor(file: string) {
    this.#file = file;
  }

  /** The recorded digest, if the stats are identical. */
  lookup(name: string, stats: Stats): Digest | undefined {
    const fresh = this.#fresh.get(name);
    if (fresh) return sameRow(rowOf(stats), fresh.row) ? digest(fresh.hash, stats) : undefined;
    const position = this.#positionOf(name);
    if (position === undefined || !rowMatches(this.#table, position, stats)) return undefined;
    return digest(this.#hashAt(position), stats);
  }

  /** What was recorded of a file of installed software before somebody linked it, and did nothing else to its stats. */
  beforeLinks(name: string, stats: Stats): IndexedFile | undefined {
    const position = this.#positionOf(name);
    const known = [position === undefined ? undefined : this.#indexedAt(position), this.#fresh.get(name)];
    return known.find((before) => before && onlyLinksDiffer(name, before, markOf(stats)));
  }

  /** `openedAt`: the clock just before the file was opened. */
  record(name: string, stats: Stats, { hash }: Digest, openedAt: number): void {
    if (isSettled(stats, openedAt)) this.#fresh.set(name, { ...markOf(stats), hash });
  }

  /** Writes the index if anything was recorded. */
  save(): void {
    if (this.#fresh.size === 0) return;
    const all = this.#merged();
    const rows = new Map([...all].map(([name, { row }]) => [name, row]));
    const extra = Buffer.concat([...all.values()].map(encodeExtra));
    writeTable(this.#file, MAGIC, tableOf(rows, extra));
    this.#fresh.clear();
  }

  get #table(): StatTable {
    this.#loaded ??= readTable(this.#file, MAGIC) ?? tableOf(new Map(), Buffer.alloc(0));
    return this.#loaded;
  }

  #positionOf(name: string): number | undefined {
    this.#positions ??= new Map(this.#table.names.map((known, position) => [known, position]));
    return this.#positions.get(name);
  }

  #hashAt(position: number): Hash {
    const at = position * EXTRA_BYTES;
    return parseHash(this.#table.extra.toString('hex', at, at + HASH_BYTES));
  }

  #indexedAt(position: number): IndexedFile {
    const { extra } = this.#table;
    const at = position * EXTRA_BYTES + HASH_BYTES;
    const [mode, links] = [extra.readUInt32LE(at), extra.readUInt32LE(at + 4)];
    return { row: rowAt(this.#table, position), mode, links, hash: this.#hashAt(position) };
  }

  /** Keeps the entries of other steps of the workspace, up to INDEX.maxEntries. */
  #merged(): Map<string, IndexedFile> {
    const { names } = this.#table;
    const all = new Map<string, IndexedFile>();
    const keepsOld = names.length + this.#fresh.size <= INDEX.maxEntries;
    for (const [position, name] of keepsOld ? names.entries() : []) {
      all.set(name, this.#indexedAt(position));
    }
    for (const [name, indexed] of this.#fresh) all.set(name, indexed);
    return all;
  }
}

function encodeExtra({ hash, mode, links }: IndexedFile): Buffer {
  const bytes = Buffer.alloc(EXTRA_BYTES);
  bytes.write(hash, 'hex');
  bytes.writeUInt32LE(mode, HASH_BYTES);
  bytes.writeUInt32LE(links, HASH_BYTES + 4);
  return bytes;
}

function digest(hash: Hash, stats: Stats): Digest {
  return { hash, size: stats.size };
}

export function markOf(stats: Stats): FileMark {
  return { row: rowOf(stats), mode: stats.mode, links: stats.nlink };
}

/**
 * Whether somebody linked a file of installed software, and did nothing else to its stats: pnpm links each installed
 * file from its store, so an installation elsewhere changes the ctime of a file here. The caller compares the content.
 * Another file may have been changed, and changed back.
 */
export function onlyLinksDiffer(file: string, before: FileMark, now: FileMark): boolean {
  const [size, mtime, , inode] = before.row;
  const isSameFile = size === now.row[0] && mtime === now.row[1] && inode === now.row[3];
  return isSameFile && before.mode === now.mode && before.links !== now.links && isSoftware(file);
}

/** Software that a package manager or the system put there, and nobody edits. */
function isSoftware(file: string): boolean {
  return (
    file.includes('/node_modules/') || INSTALLED_SOFTWARE.some((folder) => file.startsWith(`${folder}/`))
  );
}
