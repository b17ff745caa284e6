// The invariants E2 to E5 of store/disk/space/eviction.ts, step by step. E1 is tested by eviction.test.ts.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test, vi } from 'vitest';
import { digestOf, type Hash } from '../../../../core/digest.ts';
import { Accounts } from '../../../../store/disk/accounts/accounts.ts';
import { Holdings } from '../../../../store/disk/accounts/holdings.ts';
import { filePath } from '../../../../store/disk/fs/layout.ts';
import { decodeAge, resultKeyOf } from '../../../../store/disk/index/records.ts';
import { DiskResults } from '../../../../store/disk/index/results.ts';
import { rowsFrom } from '../../../../store/disk/index/tables.ts';
import { Eviction } from '../../../../store/disk/space/eviction.ts';
import { addressOf, contentOf, noHolders } from '../../content.ts';
import { EXPIRED, type TestIndex, TICK, useIndexes, WINDOW } from '../index/test-index.ts';

const newIndex = useIndexes();
const MANY_BYTES = 2 ** 30;

function evictionOf({ layout, index, clock }: TestIndex): Eviction {
  return new Eviction(layout, index, clock, new Holdings(index, Accounts.none));
}

function ageTicks({ index }: TestIndex): number[] {
  index.refresh();
  const rows = rowsFrom(index.tables.table('ages'), Buffer.alloc(1), undefined);
  return rows.map(({ key }) => decodeAge(key).tick);
}

/** Stores a result that names the blob. */
async function name(all: TestIndex, text: string): Promise<void> {
  const results = new DiskResults(all.index, all.leases, () => {}, noHolders);
  const references = [digestOf(contentOf(text, 100))];
  await results.put(addressOf(text), { bytes: Buffer.from(text), references }, undefined);
}

const hasResult = ({ index }: TestIndex, text: string) => {
  index.refresh();
  return index.result(resultKeyOf(addressOf(text))) !== undefined;
};

test('E2: results are removed before the blobs that they name', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  await name(all, 'one');
  all.time += EXPIRED + WINDOW;
  const eviction = evictionOf(all);
  expect(await eviction.step(1, 64)).toMatchObject({ results: 1, blobs: 0 });
  expect(all.isPresent(hash)).toBe(true);
  expect(await eviction.step(1, 64)).toMatchObject({ results: 0, blobs: 1 });
  expect(all.isPresent(hash)).toBe(false);
  expect(await eviction.step(1, 64)).toBeUndefined();
});

test('E2: an expired blob stays while a result that may name it is leased', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  await name(all, 'one');
  // The blob's lease has ended, and the result's lasts one window longer.
  all.time += EXPIRED + WINDOW / 2;
  expect(await evictionOf(all).step(MANY_BYTES, 64)).toBeUndefined();
  expect(all.isPresent(hash)).toBe(true);
  expect(hasResult(all, 'one')).toBe(true);
});

test('E2: the least recently used is removed first, and no more than is wanted', async () => {
  const all = newIndex();
  const hashes: Hash[] = [];
  for (const text of ['1', '2', '3', '4']) {
    hashes.push(await all.add(text));
    all.time += 2 * TICK;
  }
  all.time += EXPIRED;
  expect(await evictionOf(all).step(100, 64)).toMatchObject({ blobs: 1 });
  expect(hashes.map((hash) => all.isPresent(hash))).toEqual([false, true, true, true]);
});

test('E3: a use leaves the age row behind, and eviction moves it to the tick of the entry', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  const [before] = ageTicks(all);
  all.time += EXPIRED;
  await all.leases.renew([hash]);
  const { tick } = all.entry(hash);
  expect(tick).toBeGreaterThan(before ?? 0);
  expect(ageTicks(all)).toEqual([before]);
  expect(await evictionOf(all).step(MANY_BYTES, 64)).toMatchObject({ blobs: 0 });
  expect(all.isPresent(hash)).toBe(true);
  expect(ageTicks(all)).toEqual([tick]);
});

test('E3: an age row without an entry is removed', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  all.time += EXPIRED;
  await all.leases.renew([hash]);
  await all.index.remove(hash, all.entry(hash).generation);
  expect(ageTicks(all)).toHaveLength(1);
  await evictionOf(all).step(MANY_BYTES, 64);
  expect(ageTicks(all)).toEqual([]);
});

/** A blob in a file, and a hook that runs after eviction has read its entry and before it commits. */
async function withHook(all: TestIndex, hook: (hash: Hash, path: string) => Promise<unknown>) {
  const hash = await all.add('one', true);
  const path = filePath(all.layout, hash, all.entry(hash).generation);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contentOf('one', 100));
  const remove = all.index.removeIfUnchanged.bind(all.index);
  vi.spyOn(all.index, 'removeIfUnchanged').mockImplementation(async (...change) => {
    await hook(hash, path);
    return remove(...change);
  });
  all.time += EXPIRED;
  return { hash, path };
}

test('E4: a blob that is used between the read and the commit stays, with its file', async () => {
  const all = newIndex();
  const { hash, path } = await withHook(all, (used) => all.leases.renew([used]));
  expect(await evictionOf(all).step(MANY_BYTES, 64)).toMatchObject({ blobs: 0, bytes: 0 });
  expect(all.isPresent(hash)).toBe(true);
  expect(existsSync(path)).toBe(true);
});

test('E5: a file is still there when its entry is removed, and is removed afterwards', async () => {
  const all = newIndex();
  const seen: boolean[] = [];
  const { hash, path } = await withHook(all, async (_, file) => seen.push(existsSync(file)));
  expect(await evictionOf(all).step(MANY_BYTES, 64)).toMatchObject({ blobs: 1 });
  expect(seen).toEqual([true]);
  expect(all.isPresent(hash)).toBe(false);
  expect(existsSync(path)).toBe(false);
});
