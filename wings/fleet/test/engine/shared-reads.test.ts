// Reads of large blobs on one node: a herd costs one GET, a tier saves the next, and neither gives a wrong byte.
import { glob, open as openFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, type Hash } from '../../../../core/digest.ts';
import { GIB } from '../../../../core/units.ts';
import { STORE } from '../../../../store/limits.ts';
import { type DiskStore, openDiskStore } from '../../../../store/open.ts';
import type { Blob } from '../../../../store/store.ts';
import { contentOf, readBlob, streamOf } from '../../../../test/store/content.ts';
import { useFolders } from '../../../../test/store/folders.ts';
import { type FleetEngine, openFleetEngine } from '../../engine/engine.ts';
import { FLEET } from '../../limits.ts';
import { createDatabase, type TestDatabase } from './index-database.ts';
import { MemoryObjects } from './memory-objects.ts';

const SIZE = 3 * STORE.chunkBytes + 17;
const LONG = (2 * FLEET.sharedChunks + 3) * STORE.chunkBytes;
const HERD = 500;
/** The smallest blob that lies in the bucket, and one of two chunks. */
const HERD_SIZES = [FLEET.inlineBytes + 1, 2 * STORE.chunkBytes];

const folders = useFolders();
let database: TestDatabase;
let objects: MemoryObjects;
let tier: DiskStore | undefined;
let engine: FleetEngine;

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.clear();
  objects = new MemoryObjects();
});
afterEach(async () => {
  await engine.close();
  await tier?.close();
  tier = undefined;
});

async function open(withTier: boolean, folder = folders.folder(), tierBytes = GIB): Promise<string> {
  const maxSize = { bytes: tierBytes };
  tier = withTier
    ? await openDiskStore({ directory: folder, leaseMs: FLEET.tierLeaseMs, maxSize })
    : undefined;
  engine = await openFleetEngine({ index: database.url, objects, onEvent: () => {}, tier: tier?.blobs });
  return folder;
}

async function put(bytes: Buffer): Promise<void> {
  await engine.blobs.put(digestOf(bytes), streamOf(bytes));
  objects.gets = 0;
}

async function find(hash: Hash): Promise<Blob> {
  const blob = await engine.blobs.get(hash);
  if (!blob) throw new Error('the blob is missing');
  return blob;
}

const get = (bytes: Buffer) => find(digestOf(bytes).hash);

/** Compares without a copy. */
async function isRight(blob: Blob, bytes: Buffer): Promise<boolean> {
  if (blob.bytes) return false;
  let at = 0;
  for await (const chunk of blob.chunks()) {
    if (!chunk.equals(bytes.subarray(at, at + chunk.length))) return false;
    at += chunk.length;
  }
  return at === bytes.length;
}

describe.each([true, false])('with a tier: %s', (withTier) => {
  test.each(HERD_SIZES)(`${HERD} readers of one cold blob of %i bytes cost one GET`, async (size) => {
    await open(withTier);
    const bytes = contentOf('herd', size);
    await put(bytes);
    const { hash } = digestOf(bytes);
    const blobs = await Promise.all(Array.from({ length: HERD }, () => find(hash)));
    const reads = await Promise.all(blobs.map((blob) => isRight(blob, bytes)));
    expect(reads.every(Boolean)).toBe(true);
    expect(objects.gets).toBe(1);
  });

  test('a reader that falls behind gets the right bytes, and does not hold the others up', async () => {
    await open(withTier);
    const bytes = contentOf('long', LONG);
    await put(bytes);
    const slow = (await get(bytes)) as Extract<Blob, { chunks: unknown }>;
    const received: Buffer[] = [];
    const chunks = slow.chunks()[Symbol.asyncIterator]();
    received.push(Buffer.from((await chunks.next()).value ?? []));
    expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
    for (let next = await chunks.next(); !next.done; next = await chunks.next())
      received.push(Buffer.from(next.value));
    expect(Buffer.concat(received).equals(bytes)).toBe(true);
  });

  test('a part of a blob is read alone', async () => {
    await open(withTier);
    const bytes = contentOf('part', SIZE);
    await put(bytes);
    for (const [from, length] of [
      [10, 5],
      [STORE.chunkBytes - 1, 2],
      [SIZE - 3, 100],
    ] as const)
      expect(await readBlob(await get(bytes), from, length)).toEqual(bytes.subarray(from, from + length));
  });

  test('a bucket that fails in the middle fails the readers, and the next one succeeds', async () => {
    await open(withTier);
    const bytes = contentOf('fails', SIZE);
    await put(bytes);
    objects.isAway = true;
    await expect(readBlob(await get(bytes))).rejects.toMatchObject({ code: 'ASSAY_BUCKET_AWAY' });
    objects.isAway = false;
    expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
  });
});

