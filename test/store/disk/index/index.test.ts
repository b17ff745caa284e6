// The invariants I1 to I6 of store/disk/index/index.ts, on one index without the rest of a store.
// I2 is tested by test/crash/power-loss.test.ts, I5 by commits.test.ts, I7 by same-file.test.ts.
import { expect, test, vi } from 'vitest';
import { newGeneration } from '../../../../store/disk/index/generation.ts';
import { STORE } from '../../../../store/limits.ts';
import { type TestIndex, useIndexes } from './test-index.ts';

const newIndex = useIndexes();
const BLOCK = 4096;

const rowsOfBlobs = (all: TestIndex) => [all.rows('presence'), all.rows('content'), all.rows('ages')];

test.each([false, true])('I1: a blob comes and goes with all its rows (in a file: %s)', async (isFile) => {
  const all = newIndex();
  const hash = await all.add('one', isFile);
  expect(rowsOfBlobs(all)).toEqual([1, 1, 1]);
  expect(all.index.byteCount.bytes()).toBe(isFile ? BLOCK : 0);
  expect(await all.index.removeIfUnchanged(Buffer.from(hash, 'hex'), all.entry(hash))).toBe(true);
  expect(rowsOfBlobs(all)).toEqual([0, 0, 0]);
  expect(all.index.byteCount.bytes()).toBe(0);
});

test('I1: of two that add the same blob at once one is stored, and its rows once', async () => {
  const all = newIndex();
  await Promise.all([all.add('one', true), all.add('one', true)]);
  expect(rowsOfBlobs(all)).toEqual([1, 1, 1]);
  expect(all.index.byteCount.bytes()).toBe(BLOCK);
});

test('I3: every write of an entry gives it a new version', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  const versions = new Set<number>();
  for (let count = 0; count < 20; count++) {
    const entry = all.entry(hash);
    versions.add(entry.version);
    expect(await all.index.stampBlob(hash, entry, all.clock.stamp())).toBe(true);
  }
  expect(versions.size).toBe(20);
});

test('I3: a removal for an entry as it was before a use does not apply', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  const before = all.entry(hash);
  await all.index.stampBlob(hash, before, all.clock.stamp());
  const key = Buffer.from(hash, 'hex');
  expect(await all.index.removeIfUnchanged(key, before)).toBe(false);
  expect(await all.index.removeIfUnchanged(key, all.entry(hash))).toBe(true);
  expect(await all.index.stampBlob(hash, before, all.clock.stamp())).toBe(false);
  expect(all.isPresent(hash)).toBe(false);
});

test('I3: of many changes of the same version exactly one applies', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  const entry = all.entry(hash);
  const key = Buffer.from(hash, 'hex');
  const changes = Array.from({ length: 10 }, (_, number) =>
    number % 2
      ? all.index.stampBlob(hash, entry, all.clock.stamp())
      : all.index.removeIfUnchanged(key, entry),
  );
  expect((await Promise.all(changes)).filter(Boolean)).toHaveLength(1);
});

test('I4: a blob that is stored again has another generation', async () => {
  const all = newIndex();
  const hash = await all.add('one', true);
  const first = all.entry(hash).generation;
  expect(await all.index.remove(hash, first)).toBe(true);
  await all.add('one', true);
  expect(all.entry(hash).generation).not.toBe(first);
  expect(await all.index.remove(hash, first)).toBe(false);
  expect(all.isPresent(hash)).toBe(true);
  expect(new Set(Array.from({ length: 1000 }, newGeneration)).size).toBe(1000);
});

test('I6: the byte count stays the sum of all files while several processes compact it', async () => {
  const all = newIndex();
  const many = STORE.rangeEntries + 10;
  const hashes = await Promise.all(Array.from({ length: many }, (_, number) => all.add(`${number}`, true)));
  const rowsBefore = all.rows('state');
  await Promise.all([all.index.byteCount.compact(), all.index.byteCount.compact()]);
  expect(all.rows('state')).toBeLessThan(rowsBefore / 2);
  expect(all.index.byteCount.bytes()).toBe(many * BLOCK);
  for (const hash of hashes.slice(0, 5)) await all.index.remove(hash, all.entry(hash).generation);
  expect(all.index.byteCount.bytes()).toBe((many - 5) * BLOCK);
});

test('I6: a compaction that read a stale sum does not apply', async () => {
  const all = newIndex();
  const { byteCount, tables } = all.index;
  const add = (from: number, to: number) =>
    Promise.all(Array.from({ length: to - from }, (_, number) => all.add(`${from + number}`, true)));
  await add(0, 300);
  await byteCount.compact();
  await add(300, 600);
  const gate = Promise.withResolvers<void>();
  const commit = tables.commit.bind(tables);
  vi.spyOn(tables, 'commit').mockImplementationOnce(async (change) => {
    await gate.promise;
    return commit(change);
  });
  const stale = byteCount.compact();
  await add(600, 610);
  await byteCount.compact();
  gate.resolve();
  await stale;
  expect(byteCount.bytes()).toBe(610 * BLOCK);
});
