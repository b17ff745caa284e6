// Unmaps the index while it is read, as commands do that read a whole store.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { LAYOUT_VERSION } from '../../../../store/disk/fs/layout.ts';
import { Index } from '../../../../store/disk/index/index.ts';
import { DiskInspection } from '../../../../store/disk/inspection.ts';
import { mappedBytes } from '../../../../system/process/process-memory.ts';
import { contentOf, putAll, readFrom } from '../../content.ts';
import { useFolders } from '../../folders.ts';

const { folder, open } = useFolders();
const contents = Array.from({ length: 1200 }, (_, number) => contentOf(`blob ${number}`, 4000));

test('a scan of an index that is unmapped after every page meets every entry once', async () => {
  const directory = folder();
  const store = await open({ directory });
  await putAll(store, ...contents);
  await store.close();
  const index = Index.open(join(directory, LAYOUT_VERSION, 'index'));
  const inspection = new DiskInspection(index, {
    ...store.blobs,
    get: async () => undefined,
    quarantine: async () => {},
  });
  const met: string[] = [];
  for (let page = await inspection.blobsAfter(undefined); page.length > 0; ) {
    met.push(...page.map(({ hash }) => hash));
    await index.tables.trim(0);
    page = await inspection.blobsAfter(page.at(-1)?.hash);
  }
  expect(met).toEqual(contents.map((bytes) => digestOf(bytes).hash).sort());
  await index.tables.trim(0);
  expect(
    await index.tables.commit(() => index.tables.table('state').put(Buffer.from('x'), Buffer.alloc(1))),
  ).toBe(true);
  await index.close();
  const after = await open({ directory });
  for (const bytes of contents.slice(0, 10))
    expect((await readFrom(after, digestOf(bytes)))?.equals(bytes)).toBe(true);
});

test('unmapping reduces the mapped memory', async () => {
  const directory = folder();
  const store = await open({ directory });
  await putAll(store, ...contents);
  await store.close();
  const index = Index.open(join(directory, LAYOUT_VERSION, 'index'));
  for (const bytes of contents) {
    const { hash } = digestOf(bytes);
    const entry = index.find(hash);
    if (entry) index.contentOf(hash, entry);
  }
  const before = mappedBytes();
  expect(before).toBeGreaterThan(0);
  await index.tables.trim(0);
  expect(mappedBytes()).toBeLessThan(before - 1_000_000);
  await index.close();
});