describe('the tier', () => {
  test(`makes ${HERD} readers cost one GET also if some have ended before others begin`, async () => {
    await open(true);
    const bytes = contentOf('herd', STORE.chunkBytes + 17);
    await put(bytes);
    const { hash } = digestOf(bytes);
    const reads = Array.from({ length: HERD }, async () => isRight(await find(hash), bytes));
    expect((await Promise.all(reads)).every(Boolean)).toBe(true);
    expect(objects.gets).toBe(1);
  });

  test('serves the second read, without the bucket and while PostgreSQL is away', async () => {
    await open(true);
    const bytes = contentOf('tiered', SIZE);
    await put(bytes);
    expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
    await expect.poll(() => tier?.blobs.get(digestOf(bytes).hash)).toBeDefined();
    objects.isAway = true;
    expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
    expect(engine.readCounts).toMatchObject({ tierHits: 1, tierMisses: 1 });
    const of = engine.tenant('acme').blobs;
    await database.blocked(async () => {
      expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
      await expect(of.get(digestOf(bytes).hash)).rejects.toMatchObject({ code: 'ASSAY_INDEX_AWAY' });
      await expect(engine.blobs.missing([digestOf(bytes)])).rejects.toMatchObject({
        code: 'ASSAY_INDEX_AWAY',
      });
    });
  });

  test('that takes nothing holds no reader up, and is left out of a read beyond the backlog', async () => {
    const stuck = { get: async () => undefined, put: () => new Promise<never>(() => {}) };
    const bytes = contentOf('stuck', SIZE);
    for (const copyLimits of [
      { backlogBytes: SIZE, stallMs: 60_000 },
      { backlogBytes: STORE.chunkBytes, stallMs: 20 },
    ]) {
      await database.clear();
      objects = new MemoryObjects();
      engine = await openFleetEngine({
        index: database.url,
        objects,
        onEvent: () => {},
        tier: stuck,
        copyLimits,
      });
      await put(bytes);
      expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
      if (copyLimits.backlogBytes === SIZE) await engine.close();
    }
  });

  test('gets the whole copy of a blob that is larger than the backlog', async () => {
    tier = await openDiskStore({ directory: folders.folder(), leaseMs: FLEET.tierLeaseMs });
    const copyLimits = { backlogBytes: STORE.chunkBytes, stallMs: 60_000 };
    engine = await openFleetEngine({
      index: database.url,
      objects,
      onEvent: () => {},
      tier: tier.blobs,
      copyLimits,
    });
    const bytes = contentOf('larger', SIZE);
    await put(bytes);
    expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
    await expect.poll(() => tier?.blobs.get(digestOf(bytes).hash)).toBeDefined();
    expect((await readBlob(await tier.blobs.get(digestOf(bytes).hash)))?.equals(bytes)).toBe(true);
  });

  test('that is rotten, or gone, gives no wrong byte', async () => {
    const folder = await open(true);
    const bytes = contentOf('rotten', SIZE);
    await put(bytes);
    await readBlob(await get(bytes));
    await expect.poll(() => tier?.blobs.get(digestOf(bytes).hash)).toBeDefined();
    const files = await Array.fromAsync(glob(`${folder}/v5/files/**`, { withFileTypes: true }));
    const kept = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    expect(kept).not.toEqual([]);
    for (const file of kept) await overwrite(file, STORE.chunkBytes);
    expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
    await rm(`${folder}/v5/files`, { recursive: true, force: true });
    expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
  });

  test('that is full of copies in use leaves the next ones out', async () => {
    await open(true, folders.folder(), 2 * SIZE);
    const blobs = ['a', 'b', 'c', 'd'].map((name) => contentOf(name, SIZE));
    for (const bytes of blobs) await put(bytes);
    for (const bytes of [...blobs, ...blobs])
      expect((await readBlob(await get(bytes)))?.equals(bytes)).toBe(true);
    const copies = await Promise.all(blobs.map((bytes) => tier?.blobs.get(digestOf(bytes).hash)));
    expect(copies.filter((copy) => copy === undefined)).not.toEqual([]);
  });
});

async function overwrite(path: string, position: number): Promise<void> {
  const file = await openFile(path, 'r+');
  await file.write('rotten', position);
  await file.close();
}
