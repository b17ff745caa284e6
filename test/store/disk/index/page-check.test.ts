// The check of all pages finds pages in two places, pages that nobody has, and records that are not true.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkPages } from './page-check.ts';
import { useIndexes } from './test-index.ts';

const newIndex = useIndexes();
const PAGE_SIZE_AT = 48;
const FREE_ROOT_AT = 88;
const MAIN_ROOT_AT = 136;
const LAST_PAGE_AT = 144;
const TRANSACTION_AT = 152;

/** The file of an index with some free pages, and a copy of it that `harm` changes. */
async function harmed(harm: (file: Buffer, header: Buffer) => void): Promise<string> {
  const all = newIndex();
  for (let number = 0; number < 40; number++) await all.add(`blob ${number}`);
  const path = join(all.layout.index, 'data.mdb');
  expect(checkPages(path).leaked).toBe(0);
  expect(checkPages(path).free).toBeGreaterThan(0);
  const copy = join(all.folder, 'copy.mdb');
  copyFileSync(path, copy);
  const file = readFileSync(copy);
  const pageBytes = file.readUInt32LE(PAGE_SIZE_AT);
  const headers = [file.subarray(0, pageBytes), file.subarray(pageBytes, 2 * pageBytes)];
  const newest = headers.sort((one, other) =>
    Number(other.readBigUInt64LE(TRANSACTION_AT) - one.readBigUInt64LE(TRANSACTION_AT)),
  )[0];
  harm(file, newest ?? file);
  writeFileSync(copy, file);
  return copy;
}

const pageOf = (file: Buffer, header: Buffer, rootAt: number) => {
  const start = Number(header.readBigUInt64LE(rootAt)) * header.length;
  return file.subarray(start, start + header.length);
};

test('a page of a tree that is free too', async () => {
  const path = await harmed((file, header) => {
    const leaf = pageOf(file, header, FREE_ROOT_AT);
    const node = leaf.readUInt16LE(24) + 24;
    const list = node + 16;
    leaf.writeBigInt64LE(header.readBigInt64LE(MAIN_ROOT_AT), list + 8 * leaf.readUInt8(list));
  });
  expect(() => checkPages(path)).toThrow(/page \d+ is in free record \d+ and in main/);
});

test('a page that is neither free nor in a tree', async () => {
  const path = await harmed((_, header) => {
    header.writeBigUInt64LE(header.readBigUInt64LE(LAST_PAGE_AT) + 1n, LAST_PAGE_AT);
  });
  expect(checkPages(path).leaked).toBe(1);
});

test('a page that belongs elsewhere', async () => {
  const path = await harmed((file, header) => {
    pageOf(file, header, MAIN_ROOT_AT).writeBigUInt64LE(3n, 0);
  });
  expect(() => checkPages(path)).toThrow(/main: page \d+ says that it is 3/);
});

test('a tree with more entries than it records', async () => {
  let entries = 0n;
  const path = await harmed((_, header) => {
    entries = header.readBigUInt64LE(MAIN_ROOT_AT - 8);
    header.writeBigUInt64LE(entries - 1n, MAIN_ROOT_AT - 8);
  });
  expect(() => checkPages(path)).toThrow(`main records ${entries - 1n} entries, and has ${entries}`);
});
