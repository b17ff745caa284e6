// Checks an index file page by page, without LMDB and without the product's own reader of its pages.
// Every page is in a tree exactly once, or in the free list exactly once. A page in neither is leaked.
//
// It reads the state of the newest header, so no process may commit meanwhile. It throws at the first violation.
// The layout is that of LMDB's source (mdb.c, data format 2, 64-bit).
import { readFileSync } from 'node:fs';

const PAGE_HEADER = 24;
const NODE_HEADER = 8;
const TREE_BYTES = 48;
const HEADER = { freeTree: 48, mainTree: 96, lastPage: 144, transaction: 152 } as const;
const PAGE = { transaction: 8, flags: 18, lower: 20, upper: 22, overflowPages: 20 } as const;
const TREE = { depth: 6, branches: 8, leaves: 16, overflows: 24, entries: 32, root: 40 } as const;
const IS_BRANCH = 1;
const IS_LEAF = 2;
const IS_OVERFLOW_PAGE = 4;
const IS_OVERFLOW = 1;
const IS_TREE = 2;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;
const HEADERS = 2;

export interface CheckedPages {
  readonly transaction: number;
  /** Pages that the header counts. */
  readonly pages: number;
  readonly inTrees: number;
  readonly free: number;
  /** In no tree and not free: LMDB never uses them again. */
  readonly leaked: number;
}

export function checkPages(path: string): CheckedPages {
  return new PageCheck(readFileSync(path)).run();
}

interface Counts {
  branches: number;
  leaves: number;
  overflows: number;
  entries: number;
}

class PageCheck {
  readonly #file: Buffer;
  readonly #pageBytes: number;
  readonly #header: Buffer;
  readonly #last: number;
  readonly #transaction: bigint;
  /** What has each page. */
  readonly #owners = new Map<number, string>();
  #free = 0;

  constructor(file: Buffer) {
    this.#file = file;
    this.#pageBytes = file.readUInt32LE(HEADER.freeTree);
    const headers = Array.from({ length: HEADERS }, (_, page) => this.#page(page));
    const [first, second] = headers;
    if (!first || !second) throw new Error('no header');
    const isFirst = transactionOf(first) > transactionOf(second);
    this.#header = isFirst ? first : second;
    this.#transaction = transactionOf(this.#header);
    this.#last = Number(this.#header.readBigUInt64LE(HEADER.lastPage));
  }

  run(): CheckedPages {
    const free = this.#header.subarray(HEADER.freeTree, HEADER.mainTree);
    this.#walk('free list', free, (page, node) => this.#addFree(page, node));
    this.#walk('main', this.#header.subarray(HEADER.mainTree, HEADER.lastPage), (page, node) => {
      if (!(node.flags & IS_TREE)) throw new Error('the main tree has a value that is no tree');
      const name = page.toString('latin1', node.keyAt, node.keyAt + node.keyBytes);
      this.#walk(name, page.subarray(node.valueAt, node.valueAt + TREE_BYTES), () => {});
    });
    const pages = this.#last + 1;
    const owned = this.#owners.size;
    return {
      transaction: Number(this.#transaction),
      pages,
      inTrees: owned - this.#free,
      free: this.#free,
      leaked: pages - HEADERS - owned,
    };
  }

  #page(number: number): Buffer {
    const page = this.#file.subarray(number * this.#pageBytes, (number + 1) * this.#pageBytes);
    if (page.length < this.#pageBytes) throw new Error(`page ${number} is not in the file`);
    return page;
  }

  #own(page: number, owner: string): void {
    const other = this.#owners.get(page);
    if (other !== undefined) throw new Error(`page ${page} is in ${other} and in ${owner}`);
    if (page < HEADERS || page > this.#last)
      throw new Error(`${owner} has page ${page}, and the last one is ${this.#last}`);
    this.#owners.set(page, owner);
  }

