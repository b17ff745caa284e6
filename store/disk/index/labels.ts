// The labels of the disk engine: each label's result and number in one table, and the order for prefixes in
// another (label-order.ts). A higher number is newer.
// Numbers come from a counter, whose version serializes all puts: a put that read an old counter fails and is
// repeated.
import { getLastVersion } from 'lmdb';
import type { Hash } from '../../../core/digest.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type { UnchangedLease } from '../../action-leases.ts';
import type { LabelAddress, Labelled, LabelRecords } from '../../store.ts';
import { isLeaseUnchanged, whileUnchanged } from './action-leases.ts';
import { LabelOrder, ROW_BYTES } from './label-order.ts';
import { decodeLabel, encodeLabel, labelAddressOf, labelKeyOf } from './records.ts';
import { peek, type Row, readRow, rowsFrom, type Table, type Tables } from './tables.ts';

/** No label has this key, because a namespace contains no "!". */
const COUNTER = Buffer.from('!counter');
/**
 * Present if every label is in the order table: always, except in a store from before format 4 until its
 * first search.
 */
const ORDERED = Buffer.from('!ordered');
const EMPTY_VALUE = Buffer.alloc(1);
const FIRST = Buffer.alloc(1);

/** What a label takes in the index, roughly. One with many parts has many rows. */
export function labelBytes({ namespace, label }: LabelAddress): number {
  return namespace.length + 2 * label.length + ROW_BYTES + LabelOrder.bytesOf(label);
}

/** Called after the commit for each label that was added or, with a negative number, removed. */
type OnLabel = (address: LabelAddress, bytes: number) => void;

interface Numbered extends Labelled {
  readonly number: number;
}

export class DiskLabels implements LabelRecords {
  readonly #tables: Tables;
  readonly #order: LabelOrder;
  readonly #onLabel: OnLabel;
  #ordering: Promise<void> | undefined;

  constructor(tables: Tables, onLabel: OnLabel = () => {}) {
    this.#tables = tables;
    this.#onLabel = onLabel;
    this.#order = new LabelOrder(tables);
  }

  get #table(): Table {
    return this.#tables.table('labels');
  }

  async get(address: LabelAddress): Promise<Labelled | undefined> {
    this.#tables.refresh();
    const found = this.#find(address);
    return found && { label: found.label, key: found.key };
  }

  #find(address: LabelAddress): Numbered | undefined {
    const labelKey = labelKeyOf(address);
    const record = readRow(this.#table, labelKey);
    const number = getLastVersion();
    const key = record && decodeLabel(labelKey, record);
    return key && { label: address.label, key, number };
  }

  async *withPrefix(namespace: Namespace, prefix: string): AsyncGenerator<Labelled> {
    await this.#orderOldLabels();
    for await (const { label, number } of this.#order.withPrefix({ namespace, label: prefix })) {
      const found = this.#find({ namespace, label });
      if (found?.number === number) yield { label, key: found.key };
    }
  }

  async namespaces(): Promise<Namespace[]> {
    this.#tables.refresh();
    const found: Namespace[] = [];
    let [row] = rowsFrom(this.#table, FIRST, undefined, false, 1);
    while (row) {
      const address = labelAddressOf(row.key);
      if (address) found.push(address.namespace);
      // After every label of that namespace, or after a row that is not a label's.
      const next = address ? Buffer.from(`${address.namespace}\x01`) : row.key;
      [row] = rowsFrom(this.#table, next, undefined, !address, 1);
    }
    return found;
  }

  async put(
    address: LabelAddress,
    key: Hash,
    replacing: Labelled | undefined,
    lease?: UnchangedLease,
  ): Promise<boolean> {
    for (;;) {
      this.#tables.refresh();
      const current = this.#find(address);
      if (current?.key !== replacing?.key || !isLeaseUnchanged(this.#tables, lease)) return false;
      if (await this.#putAfter(this.#lastNumber(), address, key, current, lease)) return true;
    }
  }

  async remove(address: LabelAddress, key: Hash): Promise<boolean> {
    this.#tables.refresh();
    const current = this.#find(address);
    if (current?.key !== key) return false;
    const labelKey = labelKeyOf(address);
    const isRemoved = await this.#tables.commit(() =>
      this.#table.ifVersion(labelKey, current.number, () => {
        this.#table.remove(labelKey);
        this.#order.remove(address, current.number);
      }),
    );
    if (isRemoved) this.#onLabel(address, -labelBytes(address));
    return isRemoved;
  }

  #lastNumber(): number | undefined {
    return peek(this.#table, COUNTER) && getLastVersion();
  }

  /** False if another label was put since, or the lease has changed. */
  async #putAfter(
    last: number | undefined,
    address: LabelAddress,
    key: Hash,
    current: Numbered | undefined,
    lease: UnchangedLease | undefined,
  ): Promise<boolean> {
    const number = (last ?? 0) + 1;
    const labelKey = labelKeyOf(address);
    const change = () => {
      this.#table.put(COUNTER, EMPTY_VALUE, number);
      if (last === undefined) this.#table.put(ORDERED, EMPTY_VALUE, 1);
      this.#table.put(labelKey, encodeLabel(labelKey, key), number);
      if (current) this.#order.remove(address, current.number);
      this.#order.add(address, number);
    };
    const putNext = () =>
      last === undefined
        ? this.#table.ifNoExists(COUNTER, change)
        : this.#table.ifVersion(COUNTER, last, change);
    const isPut = await this.#tables.commitIfSpace(labelBytes(address), () =>
      lease ? whileUnchanged(this.#tables, lease, putNext) : putNext(),
    );
    if (isPut && !current) this.#onLabel(address, labelBytes(address));
    return isPut;
  }

  /** Adds the labels of an earlier format to the order table, once. A put meanwhile adds its own. */
  async #orderOldLabels(): Promise<void> {
    this.#tables.refresh();
    if (this.#lastNumber() === undefined || peek(this.#table, ORDERED)) return;
    this.#ordering ??= this.#orderEveryPage().finally(() => {
      this.#ordering = undefined;
    });
    await this.#ordering;
  }

  async #orderEveryPage(): Promise<void> {
    let rows = rowsFrom(this.#table, FIRST, undefined);
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      const page = rows;
      await this.#tables.commitIfSpace(0, () => this.#orderPage(page));
      this.#tables.refresh();
      rows = rowsFrom(this.#table, last.key, undefined, true);
    }
    await this.#tables.commit(() => this.#table.put(ORDERED, EMPTY_VALUE, 1));
  }

  async #orderPage(rows: readonly Row[]): Promise<boolean> {
    const added = rows.flatMap(({ key, version = 0 }) => {
      const address = labelAddressOf(key);
      return address ? this.#order.add(address, version) : [];
    });
    await Promise.all(added);
    return true;
  }
}
