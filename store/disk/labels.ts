// The labels of the disk engine: a table in the order of their text, so that a prefix is a range, each with a number that
// says which is newer. The numbers are drawn one after the other from a counter, which also makes all changes of labels
// follow one another: a put that did not see the last one is refused by the counter's version and tries again.
import { getLastVersion } from 'lmdb';
import type { Hash } from '../../core/digest.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { LabelAddress, Labelled, LabelRecords } from '../store.ts';
import { decodeLabel, encodeLabel, labelKeyOf, labelOf } from './record.ts';
import { peek, type Row, read, rowsFrom, type Table, type Tables } from './tables.ts';

/** A namespace may hold no "!": no label has this key. */
const COUNTER = Buffer.from('!counter');
const NOTHING = Buffer.alloc(1);

export class DiskLabels implements LabelRecords {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get #table(): Table {
    return this.#tables.table('labels');
  }

  async get(address: LabelAddress): Promise<Labelled | undefined> {
    this.#tables.refresh();
    const record = read(this.#table, labelKeyOf(address));
    return record && { label: address.label, key: decodeLabel(record) };
  }

  async startingWith(namespace: Namespace, prefix: string): Promise<Labelled[]> {
    this.#tables.refresh();
    const start = labelKeyOf({ namespace, label: prefix });
    const end = Buffer.concat([start, Buffer.from([0xff])]);
    const found: { row: Row; number: number }[] = [];
    let rows = rowsFrom(this.#table, start, end);
    for (let last = rows.at(-1); last; last = rows.at(-1)) {
      found.push(...rows.map((row) => ({ row, number: row.version ?? 0 })));
      await nextTurn();
      rows = rowsFrom(this.#table, last.key, end, true);
    }
    found.sort((a, b) => b.number - a.number);
    return found.map(({ row }) => ({ label: labelOf(namespace, row.key), key: decodeLabel(row.value) }));
  }

  async put(address: LabelAddress, key: Hash, replacing: Labelled | undefined): Promise<boolean> {
    for (;;) {
      this.#tables.refresh();
      const current = await this.get(address);
      if (current?.key !== replacing?.key) return false;
      if (await this.#putAfter(this.#lastNumber(), address, key)) return true;
    }
  }

  #lastNumber(): number | undefined {
    return peek(this.#table, COUNTER) && getLastVersion();
  }

  /** False if another label was put since. */
  #putAfter(last: number | undefined, address: LabelAddress, key: Hash): Promise<boolean> {
    const number = (last ?? 0) + 1;
    const change = () => {
      this.#table.put(COUNTER, NOTHING, number);
      this.#table.put(labelKeyOf(address), encodeLabel(key), number);
    };
    return this.#tables.commitIfRoom(0, () =>
      last === undefined
        ? this.#table.ifNoExists(COUNTER, change)
        : this.#table.ifVersion(COUNTER, last, change),
    );
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
