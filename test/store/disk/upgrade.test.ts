import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { Index } from '../../../store/disk/index/index.ts';
import { resultKeyOf } from '../../../store/disk/index/records.ts';
import { STORE } from '../../../store/limits.ts';
import { openDiskStore } from '../../../store/open.ts';
import { encodeChecksums, loadChecksum } from '../../../store/shared/checksum.ts';
import type { StoredResult } from '../../../store/store.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming } from '../content.ts';
import { useFolders } from '../folders.ts';

const { folder, open } = useFolders();
const small = contentOf('small', 1000);
const large = contentOf('large', STORE.chunkBytes + 17);
const GENERATION = 123_456_789;

const TICK = 5;

type Earlier = 'v1' | 'v2';

/** Its checksum did not cover its key. */
function resultOfV3({ bytes, references }: StoredResult): Buffer {
  const count = Buffer.alloc(4);
  count.writeUInt32LE(references.length);
  const named = references.map(({ hash, size }) => {
    const reference = Buffer.alloc(38);
    reference.write(hash, 'hex');
    reference.writeUIntLE(size, 32, 6);
    return reference;
  });
  const rest = Buffer.concat([count, ...named, bytes]);
  return Buffer.concat([Buffer.from(digestOf(rest).hash, 'hex'), rest]);
}

/**
 * As earlier versions of Assay wrote it, byte by byte: one blob of each kind, and a result that names both.
 */
async function writeEarlier(directory: string, version: Earlier): Promise<void> {
  const base = join(directory, version);
  for (const part of ['index', 'staging', 'quarantine']) mkdirSync(join(base, part), { recursive: true });
  const { hash } = digestOf(large);
  mkdirSync(join(base, 'files', hash.slice(0, 2)), { recursive: true });
  writeFileSync(join(base, 'files', hash.slice(0, 2), `${hash}-0000075bcd15`), large);

  const root = openLmdb<Buffer, Buffer>({
    path: join(base, 'index'),
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const table = (name: string, useVersions: boolean) =>
    root.openDB<Buffer, Buffer>(name, { encoding: 'binary', keyEncoding: 'binary', useVersions });
  const [presence, content, results] = [
    table('presence', true),
    table('content', false),
    table('results', true),
  ];
  const key = (bytes: Buffer) => Buffer.from(digestOf(bytes).hash, 'hex');
  const used = version === 'v1' ? '' : '0500000015cd5b070000';
  await presence.put(key(small), Buffer.from(`00e80300000000${used}`, 'hex'), GENERATION);
  await content.put(key(small), small);
  await presence.put(key(large), Buffer.from(`01110010000000${used}`, 'hex'), GENERATION);
  const checksum = await loadChecksum();
  const chunks = [large.subarray(0, STORE.chunkBytes), large.subarray(STORE.chunkBytes)];
  await content.put(key(large), encodeChecksums(chunks.map((chunk) => checksum(chunk))));
  const references = [digestOf(small), digestOf(large)];
  const resultKey = resultKeyOf(addressOf('old'));
  const record = resultOfV3({ bytes: resultNaming(...references), references });
  await results.put(resultKey, record, GENERATION);
  if (version === 'v2') {
    const [uses, ages, state] = [table('uses', true), table('ages', false), table('state', true)];
    const age = (kind: string, of: Buffer) => Buffer.concat([Buffer.from(`${kind}00000005`, 'hex'), of]);
    const [nothing, began, bytes] = [Buffer.alloc(1), Buffer.alloc(8), Buffer.alloc(8)];
    began.writeDoubleLE(1000);
    bytes.writeDoubleLE(STORE.chunkBytes + 4096);
    await uses.put(resultKey, nothing, TICK);
    for (const row of [age('01', resultKey), age('02', key(small)), age('02', key(large))])
      await ages.put(row, nothing);
    await state.put(Buffer.from('7400000005', 'hex'), Buffer.concat([began, Buffer.from('boot')]), 1);
    await state.put(Buffer.from('sum'), bytes, 1);
  }
  await root.close();
}

describe.each<Earlier>(['v1', 'v2'])('a store of version %s', (version) => {
  test('is read, and refused by older versions from then on', async () => {
    const directory = folder();
    await writeEarlier(directory, version);
    const store = await open({ directory });
    expect((await readFrom(store, digestOf(small)))?.equals(small)).toBe(true);
    expect((await readFrom(store, digestOf(large)))?.equals(large)).toBe(true);
    expect(await store.results.get(addressOf('old'))).toBeDefined();
    expect(await store.blobs.missing([digestOf(small), digestOf(large)])).toEqual([]);
    expect(readdirSync(directory)).toEqual(['v5']);
  });

  test('is counted and evicted like any other', async () => {
    const directory = folder();
    await writeEarlier(directory, version);
    let time = 2000;
    const clock = { name: 'boot', now: () => time };
    const store = await open({
      directory,
      clock,
      maxSize: { bytes: 2 * STORE.chunkBytes },
      leaseMs: 1_000_000,
    });
    await store.reconcile(async () => {});
    expect(store.space.used()).toBeGreaterThan(STORE.chunkBytes);
    time += 3_000_000;
    await putOne(store, contentOf('new', 1000));
    time += 3_000_000;
    await store.space.evict(0);
    expect(await store.blobs.missing([digestOf(small), digestOf(large)])).toHaveLength(2);
    expect(await store.results.get(addressOf('old'))).toBeUndefined();
    expect(store.space.used()).toBeLessThan(STORE.chunkBytes);
  });

  test('has its damaged blobs quarantined, and stores them again', async () => {
    const directory = folder();
    await writeEarlier(directory, version);
    const index = Index.open(join(directory, version, 'index'));
    await index.tables.table('content').put(Buffer.from(digestOf(small).hash, 'hex'), Buffer.from('other'));
    await index.close();
    const store = await open({ directory });
    expect(await readFrom(store, digestOf(small))).toBeUndefined();
    await putOne(store, small);
    expect((await readFrom(store, digestOf(small)))?.equals(small)).toBe(true);
  });
});

test('a store of a later version is refused with a clear message', async () => {
  const directory = folder();
  await (await openDiskStore({ directory })).close();
  renameSync(join(directory, 'v5'), join(directory, 'v6'));
  await expect(openDiskStore({ directory })).rejects.toMatchObject({ code: 'ASSAY_STORE_VERSION' });
});
