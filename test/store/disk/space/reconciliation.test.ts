import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import type { StoreEvent } from '../../../../store/events.ts';
import { STORE } from '../../../../store/limits.ts';
import { contentOf, putOne, readFrom } from '../../content.ts';
import { filesIn, useFolders } from '../../folders.ts';

const { folder, open } = useFolders();
const LEASE = 1_000_000;
const large = contentOf('large', STORE.inlineBytes + 1);
const small = contentOf('small', 1000);

async function setUp() {
  const machine = { time: 1000 };
  const directory = folder();
  const events: StoreEvent[] = [];
  const clock = { name: 'boot', now: () => machine.time };
  const store = await open({ directory, clock, leaseMs: LEASE, onEvent: (event) => events.push(event) });
  await putOne(store, large);
  await putOne(store, small);
  return { machine, directory, events, store, reconcile: () => store.reconcile(async () => {}) };
}

test('a consistent store is not changed', async () => {
  const { store, reconcile, events } = await setUp();
  expect(await reconcile()).toEqual({ strays: 0, removed: 0, lost: 0 });
  expect((await readFrom(store, digestOf(large)))?.equals(large)).toBe(true);
  expect(events).toEqual([]);
});

test('others get a turn after each page of rows and after each folder', async () => {
  const { store } = await setUp();
  const pauses: number[] = [];
  await store.reconcile(async (tookMs) => {
    pauses.push(tookMs);
  });
  const [folders, pagesOfBlobs] = [256, 2];
  expect(pauses).toHaveLength(folders + pagesOfBlobs);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(0);
});

test('E5: a file without an entry is counted, and removed when it is found again after a lease', async () => {
  const { machine, store, directory, reconcile, events } = await setUp();
  const { hash } = digestOf(contentOf('stray', 10));
  const stray = join(directory, 'v5/files', hash.slice(0, 2), `${hash}-0000075bcd15`);
  const noise = join(directory, 'v5/files/zz');
  mkdirSync(dirname(stray), { recursive: true });
  writeFileSync(stray, 'stray');
  writeFileSync(noise, 'not ours');
  expect(await reconcile()).toEqual({ strays: 1, removed: 0, lost: 0 });
  machine.time += LEASE;
  expect(await reconcile()).toEqual({ strays: 1, removed: 0, lost: 0 });
  machine.time += LEASE;
  await putOne(store, contentOf('time goes on', 10));
  expect(await reconcile()).toEqual({ strays: 1, removed: 1, lost: 0 });
  expect(await reconcile()).toEqual({ strays: 0, removed: 0, lost: 0 });
  expect(events).toHaveLength(3);
  expect(filesIn(directory, 'files')).toHaveLength(2);
  expect((await readFrom(store, digestOf(large)))?.equals(large)).toBe(true);
});

test('an entry without a file is counted and becomes a miss, and a put stores it again', async () => {
  const { directory, store, reconcile, events } = await setUp();
  for (const file of filesIn(directory, 'files')) rmSync(file);
  expect(await store.blobs.missing([digestOf(large)])).toEqual([]);
  expect(await reconcile()).toEqual({ strays: 0, removed: 0, lost: 1 });
  expect(await store.blobs.missing([digestOf(large), digestOf(small)])).toEqual([digestOf(large)]);
  expect(events).toContainEqual({ type: 'reconciled', strays: 0, removed: 0, lost: 1 });
  await putOne(store, large);
  expect((await readFrom(store, digestOf(large)))?.equals(large)).toBe(true);
});

test('it runs beside writers without removing anything of theirs', async () => {
  const { store, reconcile } = await setUp();
  const contents = Array.from({ length: 60 }, (_, index) =>
    contentOf(`busy ${index}`, index % 2 ? 1000 : STORE.inlineBytes + index),
  );
  const [found] = await Promise.all([reconcile(), ...contents.map((bytes) => putOne(store, bytes))]);
  expect(found.lost).toBe(0);
  expect(found.removed).toBe(0);
  expect(await store.blobs.missing(contents.map(digestOf))).toEqual([]);
});

test('the record of an upload without a file is removed', async () => {
  const { directory, store, reconcile } = await setUp();
  const part = { expected: digestOf(large), offset: 0, content: large.subarray(0, 100), isLast: false };
  await store.uploads.append('kept', part);
  await store.uploads.append('lost', part);
  const before = filesIn(directory, 'staging');
  await store.uploads.append('finished', { ...part, content: large, isLast: true });
  for (const file of before.slice(0, 1)) rmSync(file);
  await reconcile();
  const left = await Promise.all(['kept', 'lost', 'finished'].map((id) => store.uploads.status(id)));
  expect(left.filter((status) => status !== undefined)).toHaveLength(1);
});
