// Finds the newest label with a given prefix without reading the other labels.
//
// A label has a row in one group for each of its prefixes that ends with a byte other than an ASCII letter or
// digit, because tools ask for such prefixes. The rows of a group are sorted newest first. Any other prefix
// is searched in the group of its longest such prefix.
import { nodeCrypto } from '../../../core/sha256.ts';
import type { LabelAddress } from '../../store.ts';
import { rowsFrom, type Table, type Tables } from './tables.ts';

const GROUP_BYTES = 16;
const NUMBER_BYTES = 6;
const LAST_NUMBER = 2 ** 48 - 1;
/** The most rows that one label has. */
const MAX_PREFIXES = 32;
/** What a row takes besides its key and its value. */
export const ROW_BYTES = 32;
const EMPTY_PREFIX: Buffer = Buffer.alloc(0);
/** Most callers take the first label. Rows are copied, and their results looked up, without yielding. */
const FIRST_PAGE = 8;
const MAX_PAGE = 64;

interface OrderedLabel {
  readonly label: string;
  readonly number: number;
}

export class LabelOrder {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  get #table(): Table {
    return this.#tables.table('order');
  }

  /** What the rows of a label take, roughly. */
  static bytesOf(label: string): number {
    const bytes = Buffer.from(label);
    return prefixesOf(bytes).length * (GROUP_BYTES + NUMBER_BYTES + bytes.length + ROW_BYTES);
  }

  /** Call it synchronously inside the condition of the label's own change. */
  add(address: LabelAddress, number: number): Promise<boolean>[] {
    const label = Buffer.from(address.label);
    return keysOf(address, number).map((key) => this.#table.put(key, label));
  }

  /** Like `add`. */
  remove(address: LabelAddress, number: number): void {
    for (const key of keysOf(address, number)) this.#table.remove(key);
  }

  /**
   * Newest first. A label may be gone, or have a newer number by now. Yields to the event loop between pages.
   */
  async *withPrefix({ namespace, label: prefix }: LabelAddress): AsyncGenerator<OrderedLabel> {
    const bytes = Buffer.from(prefix);
    const group = groupOf(namespace, prefixesOf(bytes).at(-1) ?? EMPTY_PREFIX);
    const end = Buffer.concat([group, Buffer.alloc(NUMBER_BYTES, 0xff)]);
    let from = group;
    for (let limit = FIRST_PAGE; ; limit = Math.min(2 * limit, MAX_PAGE)) {
      const rows = rowsFrom(this.#table, from, end, from !== group, limit);
      for (const { key, value } of rows) {
        if (value.subarray(0, bytes.length).equals(bytes))
          yield { label: value.toString(), number: LAST_NUMBER - key.readUIntBE(GROUP_BYTES, NUMBER_BYTES) };
      }
      const last = rows.at(-1);
      if (!last) return;
      from = last.key;
      await new Promise((resolve) => setImmediate(resolve));
      this.#tables.refresh();
    }
  }
}

function keysOf({ namespace, label }: LabelAddress, number: number): Buffer[] {
  return prefixesOf(Buffer.from(label)).map((prefix) => {
    const key = Buffer.alloc(GROUP_BYTES + NUMBER_BYTES);
    key.set(groupOf(namespace, prefix));
    key.writeUIntBE(LAST_NUMBER - number, GROUP_BYTES, NUMBER_BYTES);
    return key;
  });
}

/** Shortest first. A text has the same first prefixes as every text that begins with it. */
function prefixesOf(text: Buffer): Buffer[] {
  const prefixes: Buffer[] = [EMPTY_PREFIX];
  for (let at = 0; at < text.length && prefixes.length < MAX_PREFIXES; at++)
    if (!isAlphanumeric(text.readUInt8(at))) prefixes.push(text.subarray(0, at + 1));
  return prefixes;
}

function isAlphanumeric(byte: number): boolean {
  const letter = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x7a);
}

/** If two groups have the same hash, their labels still differ. */
function groupOf(namespace: string, prefix: Buffer): Buffer {
  const name = Buffer.concat([Buffer.from(`${namespace}\0`), prefix]);
  return nodeCrypto().hash('sha256', name, 'buffer').subarray(0, GROUP_BYTES);
}
