// The stat index: which digest a file had when its size, times and inode were these. It spares rehashing, and it may be
// lost or ignored at any time. Names are paths relative to the workspace, or absolute for tools.
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

interface Remembered {
  readonly row: StatRow;
  readonly hash: Hash;
}

export class StatIndex {
  readonly #file: string;
  /** Read when first asked: a run whose scan is remembered as a whole asks for nothing. */
  #loaded: StatTable | undefined;
  #positions: Map<string, number> | undefined;
  readonly #fresh = new Map<string, Remembered>();

  constructor(file: string) {
    this.#file = file;
  }

  /** The digest that the file had, if everything about it is as it was. */
  lookup(name: string, stats: Stats): Digest | undefined {
    const fresh = this.#fresh.get(name);
    if (fresh) return sameRow(rowOf(stats), fresh.row) ? digest(fresh.hash, stats) : undefined;
    const position = this.#positionOf(name);
    if (position === undefined || !rowMatches(this.#table, position, stats)) return undefined;
    return digest(this.#hashAt(position), stats);
  }

  /** `lookedAt`: the clock just before the file was opened. */
  record(name: string, stats: Stats, { hash }: Digest, lookedAt: number): void {
    if (isSettled(stats, lookedAt)) this.#fresh.set(name, { row: rowOf(stats), hash });
  }

  /** Writes what was learnt, if anything was. */
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

  /** What other steps of the same workspace remembered stays, until there is too much of it. */
  #merged(): Map<string, Remembered> {
    const { names } = this.#table;
    const all = new Map<string, Remembered>();
    const keepsOld = names.length + this.#fresh.size <= INDEX.maxEntries;
    for (const [position, name] of keepsOld ? names.entries() : []) {
      all.set(name, { row: rowAt(this.#table, position), hash: this.#hashAt(position) });
    }
    for (const [name, remembered] of this.#fresh) all.set(name, remembered);
    return all;
  }
}

function digest(hash: Hash, stats: Stats): Digest {
  return { hash, size: stats.size };
}
