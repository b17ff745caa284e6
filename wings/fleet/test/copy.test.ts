// A copy of a whole store: everything that a store promises arrives, in both directions, however often it is interrupted.
import { writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type Digest, digestOf, EMPTY } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../../core/namespace.ts';
import { STORE } from '../../../store/limits.ts';
import { copyStore } from '../../../store/migration/copy.ts';
import { addLayers } from '../../../store/open.ts';
import type { Engine, Store } from '../../../store/store.ts';
import { addressOf, contentOf, putOne, readBlob, resultNaming } from '../../../test/store/content.ts';
import { filesIn, useFolders } from '../../../test/store/folders.ts';
import { openFleetEngine } from '../engine/engine.ts';
import { createDatabase, type TestDatabase } from './engine/index-database.ts';
import { MemoryObjects } from './engine/memory-objects.ts';

const LARGE = STORE.chunkBytes + 17;
const ACME = parseNamespace('acme/web');
const WRITER = { name: 'ci', from: '127.0.0.1', via: 'http', at: 1_700_000_000_000 };

const folders = useFolders();
let database: TestDatabase;
let fleets: Engine[];

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.clear();
  fleets = [];
});
afterEach(async () => {
  for (const fleet of fleets) await fleet.close();
});

type Side = Store & { readonly engine: Engine };

const openFolder = (directory = folders.folder()): Promise<Side> => folders.open({ directory });

async function openFleet(): Promise<Side> {
  const engine = await openFleetEngine({
    index: database.url,
    objects: new MemoryObjects(),
    onEvent: () => {},
  });
  fleets.push(engine);
  return { ...addLayers(engine, () => {}), engine };
}

/** Blobs of no tenant, of one and of two; results with a writer and with a rival; labels; two kinds of documents. */
async function fill(store: Side): Promise<void> {
  const [small, large] = [contentOf('small', 100), contentOf('large', LARGE)];
  await putOne(store, contentOf('nobody', 200));
  const named: Digest[] = [];
  for (const tenant of ['acme', 'beta'])
    for (const bytes of [small, large]) named.push(await putOne(store.tenant(tenant), bytes));
  await putOne(store.tenant('acme'), contentOf('acme', 300));
  const results = store.tenant('acme').results;
  await results.put(addressOf('first', ACME), resultNaming(...named, EMPTY), { writer: WRITER });
  expect(await results.put(addressOf('first', ACME), resultNaming(digestOf(small)))).toBe('diverged');
  await store.results.put(addressOf('plain'), resultNaming(digestOf(large)));
  for (const label of ['b', 'c', 'a'])
    await store.tenant('acme').labels.put({ namespace: ACME, label }, addressOf('first', ACME).key);
  await store.labels.put({ namespace: DEFAULT_NAMESPACE, label: 'plain' }, addressOf('plain').key);
  for (const kind of ['run', 'day'])
    await store.history?.put([
      { kind, namespace: ACME, id: 'x', at: 5, bytes: Buffer.from(`${kind} x`) },
      { kind, namespace: ACME, id: 'y', at: 6, bytes: Buffer.from(`${kind} y`) },
    ]);
}

/** Everything that an engine holds. */
async function contentsOf(engine: Engine): Promise<object> {
  const inspection = await engine.inspect?.();
  if (!inspection) throw new Error('the engine can not be inspected');
  const blobs: unknown[] = [];
  for (const { hash, size, tenants } of await inspection.blobsAfter(undefined)) {
    const bytes = (await readBlob(await inspection.read(hash))) ?? Buffer.alloc(0);
    blobs.push([hash, size, digestOf(bytes).hash, tenants.toSorted()]);
  }
  const { records } = await engine.records.after(undefined);
  const labels: unknown[] = [];
  for (const namespace of (await engine.labels.namespaces()).toSorted())
    labels.push([namespace, await Array.fromAsync(engine.labels.withPrefix(namespace, ''))]);
  const kinds = (await engine.history.kinds()).toSorted();
  return {
    blobs,
    results: records.map(({ address, result: { bytes, references, writer } }) => [
      address,
      bytes.toString('hex'),
      references.map(({ hash, size }) => ({ hash, size })),
      writer,
    ]),
    labels,
    documents: await Promise.all(
      kinds.map(async (kind) => (await engine.history.page({ kind, limit: 100 })).documents),
    ),
  };
}

