// A commit that LMDB itself refuses, because its free list in memory is wrong (docs/decisions/0473): it is repeated,
// and nobody notices. The list is made wrong by changing the file's own list under the running process.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { checkPages } from './page-check.ts';
import { type TestIndex, useIndexes } from './test-index.ts';

const newIndex = useIndexes();
const PAGE_SIZE_AT = 48;
const FREE_ROOT_AT = 88;
const TRANSACTION_AT = 152;
const LOWER_AT = 20;
const PAGE_HEADER = 24;
const NODE_HEADER = 8;
const KEY_BYTES = 8;

/** The free list in the file: its only leaf. */
class FreeList {
  readonly #path: string;
  readonly #at: number;
  readonly #page: Buffer;

  constructor(path: string) {
    this.#path = path;
    const file = readFileSync(path);
    const pageBytes = file.readUInt32LE(PAGE_SIZE_AT);
    const [first, second] = [0, pageBytes].map((at) => file.subarray(at, at + pageBytes));
    if (!first || !second) throw new Error('no header');
    const isFirst = first.readBigUInt64LE(TRANSACTION_AT) > second.readBigUInt64LE(TRANSACTION_AT);
    this.#at = Number((isFirst ? first : second).readBigUInt64LE(FREE_ROOT_AT)) * pageBytes;
    this.#page = file.subarray(this.#at, this.#at + pageBytes);
  }

  /** Where the entries of each record are, the oldest record first. */
  records(): number[][] {
    const count = this.#page.readUInt16LE(LOWER_AT) >> 1;
    return Array.from({ length: count }, (_, index) => {
      const record = this.#page.readUInt16LE(PAGE_HEADER + 2 * index) + PAGE_HEADER + NODE_HEADER + KEY_BYTES;
      return Array.from({ length: this.get(record) }, (_, entry) => record + 8 * (entry + 1));
    });
  }

  get(at: number): number {
    return Number(this.#page.readBigInt64LE(at));
  }

  set(at: number, entry: number): void {
    this.#page.writeBigInt64LE(BigInt(entry), at);
  }

  write(): void {
    const file = openSync(this.#path, 'r+');
    writeSync(file, this.#page, 0, this.#page.length, this.#at);
    closeSync(file);
  }
}

/**
 * Exchanges the last page of a block in the oldest record, which LMDB has in memory, for a page of the newest one,
 * which it has not read yet. The file stays right.
 */
function changeUnderLmdb(path: string): void {
  const list = new FreeList(path);
  const records = list.records();
  const [oldest = [], newest = []] = [records.at(0), records.at(-1)];
  const block = oldest.find((at) => list.get(at) < -1) ?? 0;
  const empty = oldest.find((at) => list.get(at) === 0) ?? 0;
  const single = newest.at(-1) ?? 0;
  const last = list.get(block + 8) - list.get(block) - 1;
  list.set(block, list.get(block) + 1);
  list.set(empty, list.get(single));
  list.set(single, last);
  list.write();
}

async function used(): Promise<{ all: TestIndex; path: string }> {
  const all = newIndex();
  const names = Array.from({ length: 600 }, (_, number) => `blob ${number}`);
  const hashes = await Promise.all(names.map((name) => all.add(name)));
  await Promise.all(hashes.map((hash) => all.index.remove(hash, all.entry(hash).generation)));
  for (let number = 0; number < 20; number++) await all.add(`later blob ${number}`);
  return { all, path: join(all.layout.index, 'data.mdb') };
}

/** How the writes before share commits decides what LMDB reads of the changed list, so it may not notice. */
const ATTEMPTS = 5;

test('a commit that LMDB refuses for its free list is repeated, and stands', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {});
  for (let attempt = 0; said.mock.calls.length === 0; attempt++) {
    expect(attempt).toBeLessThan(ATTEMPTS);
    const { all, path } = await used();
    const before = checkPages(path);
    changeUnderLmdb(path);
    expect(checkPages(path)).toEqual(before);
    const hash = await all.add('after');
    if (said.mock.calls.length === 0) continue;
    expect(said.mock.calls.flat().map(String)).toEqual([expect.stringContaining('bad/duplicate entries')]);
    expect(all.isPresent(hash)).toBe(true);
    const after = checkPages(path);
    expect(after).toMatchObject({ transaction: before.transaction + 1, leaked: before.leaked });
  }
  said.mockRestore();
});
