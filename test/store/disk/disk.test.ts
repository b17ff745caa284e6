import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { Index } from '../../../store/disk/index/index.ts';
import { Leases } from '../../../store/disk/index/leases.ts';
import { LogicalClock } from '../../../store/disk/index/logical-clock.ts';
import { DiskResults } from '../../../store/disk/index/results.ts';
import type { StoreEvent } from '../../../store/events.ts';
import { STORE } from '../../../store/limits.ts';
import { openDiskStore } from '../../../store/open.ts';
import { uptimeClock } from '../../../system/process/uptime.ts';
import {
  addressOf,
  contentOf,
  failingAfter,
  noHolders,
  putAll,
  putOne,
  readFrom,
  resultNaming,
  streamOf,
} from '../content.ts';
import { type Backend, describeStore } from '../contract.ts';
import { describeHistory } from '../contract-history.ts';
import { describeLabels } from '../contract-labels.ts';
import { describeReview } from '../contract-review.ts';
import { describeTenants } from '../contract-tenants.ts';
import { describeUploads } from '../contract-uploads.ts';
import { filesIn, makeFolder, removeFolder, useFolders } from '../folders.ts';

const SMALL = 1000;
const LARGE = STORE.chunkBytes + 17;

const backend: Backend = {
  name: 'the disk store',
  async open(onEvent) {
    const directory = makeFolder();
    const store = await openDiskStore({ directory, onEvent });
    const index = Index.open(join(directory, 'v5/index'));
    const ticks = new LogicalClock(index.tables, uptimeClock(), STORE.leaseMs);
    return {
      store,
      records: new DiskResults(index, new Leases(index, ticks, onEvent), onEvent, noHolders),
      async lose(hash) {
        index.refresh();
        await index.remove(hash, index.find(hash)?.generation ?? Number.NaN);
        // As if by another process: this one may see the blob until its next turn of the event loop.
        await sleep(5);
      },
      async dispose() {
        await index.close();
        await store.close();
        removeFolder(directory);
      },
    };
  },
};

describeStore(backend);
describeUploads(backend);
describeLabels(backend);
describeTenants(backend);
describeReview(backend);
describeHistory(backend);

describe('on disk', () => {
  const { folder, open } = useFolders();

  test('everything is present after the store was closed and opened again', async () => {
    const directory = folder();
    const [small, large] = [contentOf('small', SMALL), contentOf('large', LARGE)];
    const before = await openDiskStore({ directory });
    const result = resultNaming(...(await putAll(before, small, large)));
    await before.results.put(addressOf('key'), result);
    await before.close();
    const after = await open({ directory });
    expect((await readFrom(after, digestOf(small)))?.equals(small)).toBe(true);
    expect((await readFrom(after, digestOf(large)))?.equals(large)).toBe(true);
    expect((await after.results.get(addressOf('key')))?.bytes.equals(result)).toBe(true);
    expect(await after.blobs.missing([digestOf(small), digestOf(large)])).toEqual([]);
  });

  test('a large blob is one file, even if many put it at once, and staging is empty again', async () => {
    const directory = folder();
    const store = await open({ directory });
    const bytes = contentOf('large', LARGE);
    await Promise.all(
      Array.from({ length: 6 }, () => store.blobs.put(digestOf(bytes), streamOf(bytes, 65_536))),
    );
    const [file, ...others] = filesIn(directory, 'files');
    expect(others).toEqual([]);
    expect(readFileSync(file ?? '').equals(bytes)).toBe(true);
    expect(filesIn(directory, 'staging')).toEqual([]);
  });

  test('a refused put leaves no file', async () => {
    const directory = folder();
    const store = await open({ directory });
    const bytes = contentOf('large', LARGE);
    const other = digestOf(contentOf('other', LARGE));
    await expect(store.blobs.put(other, bytes)).rejects.toThrow(/ASSAY_DIGEST_MISMATCH/);
    await expect(store.blobs.put({ ...digestOf(bytes), size: LARGE - 1 }, bytes)).rejects.toThrow(
      /ASSAY_SIZE/,
    );
    const failure = new Error('the client is gone');
    await expect(store.blobs.put(other, failingAfter(bytes, LARGE, failure))).rejects.toBe(failure);
    expect(filesIn(directory, 'files')).toEqual([]);
    expect(filesIn(directory, 'staging')).toEqual([]);
  });

  test('a blob that is present is not staged again', async () => {
    const directory = folder();
    const store = await open({ directory });
    const bytes = contentOf('large', LARGE);
    await putAll(store, bytes);
    let staged: string[] = [];
    async function* observed(): AsyncGenerator<Buffer> {
      yield* streamOf(bytes);
      staged = filesIn(directory, 'staging');
    }
    await store.blobs.put(digestOf(bytes), observed());
    expect(staged).toEqual([]);
  });

  test('I4: a removal of an earlier generation does not remove a later one', async () => {
    const directory = folder();
    const store = await open({ directory });
    const index = Index.open(join(directory, 'v5/index'));
    const bytes = contentOf('twice', SMALL);
    const { hash } = await putOne(store, bytes);
    const earlier = index.find(hash)?.generation ?? Number.NaN;
    expect(await index.remove(hash, earlier)).toBe(true);
    await putOne(store, bytes);
    expect(await index.remove(hash, earlier)).toBe(false);
    await index.close();
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });

  test('a blob that is removed while it is sent again is not reported as stored', async () => {
    const directory = folder();
    const store = await open({ directory });
    const index = Index.open(join(directory, 'v5/index'));
    const bytes = contentOf('large', LARGE);
    const { hash } = digestOf(bytes);
    await putAll(store, bytes);
    async function* vanishing(): AsyncGenerator<Buffer> {
      yield* streamOf(bytes);
      await index.remove(hash, index.find(hash)?.generation ?? Number.NaN);
    }
    await expect(store.blobs.put(digestOf(bytes), vanishing())).rejects.toMatchObject({
      code: 'ASSAY_STORE_FAULT',
    });
    await index.close();
  });
});

