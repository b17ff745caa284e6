// A stat index: the digest that a file had when its size, times and inode were these. A workspace has one, and a store
// has one for large programs (file-digest.ts).
// A lookup answers only for identical stats, and only settled stats are recorded (settled.ts).
//
// It saves rehashing and may be deleted at any time. Names are relative to the workspace, or absolute for
// tools.
import type { Stats } from 'node:fs';
import { type Digest, type Hash, parseHash } from '../../core/digest.ts';
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

const MAGIC = 'assay-stat-2';
const HASH_BYTES = 32;

interface IndexedFile {
  readonly row: StatRow;
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

  /** `openedAt`: the clock just before the file was opened. */
  record(name: string, stats: Stats, { hash }: Digest, openedAt: number): void {
    if (isSettled(stats, openedAt)) this.#fresh.set(name, { row: rowOf(stats), hash });
  }

  /** Writes the index if anything was recorded. */
  save(): void {
    if (this.#fresh.size === 0) return;
    const all = this.#merged();
    const rows = new Map([...all].map(([name, { row }]) => [name, row]));
    const hashes = Buffer.from([...all.values()].map(({ hash }) => hash).join(''), 'hex');
    writeTable(this.#file, MAGIC, tableOf(rows, hashes));
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
    return parseHash(this.#table.extra.toString('hex', position * HASH_BYTES, (position + 1) * HASH_BYTES));
  }

  /** Keeps the entries of other steps of the workspace, up to INDEX.maxEntries. */
  #merged(): Map<string, IndexedFile> {
    const { names } = this.#table;
    const all = new Map<string, IndexedFile>();
    const keepsOld = names.length + this.#fresh.size <= INDEX.maxEntries;
    for (const [position, name] of keepsOld ? names.entries() : []) {
      all.set(name, { row: rowAt(this.#table, position), hash: this.#hashAt(position) });
    }
    for (const [name, indexed] of this.#fresh) all.set(name, indexed);
    return all;
  }
}

function digest(hash: Hash, stats: Stats): Digest {
  return { hash, size: stats.size };
}