  #walk(name: string, tree: Buffer, onLeaf: (page: Buffer, node: Node) => void): void {
    const root = tree.readBigUInt64LE(TREE.root);
    const counts: Counts = { branches: 0, leaves: 0, overflows: 0, entries: 0 };
    if (root !== NO_ROOT) {
      const depth = tree.readUInt16LE(TREE.depth);
      this.#visit({ name, number: Number(root), depth, counts, onLeaf });
    }
    for (const what of ['branches', 'leaves', 'overflows', 'entries'] as const) {
      const recorded = Number(tree.readBigUInt64LE(TREE[what]));
      if (recorded !== counts[what])
        throw new Error(`${name} records ${recorded} ${what}, and has ${counts[what]}`);
    }
  }

  #visit({ name, number, depth, counts, onLeaf }: Visit): void {
    this.#own(number, name);
    const page = this.#page(number);
    this.#checkHeader(name, number, page);
    const isBranch = (page.readUInt16LE(PAGE.flags) & IS_BRANCH) !== 0;
    if (isBranch === (depth === 1)) throw new Error(`${name}: page ${number} is at the wrong depth`);
    const nodes = [...nodesIn(page)];
    const keys = nodes.slice(isBranch ? 1 : 0).map((node) => keyIn(page, node));
    // LMDB compares the free list's keys as numbers.
    if (name !== 'free list') checkOrder(name, number, keys);
    if (isBranch) {
      counts.branches++;
      for (const node of nodes)
        this.#visit({ name, number: page.readUIntLE(node.at, 6), depth: depth - 1, counts, onLeaf });
      return;
    }
    counts.leaves++;
    counts.entries += nodes.length;
    for (const node of nodes) {
      if (node.flags & IS_OVERFLOW) this.#visitOverflow(name, page, node, counts);
      onLeaf(page, node);
    }
  }

  #checkHeader(name: string, number: number, page: Buffer): void {
    const own = Number(page.readBigUInt64LE(0));
    if (own !== number) throw new Error(`${name}: page ${number} says that it is ${own}`);
    const flags = page.readUInt16LE(PAGE.flags) & (IS_BRANCH | IS_LEAF | IS_OVERFLOW_PAGE);
    if (flags !== IS_BRANCH && flags !== IS_LEAF)
      throw new Error(`${name}: page ${number} has flags ${flags}`);
    const [lower, upper] = [page.readUInt16LE(PAGE.lower), page.readUInt16LE(PAGE.upper)];
    if (lower > upper || upper > this.#pageBytes - PAGE_HEADER)
      throw new Error(`${name}: page ${number} has bounds ${lower} and ${upper}`);
    if (page.readBigUInt64LE(PAGE.transaction) > this.#transaction)
      throw new Error(`${name}: page ${number} is newer than the header`);
  }

  #visitOverflow(name: string, page: Buffer, node: Node, counts: Counts): void {
    const first = Number(page.readBigUInt64LE(node.valueAt));
    const overflow = this.#page(first);
    const pages = overflow.readUInt32LE(PAGE.overflowPages);
    const isOverflow = (overflow.readUInt16LE(PAGE.flags) & IS_OVERFLOW_PAGE) !== 0;
    if (!isOverflow || Number(overflow.readBigUInt64LE(0)) !== first)
      throw new Error(`${name}: page ${first} is not the overflow page that a node names`);
    // A value that became smaller keeps its pages.
    if (pages < Math.ceil((PAGE_HEADER + node.valueBytes) / this.#pageBytes))
      throw new Error(`${name}: a value of ${node.valueBytes} bytes has ${pages} pages`);
    for (let number = first; number < first + pages; number++) this.#own(number, `${name} (overflow)`);
    counts.overflows += pages;
  }

  /** A list: its length, then page numbers. A negative entry is a count of pages from the next entry on. */
  #addFree(page: Buffer, node: Node): void {
    const key = page.readBigUInt64LE(node.keyAt);
    if (key > this.#transaction) throw new Error(`the free list has a record of transaction ${key}`);
    const list = this.#valueOf(page, node);
    const entryAt = (at: number) => Number(list.readBigInt64LE(8 * at));
    const length = entryAt(0);
    for (let at = 1; at <= length; at++) {
      const entry = entryAt(at);
      if (entry === 0) continue;
      const count = entry < 0 ? -entry : 1;
      const first = entry < 0 ? entryAt(++at) : entry;
      for (let number = first; number < first + count; number++) this.#own(number, `free record ${key}`);
      this.#free += count;
    }
  }

  #valueOf(page: Buffer, { flags, valueAt, valueBytes }: Node): Buffer {
    if (!(flags & IS_OVERFLOW)) return page.subarray(valueAt, valueAt + valueBytes);
    const start = Number(page.readBigUInt64LE(valueAt)) * this.#pageBytes + PAGE_HEADER;
    return this.#file.subarray(start, start + valueBytes);
  }
}

interface Visit {
  readonly name: string;
  readonly number: number;
  readonly depth: number;
  readonly counts: Counts;
  readonly onLeaf: (page: Buffer, node: Node) => void;
}

interface Node {
  readonly at: number;
  readonly flags: number;
  readonly keyAt: number;
  readonly keyBytes: number;
  readonly valueAt: number;
  readonly valueBytes: number;
}

function* nodesIn(page: Buffer): Generator<Node> {
  const count = page.readUInt16LE(PAGE.lower) >> 1;
  for (let index = 0; index < count; index++) {
    const at = page.readUInt16LE(PAGE_HEADER + 2 * index) + PAGE_HEADER;
    const keyBytes = page.readUInt16LE(at + 6);
    const keyAt = at + NODE_HEADER;
    yield {
      at,
      flags: page.readUInt16LE(at + 4),
      keyAt,
      keyBytes,
      valueAt: keyAt + keyBytes,
      valueBytes: page.readUInt32LE(at),
    };
  }
}

function keyIn(page: Buffer, { keyAt, keyBytes }: Node): Buffer {
  return page.subarray(keyAt, keyAt + keyBytes);
}

function checkOrder(name: string, number: number, keys: readonly Buffer[]): void {
  for (const [index, key] of keys.entries()) {
    const before = keys[index - 1];
    if (before && before.compare(key) >= 0) throw new Error(`${name}: page ${number} has keys out of order`);
  }
}

function transactionOf(header: Buffer): bigint {
  return header.readBigUInt64LE(HEADER.transaction);
}
