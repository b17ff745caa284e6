// The byte count: how many bytes blobs take in files. It is correct after any crash (I6).
// Each change is a row of its own, in the same commit as the change that it counts, so writers do not wait
// for each other. `compact` adds the rows up from time to time.
import { getLastVersion } from 'lmdb';
import { STORE } from '../../limits.ts';
import { newGeneration } from './generation.ts';
import { readRow, rowsFrom, type Table, type Tables } from './tables.ts';

/** The bytes that a store uses. */
export interface Usage {
  /** Used bytes of the index file, plus the free part that LMDB needs beside them. */
  readonly index: number;
  /** The whole index file. It never shrinks, and only the index can use the free part of it. */
  readonly indexFile: number;
  /** Blob files, staged files and the quarantine. */
  readonly files: number;
}

/** What a file of that size takes on a disk with 4 KiB blocks. */
export function allocatedBytes(size: number): number {
  return Math.ceil(size / BLOCK) * BLOCK;
}

const BLOCK = 4096;
const SUM = Buffer.from('sum');
const ROWS_FROM = Buffer.from('b');
const ROWS_TO = Buffer.from('c');

export class ByteCount {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get #table(): Table {
    return this.#tables.table('state');
  }

  /** Call it synchronously with the change that it counts, inside the change's condition. */
  add(bytes: number): Promise<boolean> {
    const key = Buffer.alloc(7);
    key.set(ROWS_FROM);
    key.writeUIntBE(newGeneration(), 1, 6);
    return this.#table.put(key, encode(bytes), 1);
  }

  bytes(): number {
    this.#tables.refresh();
    let sum = decode(readRow(this.#table, SUM));
    let rows = rowsFrom(this.#table, ROWS_FROM, ROWS_TO);
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      for (const { value } of rows) sum += decode(value);
      rows = rowsFrom(this.#table, last.key, ROWS_TO, true);
    }
    return sum;
  }

  /**
   * Adds up some of the rows if there are many. The version of the sum makes one of two concurrent calls
   * fail.
   */
  async compact(): Promise<void> {
    this.#tables.refresh();
    const rows = rowsFrom(this.#table, ROWS_FROM, ROWS_TO);
    if (rows.length < STORE.rangeEntries / 2) return;
    const before = readRow(this.#table, SUM);
    const version = before ? getLastVersion() : undefined;
    const sum = rows.reduce((total, { value }) => total + decode(value), decode(before));
    const change = () => {
      for (const { key } of rows) this.#table.remove(key);
      this.#table.put(SUM, encode(sum), (version ?? 0) + 1);
    };
    await this.#tables.commit(() =>
      version === undefined
        ? this.#table.ifNoExists(SUM, change)
        : this.#table.ifVersion(SUM, version, change),
    );
  }
}

function encode(bytes: number): Buffer {
  const value = Buffer.alloc(8);
  value.writeDoubleLE(bytes);
  return value;
}

function decode(value: Buffer | undefined): number {
  return value?.readDoubleLE() ?? 0;
}
