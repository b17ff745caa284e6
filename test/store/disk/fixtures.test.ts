// Stores and histories that earlier versions of Assay wrote: every later version reads them.
// They were made on arm64, and are read on any little-endian 64-bit machine.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { LAYOUT_VERSION } from '../../../store/disk/fs/layout.ts';
import { openDiskStore } from '../../../store/open.ts';
import { ADDRESS, LABEL, LARGE, RESULT, SMALL, TENANT, WRITER } from '../../fixtures/content.ts';
import { Workshop } from '../../rig/assay.ts';
import { readFrom } from '../content.ts';
import { useFolders } from '../folders.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');
const versions = readdirSync(FIXTURES).flatMap((name) => /^store-(v\d+)$/.exec(name)?.[1] ?? []);
const { folder } = useFolders();

test('this version has a fixture', () => {
  expect(versions).toContain(LAYOUT_VERSION);
});

describe.each(versions)('a store written by %s', (version) => {
  const hasTenants = Number(version.slice(1)) >= 5;

  function copy(): string {
    const directory = join(folder(), 'store');
    cpSync(join(FIXTURES, `store-${version}`), directory, { recursive: true });
    // git keeps no empty folders.
    for (const part of ['staging', 'quarantine'])
      mkdirSync(join(directory, version, part), { recursive: true });
    return directory;
  }

  test('is read, and can be written', async () => {
    const directory = copy();
    const store = await openDiskStore({ directory });
    for (const bytes of [SMALL, LARGE])
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    const stored = await store.results.get(ADDRESS);
    expect(stored?.bytes.equals(RESULT)).toBe(true);
    expect(stored?.writer).toEqual(hasTenants ? WRITER : undefined);
    const digests = [digestOf(SMALL), digestOf(LARGE)];
    const missing = await store.tenant(TENANT).blobs.missing(digests);
    expect(missing).toEqual(hasTenants ? digests.slice(1) : digests);
    const { namespace, key } = ADDRESS;
    const labelled = await store.labels.newest(namespace, ['fixture-']);
    expect(labelled).toEqual(version === 'v1' ? undefined : { label: LABEL, key });
    await store.blobs.put(digestOf(Buffer.from('new')), Buffer.from('new'));
    await store.tenant(TENANT).blobs.put(digestOf(LARGE), LARGE);
    await store.close();
    expect(readdirSync(directory).filter((name) => name.startsWith('v'))).toEqual([LAYOUT_VERSION]);
    const again = await openDiskStore({ directory });
    expect((await readFrom(again, digestOf(Buffer.from('new'))))?.toString()).toBe('new');
    expect((await readFrom(again.tenant(TENANT), digestOf(LARGE)))?.equals(LARGE)).toBe(true);
    await again.close();
  });

  test('passes a verify, and its history can be explained', async () => {
    const shop = new Workshop();
    try {
      const directory = copy();
      const verified = await shop.assay(['verify', '--json', '--store', directory]);
      expect(verified.code).toBe(0);
      expect(JSON.parse(verified.stdout)).toMatchObject({
        damaged: 0,
        unusableResults: 0,
        restore: { failures: [] },
      });
      const path = join(directory, 'client/history.jsonl');
      const { workspace } = JSON.parse(readFileSync(path, 'utf8'));
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(workspace, shop.workspace));
      const explained = await shop.assay(['explain', '--json', '--store', directory]);
      expect(explained.code).toBe(0);
      expect(JSON.parse(explained.stdout)).toMatchObject({
        outcome: 'miss',
        command: ['cp', 'in.txt', 'out.txt'],
      });
    } finally {
      shop.remove();
    }
  });
});

test('a store of a later version is refused with a clear message, and not changed', async () => {
  const directory = folder();
  const later = `v${Number(LAYOUT_VERSION.slice(1)) + 1}`;
  mkdirSync(join(directory, later));
  await expect(openDiskStore({ directory })).rejects.toMatchObject({
    code: 'ASSAY_STORE_VERSION',
    detail: expect.stringMatching(new RegExp(`format ${later}.*reads and writes ${LAYOUT_VERSION}`)),
  });
  expect(readdirSync(directory)).toEqual([later]);
});
