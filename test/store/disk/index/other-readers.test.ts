// Processes that are killed or stopped in the middle of a read of the index. See docs/decisions/0455.
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { OtherReaders } from '../../../../store/disk/index/other-readers.ts';
import { resultKeyOf } from '../../../../store/disk/index/records.ts';
import { STORE } from '../../../../store/limits.ts';
import { Child } from '../../children/child.ts';
import { addressOf, contentOf } from '../../content.ts';
import { type TestIndex, useIndexes } from './test-index.ts';

const newIndex = useIndexes();
const RECORD_BYTES = 60_000;
const REPLACEMENTS = 200;
const PUT_BYTES = RECORD_BYTES * REPLACEMENTS;

let reader: Child | undefined;
afterEach(() => reader?.kill());

/** Replaces one record again and again: each commit frees the pages of the record before. */
async function grownBy(all: TestIndex): Promise<number> {
  const key = resultKeyOf(addressOf('one'));
  const before = all.index.tables.fileBytes();
  for (let number = 0; number < REPLACEMENTS; number++) {
    all.index.refresh();
    const replacing = all.index.result(key)?.generation;
    await all.index.replaceResult(key, contentOf(`${number}`, RECORD_BYTES), replacing, 1);
  }
  return all.index.tables.fileBytes() - before;
}

test('a reader that was killed during a read lets the index grow for a second, not for ten minutes', async () => {
  const all = newIndex();
  await grownBy(all);
  reader = new Child('stale-reader', all.layout.index);
  expect(await reader.line()).toBe('reading');
  // While it lives, the pages that it may read are kept.
  expect(await grownBy(all)).toBeGreaterThan(PUT_BYTES / 2);
  await reader.kill();
  await wait(STORE.readerCheckMs);
  expect(await grownBy(all)).toBeLessThan(PUT_BYTES / 10);
});

const HEADING = '\t\tpid\t\t thread\t\t txnid\n';
const listOf = (...readers: string[]) => ({
  readerCheck: () => 0,
  readerList: () => HEADING + readers.join('\n'),
});

test('a reader that stays in one transaction lets the index grow by a bounded amount, and is named', () => {
  let [now, fileBytes] = [0, 0];
  const readers = new OtherReaders(
    () => fileBytes,
    () => now,
  );
  const pass = (ms: number, grown: number, ...list: string[]) => {
    now += ms;
    fileBytes += grown;
    readers.check(listOf(...list));
  };
  pass(STORE.readerCheckMs, 0, '       41 ffff 7', '       42 ffff 5', '       43 ffff -');
  pass(STORE.pinnedMs, STORE.pinnedBytes - 1, '       41 ffff 900', '       42 ffff 5');
  expect(() => readers.refuseIfPinned()).not.toThrow();
  pass(STORE.readerCheckMs, 1, '       42 ffff 5');
  expect(() => readers.refuseIfPinned()).toThrow('process 42 has been stopped in the middle of a read');
  // It reads on.
  pass(STORE.readerCheckMs, 0, '       42 ffff 901');
  expect(() => readers.refuseIfPinned()).not.toThrow();
});

test('this process and readers that move on refuse no write', () => {
  let [now, fileBytes] = [0, 0];
  const readers = new OtherReaders(
    () => fileBytes,
    () => now,
  );
  for (let turn = 1; turn < 50; turn++) {
    now += STORE.pinnedMs;
    fileBytes += STORE.pinnedBytes;
    readers.check(listOf(`${process.pid} ffff 1`, `42 ffff ${turn}`));
    expect(() => readers.refuseIfPinned()).not.toThrow();
  }
});
