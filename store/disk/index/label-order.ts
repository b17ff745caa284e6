// Which labels begin with a text, the newest first, without a look at the others.
//
// A label has a row in a group for each of its beginnings that ends behind a character other than a letter or a digit, as
// the beginnings that tools ask for do. Within a group the rows lie newest first. A beginning that ends elsewhere is looked
// for in the group of the longest one that does not.
import { nodeCrypto } from '../../../core/sha256.ts';
import type { LabelAddress } from '../../store.ts';
import { rowsFrom, type Table, type Tables } from './tables.ts';

const GROUP_BYTES = 16;
const NUMBER_BYTES = 6;
const LAST_NUMBER = 2 ** 48 - 1;
/** A label has no more rows than this. */
const MAX_PREFIXES = 32;
const EMPTY_PREFIX: Buffer = Buffer.alloc(0);
/** Most askers want the first; rows are copied out of the index, and their results are looked for in one turn. */
const FIRST_PAGE = 8;
const MAX_PAGE = 64;

export interface OrderedLabel {
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

  /** Called in the turn of the change that it goes with, inside its condition, whose answer counts for all of it. */
  add(address: LabelAddress, number: number): Promise<boolean>[] {
    const label = Buffer.from(address.label);
    return keysOf(address, number).map((key) => this.#table.put(key, label));
  }

  /** In the same way. */
  remove(address: LabelAddress, number: number): void {
    for (const key of keysOf(address, number)) this.#table.remove(key);
  }

  /** Newest first. Some may be gone, or have a newer number by now. Others get a turn between two pages. */
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

/** The shortest first. Those of a text are the first ones of every text that begins with it. */
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

/** Two groups that share this are told apart by their labels. */
function groupOf(namespace: string, prefix: Buffer): Buffer {
  const name = Buffer.concat([Buffer.from(`${namespace}\0`), prefix]);
  return nodeCrypto().hash('sha256', name, 'buffer').subarray(0, GROUP_BYTES);
}
