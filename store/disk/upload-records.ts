// What the index knows of uploads that arrive in parts. The version of a record is the generation of the file that its
// bytes are in: whoever takes an upload over writes a file of its own and changes the version, so a process that still
// works on the old file can commit nothing more.
import { getLastVersion } from 'lmdb';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../core/limits.ts';
import { nodeCrypto } from '../../core/sha256.ts';
import { orIfGone, stat } from './calls.ts';
import { type Layout, uploadPath } from './layout.ts';
import { decodeUpload, encodeUpload, type UploadRecord } from './record.ts';
import { read, rowsFrom, type Table, type Tables } from './tables.ts';
import { roomOf } from './tally.ts';

export interface KnownUpload extends UploadRecord {
  readonly generation: number;
}

export class UploadRecords {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get #table(): Table {
    return this.#tables.table('uploads');
  }

  find(id: string): KnownUpload | undefined {
    this.#tables.refresh();
    const record = read(this.#table, keyOf(id));
    return record && { ...decodeUpload(record), generation: getLastVersion() };
  }

  /** In place of the record of that generation, or of none; false if another one is there. */
  put(id: string, { generation, ...record }: KnownUpload, replacing: number | undefined): Promise<boolean> {
    const key = keyOf(id);
    const value = encodeUpload(record);
    if (replacing !== undefined)
      return this.#tables.commitIfRoom(value.length, () =>
        this.#table.put(key, value, generation, replacing),
      );
    this.#refuseOneMore();
    return this.#tables.commitIfRoom(value.length, () =>
      this.#table.ifNoExists(key, () => this.#table.put(key, value, generation)),
    );
  }

  remove(id: string, generation: number): Promise<boolean> {
    return this.#tables.commit(() => this.#table.remove(keyOf(id), generation));
  }

  /** What lies in the files of those that are not finished. */
  stagedBytes(): number {
    const rows = rowsFrom(this.#table, Buffer.alloc(1), undefined).map(({ value }) => decodeUpload(value));
    return rows.reduce((sum, { committed, finished }) => sum + (finished ? 0 : roomOf(committed)), 0);
  }

  /** Forgets those that have no file any more: they are finished, or were abandoned. */
  async dropLost(layout: Layout): Promise<void> {
    this.#tables.refresh();
    for (const { key, version = 0 } of rowsFrom(this.#table, Buffer.alloc(1), undefined)) {
      const isThere = await orIfGone(
        stat(uploadPath(layout, version)).then(() => true),
        false,
      );
      if (!isThere) await this.#tables.commit(() => this.#table.remove(key, version));
    }
  }

  #refuseOneMore(): void {
    const count = this.#table.getCount();
    if (count >= STORE.maxUploads) throw new AssayError('ASSAY_TOO_MANY_UPLOADS', `${count} are begun`);
  }
}

/** Callers choose ids of any length. */
function keyOf(id: string): Buffer {
  return nodeCrypto().hash('sha256', id, 'buffer');
}
