// A failover of PostgreSQL to its standby: a synchronous one loses nothing, and what the tail of an asynchronous one
// held is a miss, never a wrong byte.
import { afterEach, expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import type { OnStoreEvent } from '../../../../store/events.ts';
import { addLayers } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import { addressOf, contentOf, readFrom, resultNaming, streamOf } from '../../../../test/store/content.ts';
import { type FleetEngine, openFleetEngine } from '../../engine/engine.ts';
import { migrate } from '../../engine/index/schema.ts';
import { FLEET } from '../../limits.ts';
import { MemoryObjects } from '../engine/memory-objects.ts';
import { ReplicatedPostgres } from '../rig/replicated-postgres.ts';

const SIZES = [1000, FLEET.inlineBytes + 1];
const WRITERS = 4;
const ENTRIES = 12;
const MINUTE = 60_000;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, MINUTE);

interface Node extends Store {
  readonly engine: FleetEngine;
  /** What the node reported as forgotten. */
  readonly forgotten: { readonly blobs: number; readonly results: number };
}

async function start(isSynchronous: boolean) {
  const postgres = await ReplicatedPostgres.start(isSynchronous);
  cleanups.push(() => postgres.stop());
  await migrate(postgres.url);
  const objects = new MemoryObjects();
  const node = async (): Promise<Node> => {
    const forgotten = { blobs: 0, results: 0 };
    const onEvent: OnStoreEvent = (event) => {
      if (event.type !== 'forgotten') return;
      forgotten.blobs += event.blobs;
      forgotten.results += event.results;
    };
    // Time stands still: on a slow machine too, the whole tail is of the last minute.
    const now = () => 0;
    const engine = await openFleetEngine({ index: postgres.url, objects, onEvent, answerMs: 3000, now });
    cleanups.push(() => engine.close());
    return { ...addLayers(engine, () => {}), engine, forgotten };
  };
  return { postgres, objects, nodes: [await node(), await node()] as const };
}

const bytesOf = (entry: string, size: number) => contentOf(entry, size);

/** Two blobs and a result that names them. */
async function put(store: Store, entry: string): Promise<void> {
  const blobs = SIZES.map((size) => bytesOf(entry, size));
  for (const bytes of blobs) await store.blobs.put(digestOf(bytes), streamOf(bytes));
  await store.results.put(addressOf(entry), resultNaming(...blobs.map((bytes) => digestOf(bytes))));
}

async function expectHit(store: Store, entry: string): Promise<void> {
  const blobs = SIZES.map((size) => bytesOf(entry, size));
  const expected = resultNaming(...blobs.map((bytes) => digestOf(bytes)));
  expect((await store.results.get(addressOf(entry)))?.bytes).toEqual(expected);
  for (const bytes of blobs) expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
}

async function expectMiss(store: Store, entry: string): Promise<void> {
  const digests = SIZES.map((size) => digestOf(bytesOf(entry, size)));
  expect(await store.results.get(addressOf(entry))).toBeUndefined();
  expect(await store.blobs.missing(digests)).toEqual(digests);
  for (const digest of digests) expect(await readFrom(store, digest)).toBeUndefined();
}

test('with a synchronous standby, nothing that was acknowledged is lost', {
  timeout: 3 * MINUTE,
}, async () => {
  const { postgres, nodes } = await start(true);
  const stored: string[] = [];
  let isOver = false;
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let number = 0; !isOver; number++) {
      const entry = `${writer} ${number}`;
      const store = nodes[number % 2];
      const isStored =
        store &&
        (await put(store, entry).then(
          () => true,
          () => false,
        ));
      if (isStored) stored.push(entry);
      else await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  const storedMore = async (count: number) => {
    const before = stored.length;
    await expect.poll(() => stored.length - before, { timeout: MINUTE }).toBeGreaterThan(count);
  };
  await storedMore(ENTRIES);
  await postgres.failOver();
  await storedMore(ENTRIES);
  isOver = true;
  await Promise.all(writers);
  for (const entry of stored) for (const store of nodes) await expectHit(store, entry);
  for (const { forgotten } of nodes) expect(forgotten).toEqual({ blobs: 0, results: 0 });
});

test('without one, what the tail held is a miss, counted apart, and can be put again', {
  timeout: 3 * MINUTE,
}, async () => {
  const { postgres, objects, nodes } = await start(false);
  const [one, two] = nodes;
  const entries = (what: string) => Array.from({ length: ENTRIES }, (_, number) => `${what} ${number}`);
  for (const entry of entries('copied')) await put(one, entry);
  await postgres.caughtUp();
  postgres.replication.link = 'frozen';
  const before = new Set(objects.kept.keys());
  for (const entry of entries('tail')) {
    await put(one, entry);
    await expectHit(two, entry);
  }
  const orphans = [...objects.kept.keys()].filter((name) => !before.has(name));
  await postgres.failOver();
  for (const store of nodes) {
    await expect
      .poll(() => expectHit(store, 'copied 0').then(() => 'hit', String), { timeout: MINUTE })
      .toBe('hit');
    for (const entry of entries('copied')) await expectHit(store, entry);
    for (const entry of entries('tail')) await expectMiss(store, entry);
  }
  // Counted by the node that had acknowledged it.
  expect(one.forgotten).toEqual({ blobs: SIZES.length * ENTRIES, results: ENTRIES });
  expect(two.forgotten).toEqual({ blobs: 0, results: 0 });
  // The objects of the tail are orphans now, and the janitor removes no other.
  for (const name of objects.kept.keys()) objects.agesMs.set(name, FLEET.orphanMs);
  do {
    await postgres.advance(one.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
    await one.engine.janitor.run();
  } while (objects.deleted.length < orphans.length);
  expect(objects.deleted.sort()).toEqual(orphans.sort());
  for (const entry of entries('tail')) await put(two, entry);
  for (const store of nodes)
    for (const entry of [...entries('copied'), ...entries('tail')]) await expectHit(store, entry);
});