async function allResultsAreWhole(store: Side): Promise<boolean> {
  const { records } = await store.engine.records.after(undefined);
  const named = records.flatMap(({ result }) => result.references);
  return (await store.blobs.missing(named)).length === 0;
}

/** Stops at the page with that number. */
async function interrupted(from: Side, to: Side, page: number): Promise<boolean> {
  let pages = 0;
  const onPage = async () => {
    pages++;
    if (pages === page) throw new Error('interrupted');
  };
  const copied = copyStore({ from: from.engine, to: to.engine, onProgress: () => {}, onPage });
  return copied.then(
    ({ isComplete }) => !isComplete,
    () => true,
  );
}

test('a copy from a folder to a fleet, and back, has everything, although it is interrupted after each page', async () => {
  const source = await openFolder();
  await fill(source);
  const before = await contentsOf(source.engine);
  const fleet = await openFleet();
  let page = 1;
  for (; await interrupted(source, fleet, page); page++) expect(await allResultsAreWhole(fleet)).toBe(true);
  expect(page).toBeGreaterThan(5);
  expect(await contentsOf(fleet.engine)).toEqual(before);
  expect(await contentsOf(source.engine)).toEqual(before);
  expect(await fleet.tenant('acme').results.get(addressOf('first', ACME))).toMatchObject({ writer: WRITER });

  const back = await openFolder();
  const copied = await copyStore({ from: fleet.engine, to: back.engine, onProgress: () => {} });
  expect(copied).toMatchObject({
    isComplete: true,
    pass: 2,
    copied: { blobs: 4, results: 3, labels: 4, documents: 4 },
    unreadable: 0,
    incomplete: 0,
    kept: 0,
  });
  expect(await contentsOf(back.engine)).toEqual(before);
});

test('what the target has stays, a blob that is damaged in the source is left out, and so is its result', async () => {
  const directory = folders.folder();
  const source = await openFolder(directory);
  const [good, bad] = [contentOf('good', LARGE), contentOf('bad', LARGE)];
  const other = contentOf('other', 100);
  for (const [name, bytes] of [
    ['good', good],
    ['bad', bad],
  ] as const) {
    await source.results.put(addressOf(name), resultNaming(await putOne(source, bytes)));
    await source.labels.put({ namespace: DEFAULT_NAMESPACE, label: name }, addressOf(name).key);
  }
  const file = filesIn(directory, 'files').find((path) => path.includes(digestOf(bad).hash)) ?? '';
  writeFileSync(file, Buffer.from(bad).fill('wrong', 500, 505));

  const fleet = await openFleet();
  const theirs = resultNaming(await putOne(fleet, other));
  await fleet.results.put(addressOf('good'), theirs);
  const copied = await copyStore({ from: source.engine, to: fleet.engine, onProgress: () => {} });
  expect(copied).toMatchObject({
    isComplete: true,
    unreadable: 1,
    incomplete: 1,
    kept: 1,
    copied: { blobs: 1, results: 0, labels: 2 },
  });
  expect((await fleet.results.get(addressOf('good')))?.bytes.equals(theirs)).toBe(true);
  expect(await fleet.results.get(addressOf('bad'))).toBeUndefined();
  expect(await fleet.blobs.missing([digestOf(good), digestOf(bad)])).toEqual([digestOf(bad)]);
});

test('one pass has a result that is replaced meanwhile, with its new blobs for their tenants', async () => {
  const source = await openFolder();
  const acme = source.tenant('acme');
  const address = addressOf('changing', ACME);
  await acme.results.put(address, resultNaming(await putOne(acme, contentOf('old', 100))));
  const content = contentOf('new', LARGE);
  const target = await openFolder();
  let pages = 0;
  const copied = await copyStore({
    from: source.engine,
    to: target.engine,
    passes: 1,
    onProgress: () => {},
    async onPage() {
      pages++;
      if (pages > 1) return;
      await acme.results.put(address, resultNaming(await putOne(acme, content)), { replace: true });
    },
  });
  expect(copied).toMatchObject({ pass: 1, incomplete: 0, unreadable: 0 });
  const arrived = target.tenant('acme');
  expect(await arrived.results.get(address)).toMatchObject({ references: [digestOf(content)] });
  expect(await target.tenant('beta').blobs.missing([digestOf(content)])).toHaveLength(1);
});
