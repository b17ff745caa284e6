// Reads LMDB's pages from its file without LMDB: the pages of its trees, and the pages in its free list.
//
// LMDB counts a page when it allocates it, and writes it only if the page is still in use at the end of the
// transaction. So a healthy file may end before the last counted pages, which LMDB never reads unwritten. A
// file without a page of a tree is damaged, and a process that touches the lost page in the mapped file dies.
// The layout is that of LMDB's source (mdb.c, data format 2, 64-bit).
import { readSync } from 'node:fs';

/** Offsets in the header of a page, the header of a node, and the record of a tree. */
const PAGE_FLAGS_AT = 18;
const PAGE_LOWER_AT = 20;
const PAGE_HEADER_BYTES = 24;
const NODE_FLAGS_AT = 4;
const KEY_BYTES_AT = 6;
const NODE_HEADER_BYTES = 8;
const ROOT_AT = 40;
/** A value outside its node: the number of its first page, a transaction, its number of pages. */
const OVERFLOW_COUNT_AT = 16;
/** One flag of a page, and two of a node. */
const IS_BRANCH = 1;
const IS_OVERFLOW = 1;
const IS_TREE = 2;
const NO_ROOT = 0xffff_ffff_ffff_ffffn;
const NUMBER_BYTES = 8;

export interface PageFile {
  readonly file: number;
  readonly pageBytes: number;
  /** The whole pages in the file. */
  readonly present: number;
  /** The pages that the header counts. */
  readonly counted: number;
  /** The record of the tree of free pages, and that of the tree of all other trees. */
  readonly free: Buffer;
  readonly main: Buffer;
}

interface Leaf {
  readonly page: Buffer;
  readonly flags: number;
  readonly valueAt: number;
  readonly valueBytes: number;
}

/** A page of a tree is missing or malformed. */
class Unreadable extends Error {}

/** True if no page beyond the end of the file belongs to a tree: the file is complete. */
export function isTailUnused(pages: PageFile): boolean {
  return isProven(() => isTailFree(pages)) || isProven(() => areTreesWhole(pages));
}

function isProven(proof: () => boolean): boolean {
  try {
    return proof();
  } catch (error) {
    if (error instanceof Unreadable || error instanceof RangeError) return false;
    throw error;
  }
}

/** The usual proof, with few reads: the free list names every such page, and a free page is in no tree. */
function isTailFree(pages: PageFile): boolean {
  const { present, counted } = pages;
  const tail = new Set<number>();
  for (const leaf of leavesOf(pages, pages.free)) {
    for (const number of numbersIn(listIn(pages, leaf), counted)) {
      if (number >= present && number < counted) tail.add(number);
    }
  }
  return tail.size === counted - present;
}

function listIn(pages: PageFile, { page, flags, valueAt, valueBytes }: Leaf): Buffer {
  if (!(flags & IS_OVERFLOW)) return page.subarray(valueAt, valueAt + valueBytes);
  const list = Buffer.allocUnsafe(PAGE_HEADER_BYTES + valueBytes);
  readInto(list, pages, Number(page.readBigUInt64LE(valueAt)));
  return list.subarray(PAGE_HEADER_BYTES);
}

/**
 * Its length, then page numbers. A negative entry is a count of pages from the next entry on. Zeros are gaps.
 */
function* numbersIn(list: Buffer, most: number): Generator<number> {
  const entryAt = (at: number) => Number(list.readBigInt64LE(at * NUMBER_BYTES));
  const length = entryAt(0);
  for (let at = 1; at <= length; at++) {
    const entry = entryAt(at);
    if (entry >= 0) {
      yield entry;
      continue;
    }
    if (-entry > most) throw new Unreadable();
    at++;
    const first = entryAt(at);
    for (let number = first; number < first - entry; number++) yield number;
  }
}

/** Reads every page except those of large values. Needed if LMDB's free list has lost a page. */
function areTreesWhole(pages: PageFile): boolean {
  for (const tree of [pages.free, pages.main]) {
    for (const leaf of leavesOf(pages, tree)) {
      checkLeaf(pages, leaf);
      if (!(leaf.flags & IS_TREE)) continue;
      for (const inner of leavesOf(pages, leaf.page.subarray(leaf.valueAt))) checkLeaf(pages, inner);
    }
  }
  return true;
}

function checkLeaf({ present }: PageFile, { page, flags, valueAt }: Leaf): void {
  if (!(flags & IS_OVERFLOW)) return;
  const end = page.readBigUInt64LE(valueAt) + page.readBigUInt64LE(valueAt + OVERFLOW_COUNT_AT);
  if (end > BigInt(present)) throw new Unreadable();
}

/** In no particular order. One buffer serves all pages. */
function* leavesOf(pages: PageFile, tree: Buffer): Generator<Leaf> {
  const root = tree.readBigUInt64LE(ROOT_AT);
  const waiting = root === NO_ROOT ? [] : [Number(root)];
  const page = Buffer.allocUnsafe(pages.pageBytes);
  let left = pages.present;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (left-- === 0) throw new Unreadable();
    readInto(page, pages, next);
    const isBranch = (page.readUInt16LE(PAGE_FLAGS_AT) & IS_BRANCH) !== 0;
    for (const node of nodesIn(page)) {
      if (isBranch) waiting.push(page.readUIntLE(node, KEY_BYTES_AT));
      else yield leafAt(page, node);
    }
  }
}

function* nodesIn(page: Buffer): Generator<number> {
  const count = page.readUInt16LE(PAGE_LOWER_AT) >> 1;
  for (let index = 0; index < count; index++)
    yield page.readUInt16LE(PAGE_HEADER_BYTES + 2 * index) + PAGE_HEADER_BYTES;
}

function leafAt(page: Buffer, node: number): Leaf {
  return {
    page,
    flags: page.readUInt16LE(node + NODE_FLAGS_AT),
    valueAt: node + NODE_HEADER_BYTES + page.readUInt16LE(node + KEY_BYTES_AT),
    valueBytes: page.readUInt32LE(node),
  };
}

function readInto(buffer: Buffer, { file, pageBytes, present }: PageFile, number: number): void {
  const position = number * pageBytes;
  const isThere = position + buffer.length <= present * pageBytes;
  if (!isThere || readSync(file, buffer, 0, buffer.length, position) < buffer.length) throw new Unreadable();
}