describe('a folder', () => {
  const { folder, open } = useFolders();

  test('that does not exist is created, with its parents', async () => {
    const directory = join(folder(), 'a/b/c');
    await putAll(await open({ directory }), contentOf('small', SMALL));
    expect(readdirSync(directory)).toEqual(['v5']);
  });

  test('with a store of another version is refused with a clear message, and not changed', async () => {
    const directory = folder();
    mkdirSync(join(directory, 'v6/index'), { recursive: true });
    await expect(openDiskStore({ directory })).rejects.toMatchObject({
      code: 'ASSAY_STORE_VERSION',
      detail: expect.stringMatching(/format v6; this Assay reads and writes v5$/),
    });
    expect(readdirSync(directory)).toEqual(['v6']);
  });

  test('that is a file is refused', async () => {
    const file = join(folder(), 'file');
    writeFileSync(file, 'no folder');
    for (const directory of [file, join(file, 'below')]) {
      await expect(openDiskStore({ directory })).rejects.toMatchObject({ code: 'ASSAY_STORE_FAULT' });
    }
  });

  test('that can’t be written is refused', async () => {
    // Root may write everywhere, but even root may not create folders here.
    await expect(openDiskStore({ directory: '/proc/assay' })).rejects.toMatchObject({
      code: 'ASSAY_STORE_FAULT',
    });
  });

  test.each<[string, Buffer]>([
    ['noise', contentOf('noise', 100_000)],
    ['zeros', Buffer.alloc(100_000)],
    ['a few bytes', Buffer.alloc(10)],
  ])('whose index is %s is refused, and the process survives', async (_, bytes) => {
    const directory = folder();
    const index = join(directory, 'v5/index');
    mkdirSync(index, { recursive: true });
    writeFileSync(join(index, 'data.mdb'), bytes);
    await expect(openDiskStore({ directory })).rejects.toMatchObject({ code: 'ASSAY_STORE_FAULT' });
  });

  test('whose index lost its second header is refused, and the process survives', async () => {
    const directory = folder();
    const store = await openDiskStore({ directory });
    await store.close();
    const path = join(directory, 'v5/index/data.mdb');
    const bytes = readFileSync(path);
    const pageSize = bytes.readUInt32LE(48);
    bytes.fill(0, pageSize, pageSize + 100);
    writeFileSync(path, bytes);
    await expect(openDiskStore({ directory })).rejects.toMatchObject({ code: 'ASSAY_STORE_FAULT' });
  });

  test.each(['data.mdb', 'lock.mdb'])(
    'where %s is a folder is refused, and the process survives',
    async (name) => {
      const directory = folder();
      mkdirSync(join(directory, 'v5/index', name), { recursive: true });
      await expect(openDiskStore({ directory })).rejects.toMatchObject({ code: 'ASSAY_STORE_FAULT' });
    },
  );

  test('where a process was killed before the first byte of the index becomes a new store', async () => {
    const directory = folder();
    mkdirSync(join(directory, 'v5/index'), { recursive: true });
    writeFileSync(join(directory, 'v5/index/data.mdb'), '');
    const bytes = contentOf('first', SMALL);
    const store = await open({ directory });
    await putAll(store, bytes);
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });
});

