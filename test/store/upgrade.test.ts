import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { STORE } from '../../core/limits.ts';
import { loadChecksum } from '../../store/checksum.ts';
import { encodeChecksums, encodeResult, resultKeyOf } from '../../store/disk/record.ts';
import { openDiskStore } from '../../store/stack.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming } from './content.ts';
import { useFolders } from './folders.ts';

const { folder, open } = useFolders();
const small = contentOf('small', 1000);
const large = contentOf('large', STORE.chunkBytes + 17);
const GENERATION = 123_456_789;

/** As the first version of Assay wrote it, byte by byte: one blob of each kind and a result that names both. */
async function writeVersion1(directory: string): Promise<void> {
  const base = join(directory, 'v1');
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
  await presence.put(key(small), Buffer.from('00e80300000000', 'hex'), GENERATION);
  await content.put(key(small), small);
  await presence.put(key(large), Buffer.from('01110010000000', 'hex'), GENERATION);
  const checksum = await loadChecksum();
  const chunks = [large.subarray(0, STORE.chunkBytes), large.subarray(STORE.chunkBytes)];
  await content.put(key(large), encodeChecksums(chunks.map((chunk) => checksum(chunk))));
  const references = [digestOf(small), digestOf(large)];
  const record = encodeResult({ bytes: resultNaming(...references), references });
  await results.put(resultKeyOf(addressOf('old')), record, GENERATION);
  await root.close();
}

test('a store of version 1 is read on, and refused by name from then on', async () => {
  const directory = folder();
  await writeVersion1(directory);
  const store = await open({ directory });
  expect((await readFrom(store, digestOf(small)))?.equals(small)).toBe(true);
  expect((await readFrom(store, digestOf(large)))?.equals(large)).toBe(true);
  expect(await store.results.get(addressOf('old'))).toBeDefined();
  expect(await store.blobs.missing([digestOf(small), digestOf(large)])).toEqual([]);
  expect(readdirSync(directory)).toEqual(['v2']);
});

test('what version 1 wrote is counted and evicted like everything else', async () => {
  const directory = folder();
  await writeVersion1(directory);
  let time = 1000;
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
});

test('a store of a later version is refused in words', async () => {
  const directory = folder();
  await (await openDiskStore({ directory })).close();
  renameSync(join(directory, 'v2'), join(directory, 'v3'));
  await expect(openDiskStore({ directory })).rejects.toMatchObject({ code: 'ASSAY_STORE_VERSION' });
});
