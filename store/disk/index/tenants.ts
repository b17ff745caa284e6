// The numbers of tenants: the entry of a blob lists the tenants that have put it by two bytes each.
//
// A tenant gets its number before its first put, and keeps it. No number is given twice: the row of the last
// one serializes all assignments, because one that read an old row fails and is repeated. A row that fails its
// check counts as none, so its tenant gets a new number and misses what it had.
import { getLastVersion } from 'lmdb';
import { AssayError } from '../../../core/errors.ts';
import {
  decodeTenantNumber,
  EVERYONE,
  encodeTenantNumber,
  MAX_TENANTS,
  NOBODY,
  tenantKeyOf,
} from './records.ts';
import { readRow, rowsFrom, type Table, type Tables } from './tables.ts';

/** The last number that was given. Shorter than the key of any tenant. */
const LAST = Buffer.from('numbers');

export class TenantNumbers {
  readonly #tables: Tables;
  /** A number never changes, so it is read once. */
  readonly #known = new Map<string, number>();

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get #table(): Table {
    return this.#tables.table('state');
  }

  /** EVERYONE without a name; NOBODY if the tenant has never put a blob. */
  find(name: string | undefined): number {
    if (name === undefined) return EVERYONE;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    this.#tables.refresh();
    const number = this.#read(tenantKeyOf(name));
    if (number !== undefined) this.#known.set(name, number);
    return number ?? NOBODY;
  }

  /** The names of all tenants by their numbers. */
  names(): Map<number, string> {
    this.#tables.refresh();
    const found = new Map<number, string>();
    const first = tenantKeyOf('');
    let rows = rowsFrom(this.#table, first, undefined);
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      for (const { key, value } of rows) {
        if (!key.subarray(0, first.length).equals(first)) return found;
        const number = decodeTenantNumber(key, value);
        if (number !== undefined) found.set(number, key.toString('utf8', first.length));
      }
      rows = rowsFrom(this.#table, last.key, undefined, true);
    }
    return found;
  }

  #read(key: Buffer): number | undefined {
    const record = readRow(this.#table, key);
    return record && decodeTenantNumber(key, record);
  }

  /** EVERYONE without a name. The number is durable when this resolves. */
  async assign(name: string | undefined): Promise<number> {
    for (;;) {
      const number = this.find(name);
      if (name === undefined || number !== NOBODY) return number;
      await this.#assignNext(tenantKeyOf(name));
    }
  }

  /** Nothing is written if another number was given since. */
  #assignNext(key: Buffer): Promise<boolean> {
    const record = readRow(this.#table, LAST);
    const version = record && getLastVersion();
    const last = record ? decodeTenantNumber(LAST, record) : 0;
    if (last === undefined)
      throw new AssayError('ASSAY_STORE_FAULT', 'the record of the last tenant is damaged');
    if (last >= MAX_TENANTS)
      throw new AssayError('ASSAY_STORE_FAULT', `the store has ${MAX_TENANTS} tenants, and can have no more`);
    const number = last + 1;
    const change = () => {
      this.#table.put(LAST, encodeTenantNumber(LAST, number), number);
      this.#table.put(key, encodeTenantNumber(key, number), 1);
    };
    return this.#tables.commitIfSpace(key.length, () =>
      version === undefined
        ? this.#table.ifNoExists(LAST, change)
        : this.#table.ifVersion(LAST, version, change),
    );
  }
}