describe('files of dead processes', () => {
  const { folder, open } = useFolders();
  const bytes = contentOf('large', LARGE);

  async function withStrays(now: () => number): Promise<{ strays: string[]; events: StoreEvent[] }> {
    const directory = folder();
    const events: StoreEvent[] = [];
    const store = await openDiskStore({ directory, now, onEvent: (event) => events.push(event) });
    const { hash } = digestOf(bytes);
    const shard = join(directory, 'v5/files', hash.slice(0, 2));
    mkdirSync(shard, { recursive: true });
    const strays = [join(directory, 'v5/staging/left'), join(shard, `${hash}-${'0'.repeat(12)}`)];
    for (const path of strays) {
      writeFileSync(path, 'left');
      utimesSync(path, 1_000_000, 1_000_000);
    }
    await putAll(store, bytes);
    await store.close();
    return { strays: filesIn(directory, 'staging').concat(filesIn(directory, 'files')), events };
  }

  test('are removed from staging when they are old; a file with its final name is left to reconciliation', async () => {
    const { strays, events } = await withStrays(() => 1_000_000_000 + STORE.idleUploadMs);
    expect(strays).toHaveLength(2);
    expect(events).toEqual([{ type: 'swept', files: 1, bytes: 4096 }]);
  });

  test('stay while they could be an upload in progress', async () => {
    const { strays, events } = await withStrays(() => 1_000_000_000 + STORE.idleUploadMs - 1);
    expect(strays).toHaveLength(3);
    expect(events).toEqual([]);
  });

  test('never include a file with an entry', async () => {
    const directory = folder();
    const farAhead = () => Date.now() + 10 * STORE.abandonedUploadMs;
    await (await openDiskStore({ directory })).close();
    const store = await openDiskStore({ directory, now: farAhead });
    await putAll(store, bytes);
    await store.close();
    const after = await open({ directory });
    expect((await readFrom(after, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });
});

describe('an upload in parts', () => {
  const { folder, open } = useFolders();
  const bytes = contentOf('resumed', 2 * STORE.chunkBytes + 17);
  const digest = digestOf(bytes);
  const partFrom = (offset: number, to = bytes.length) => ({
    expected: digest,
    offset,
    content: streamOf(bytes.subarray(offset, to)),
    isLast: to === bytes.length,
  });

  test('continues after the store was closed and opened again', async () => {
    const directory = folder();
    const before = await openDiskStore({ directory });
    await before.uploads.append('id', partFrom(0, STORE.chunkBytes + 100));
    await before.close();
    const after = await open({ directory });
    expect((await after.uploads.status('id'))?.committed).toBe(STORE.chunkBytes + 100);
    await after.uploads.append('id', partFrom(STORE.chunkBytes + 100));
    expect((await readFrom(after, digest))?.equals(bytes)).toBe(true);
    expect(filesIn(directory, 'staging')).toEqual([]);
    expect(filesIn(directory, 'files')).toHaveLength(1);
  });

  test('that two processes continue is committed by the last one', async () => {
    const directory = folder();
    const [one, other] = [await open({ directory }), await open({ directory })];
    await one.uploads.append('id', partFrom(0, 1000));
    await other.uploads.append('id', partFrom(1000, 2000));
    await expect(one.uploads.append('id', partFrom(1000))).rejects.toMatchObject({
      code: 'ASSAY_BAD_OFFSET',
    });
    await one.uploads.append('id', partFrom(2000, 3000));
    await expect(other.uploads.append('id', partFrom(2000, 3000))).rejects.toThrow(/has 3000 bytes/);
    await other.uploads.append('id', partFrom(3000));
    expect((await readFrom(one, digest))?.equals(bytes)).toBe(true);
    expect(filesIn(directory, 'staging')).toEqual([]);
  });

  test('whose file is gone begins again', async () => {
    const directory = folder();
    const before = await openDiskStore({ directory });
    await before.uploads.append('id', partFrom(0, 1000));
    await before.close();
    for (const file of filesIn(directory, 'staging')) rmSync(file);
    const after = await open({ directory });
    await expect(after.uploads.append('id', partFrom(1000))).rejects.toThrow(/has 0 bytes/);
    await after.uploads.append('id', partFrom(0));
    expect((await readFrom(after, digest))?.equals(bytes)).toBe(true);
  });

  test('whose file has more than the committed bytes continues from these', async () => {
    const directory = folder();
    const before = await openDiskStore({ directory });
    await before.uploads.append('id', partFrom(0, 1000));
    await before.close();
    for (const file of filesIn(directory, 'staging')) appendFileSync(file, 'never synced');
    const after = await open({ directory });
    await after.uploads.append('id', partFrom(1000));
    expect((await readFrom(after, digest))?.equals(bytes)).toBe(true);
  });

  test('leaves nothing in staging if it is cancelled, wrong, or not kept ready', async () => {
    const directory = folder();
    const store = await open({ directory });
    for (let index = 0; index < STORE.readyUploads + 3; index++)
      await store.uploads.append(`${index}`, partFrom(0, 10));
    expect(filesIn(directory, 'staging')).toHaveLength(STORE.readyUploads + 3);
    await expect(store.uploads.append('0', { ...partFrom(10), content: Buffer.alloc(20) })).rejects.toThrow(
      /ASSAY_SIZE_MISMATCH/,
    );
    for (let index = 0; index < STORE.readyUploads + 3; index++) await store.uploads.cancel(`${index}`);
    expect(filesIn(directory, 'staging')).toEqual([]);
  });
});
