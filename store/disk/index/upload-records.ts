// The index records of uploads in parts. The version of a record is the generation of its staging file. A
// process that takes an upload over writes its own file and changes the version. So the process with the old
// file can commit nothing more.
import { getLastVersion } from 'lmdb';
import { nodeCrypto } from '../../../core/sha256.ts';
import { STORE } from '../../limits.ts';
import { allocatedBytes } from './byte-count.ts';
import { decodeUpload, encodeUpload, type UploadRecord } from './records.ts';
import { readRow, rowsFrom, type Table, type Tables } from './tables.ts';

export interface UploadEntry extends UploadRecord {
  readonly generation: number;
}

type NewUpload = Omit<UploadEntry, 'isFinished'>;

/** A row of the table. Its key is a hash of the upload's id. */
export interface UploadRow extends UploadEntry {
  readonly key: Buffer;
}

export class UploadRecords {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get #table(): Table {
    return this.#tables.table('uploads');
  }

  find(id: string): UploadEntry | undefined {
    this.#tables.refresh();
    const record = readRow(this.#table, keyOf(id));
    return record && { ...decodeUpload(record), generation: getLastVersion() };
  }

  /**
   * Replaces the record of that generation, or adds one if `replacing` is undefined. False if another one is
   * stored.
   */
  put(id: string, { generation, ...record }: NewUpload, replacing: number | undefined): Promise<boolean> {
    const key = keyOf(id);
    const value = encodeUpload(record);
    return this.#tables.commitIfSpace(value.length, () =>
      replacing === undefined
        ? this.#table.ifNoExists(key, () => this.#table.put(key, value, generation))
        : this.#table.put(key, value, generation, replacing),
    );
  }

  remove(id: string, generation: number): Promise<boolean> {
    return this.removeRow({ key: keyOf(id), generation });
  }

  /** False if it is gone or was taken over. */
  removeRow({ key, generation }: Pick<UploadRow, 'key' | 'generation'>): Promise<boolean> {
    return this.#tables.commit(() => this.#table.remove(key, generation));
  }

  /** No upload can begin. */
  get isFull(): boolean {
    this.#tables.refresh();
    return this.#table.getCount() >= STORE.maxUploads;
  }

  /** All records, as they are now. */
  *rows(): Generator<UploadRow> {
    this.#tables.refresh();
    let rows = rowsFrom(this.#table, Buffer.alloc(1), undefined);
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      for (const { key, value, version = 0 } of rows)
        yield { key, ...decodeUpload(value), generation: version };
      rows = rowsFrom(this.#table, last.key, undefined, true);
    }
  }

  /** The bytes in the staging files, or in those of the holders with these numbers. */
  stagedBytes(isOf: (holder: number) => boolean = () => true): number {
    let sum = 0;
    for (const { committed, holder, isFinished } of this.rows())
      if (!isFinished && isOf(holder)) sum += allocatedBytes(committed);
    return sum;
  }
}

/** A hash, because callers choose ids of any length. */
function keyOf(id: string): Buffer {
  return nodeCrypto().hash('sha256', id, 'buffer');
}
