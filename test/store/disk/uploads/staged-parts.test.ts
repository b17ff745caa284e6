// Uploads that are interrupted, refused or abandoned, in stores that are full, in use and shared.
import { readdirSync, readlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { LAYOUT_VERSION } from '../../../../store/disk/fs/layout.ts';
import { Tables } from '../../../../store/disk/index/tables.ts';
import { STORE } from '../../../../store/limits.ts';
import type { DiskStore, DiskStoreOptions } from '../../../../store/open.ts';
import type { UploadPart } from '../../../../store/store.ts';
import { contentOf, failingAfter, putOne, readFrom, streamOf } from '../../content.ts';
import { filesIn, useFolders } from '../../folders.ts';

const MIB = 1024 * 1024;
const LIMIT = 12 * MIB;
const BROKEN = new Error('the connection broke');
const { folder, open } = useFolders();

const full = (directory: string, options: Partial<DiskStoreOptions> = {}): Promise<DiskStore> =>
  open({ directory, maxSize: { bytes: LIMIT }, ...options });

function part(bytes: Buffer, from = 0, to = bytes.length): UploadPart {
  return {
    expected: digestOf(bytes),
    offset: from,
    content: streamOf(bytes.subarray(from, to)),
    isLast: false,
  };
}

async function breakOff(store: DiskStore, id: string, bytes: Buffer, after: number): Promise<void> {
  const broken = { ...part(bytes), content: failingAfter(bytes, after, BROKEN) };
  await expect(store.uploads.append(id, broken)).rejects.toBe(BROKEN);
}

/** Makes staged files that old, as those of a process that stopped writing. */
function age(directory: string, ms: number, names = filesIn(directory, 'staging')): void {
  const then = new Date(Date.now() - ms);
  for (const path of names) utimesSync(path, then, then);
}

describe('in a full store', () => {
  test('concurrent uploads are accepted while there is space, and refused ones leave nothing behind', async () => {
    const directory = folder();
    const store = await full(directory);
    const contents = Array.from({ length: 8 }, (_, index) => contentOf(`at once ${index}`, 5 * MIB));
    const outcomes = await Promise.allSettled(
      contents.map(async (bytes, index) => {
        await store.uploads.append(`${index}`, { ...part(bytes), isLast: () => true });
      }),
    );
    const taken = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(taken).toHaveLength(2);
    for (const { reason } of outcomes.filter((outcome) => outcome.status === 'rejected'))
      expect(reason).toMatchObject({ code: 'ASSAY_STORE_FULL' });
    expect(filesIn(directory, 'staging')).toEqual([]);
    await putOne(store, contentOf('afterwards', MIB));
  });

  test('a later part that is refused ends its upload', async () => {
    const directory = folder();
    const store = await full(directory);
    const bytes = contentOf('in parts', 9 * MIB);
    const { hash } = digestOf(bytes);
    const unsized = (from: number, to: number) => ({ ...part(bytes, from, to), expected: { hash } });
    await store.uploads.append('id', unsized(0, 4 * MIB));
    await putOne(store, contentOf('leased', 5 * MIB));
    await expect(store.uploads.append('id', unsized(4 * MIB, 9 * MIB))).rejects.toMatchObject({
      code: 'ASSAY_STORE_FULL',
    });
    expect(await store.uploads.status('id')).toBeUndefined();
    expect(filesIn(directory, 'staging')).toEqual([]);
    await putOne(store, contentOf('afterwards', 4 * MIB));
  });

  test('interrupted parts are evicted, oldest first, and only as many as needed', async () => {
    const directory = folder();
    const store = await full(directory);
    const seen = new Set<string>();
    for (const [id, seconds] of [
      ['older', 20],
      ['newer', 10],
      ['oldest', 30],
    ] as const) {
      await breakOff(store, id, contentOf(id, 4 * MIB), 3 * MIB);
      age(
        directory,
        1000 * seconds,
        filesIn(directory, 'staging').filter((path) => !seen.has(path)),
      );
      for (const path of filesIn(directory, 'staging')) seen.add(path);
    }
    const bytes = contentOf('wants room', 4 * MIB);
    await putOne(store, bytes);
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    expect(await store.uploads.status('oldest')).toBeUndefined();
    expect(await store.uploads.status('older')).toEqual({ committed: 3 * MIB, isFinished: false });
    expect(await store.uploads.status('newer')).toEqual({ committed: 3 * MIB, isFinished: false });
    const newer = contentOf('newer', 4 * MIB);
    await store.uploads.append('newer', { ...part(newer, 3 * MIB), isLast: true });
    expect((await readFrom(store, digestOf(newer)))?.equals(newer)).toBe(true);
  });

  test('an evicted upload begins again', async () => {
    const store = await full(folder());
    const bytes = contentOf('gave way', 6 * MIB);
    await breakOff(store, 'id', bytes, 5 * MIB);
    await putOne(store, contentOf('large', 8 * MIB));
    await expect(store.uploads.append('id', part(bytes, 5 * MIB))).rejects.toMatchObject({
      code: 'ASSAY_BAD_OFFSET',
    });
  });

  test('an upload that is being sent is never evicted, however slow it is', async () => {
    const directory = folder();
    const [server, other] = [await full(directory), await full(directory)];
    const bytes = contentOf('live', 6 * MIB);
    const goesOn = Promise.withResolvers<void>();
    const hangs = Promise.withResolvers<void>();
    async function* slow(): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, 5 * MIB);
      hangs.resolve();
      await goesOn.promise;
      yield bytes.subarray(5 * MIB);
    }
    const live = server.uploads.append('live', { ...part(bytes), content: slow() });
    await hangs.promise;
    age(directory, 10 * STORE.abandonedUploadMs);
    for (const store of [server, other]) {
      await store.sweep();
      expect(await store.space.evict(0)).toMatchObject({ uploads: 0 });
    }
    goesOn.resolve();
    await live;
    await server.uploads.append('live', { ...part(bytes, bytes.length), isLast: true });
    expect((await readFrom(other, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });

  test('content of unknown size is refused as soon as it exceeds the limit', async () => {
    const directory = folder();
    const store = await full(directory);
    let sent = 0;
    async function* endless(): AsyncGenerator<Buffer> {
      for (; sent < 10 * LIMIT; sent += MIB) {
        yield contentOf(`piece ${sent}`, MIB);
        // The usage is measured again by then.
        await new Promise((resolve) => setTimeout(resolve, STORE.usageMs / 20));
      }
    }
    await expect(store.blobs.put({}, endless())).rejects.toMatchObject({ code: 'ASSAY_STORE_FULL' });
    expect(sent).toBeLessThanOrEqual(LIMIT);
    expect(filesIn(directory, 'staging')).toEqual([]);
  });
});

describe('files left in staging', () => {
  /** As killed processes leave them: a blob that arrived as a whole, and an upload without a record. */
  function leave(directory: string, idleMs: number): void {
    const paths = ['5e0c7a4e-dead', 'upload-00000000dead'].map((name) =>
      join(directory, `${LAYOUT_VERSION}/staging`, name),
    );
    for (const path of paths) writeFileSync(path, contentOf(path, 100_000));
    age(directory, idleMs, paths);
  }

  test('leftovers are swept when no process writes them, and not before', async () => {
    const directory = folder();
    const store = await open({ directory });
    leave(directory, STORE.idleUploadMs - 60_000);
    expect(await store.sweep()).toEqual({ files: 0, bytes: 0 });
    leave(directory, STORE.idleUploadMs);
    expect(await store.sweep()).toMatchObject({ files: 2 });
    expect(filesIn(directory, 'staging')).toEqual([]);
  });

  test('leftovers are swept even if a clock was set back by years', async () => {
    const directory = folder();
    const store = await open({ directory });
    leave(directory, -3 * 365 * 24 * 3_600_000);
    expect(await store.sweep()).toMatchObject({ files: 2 });
  });

  test('an upload that gets no part is removed after a day', async () => {
    const directory = folder();
    const store = await open({ directory });
    await breakOff(store, 'id', contentOf('abandoned', 3 * MIB), 2 * MIB);
    age(directory, STORE.abandonedUploadMs - 60_000);
    await store.sweep();
    expect(await store.uploads.status('id')).toMatchObject({ committed: 2 * MIB });
    age(directory, STORE.abandonedUploadMs);
    await store.sweep();
    expect(await store.uploads.status('id')).toBeUndefined();
    expect(filesIn(directory, 'staging')).toEqual([]);
  });

  test('uploads that wait for their next part keep no descriptor open', async () => {
    const directory = folder();
    const store = await open({ directory });
    for (let index = 0; index < 10; index++)
      await breakOff(store, `${index}`, contentOf(`waits ${index}`, 2 * MIB), MIB + 5);
    expect(openIn(join(directory, `${LAYOUT_VERSION}/staging`))).toEqual([]);
    const bytes = contentOf('waits 3', 2 * MIB);
    await store.uploads.append('3', { ...part(bytes, MIB + 5), isLast: true });
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });

  test('a large upload with direct writes is suspended and continues', async () => {
    const directory = folder();
    const store = await open({ directory });
    const bytes = contentOf('direct', STORE.directBytes + 777);
    await breakOff(store, 'id', bytes, 17 * MIB + 5);
    expect(openIn(join(directory, `${LAYOUT_VERSION}/staging`))).toEqual([]);
    await store.uploads.append('id', { ...part(bytes, 17 * MIB + 5), isLast: true });
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });
});

/** The files below a folder that this process has open. */
function openIn(directory: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${number}`);
      return path.startsWith(directory) ? [path] : [];
    } catch {
      return [];
    }
  });
}

describe('of many uploads', () => {
  const bytes = contentOf('one of many', 2 * MIB);
  const whole = { ...part(bytes), isLast: true };
  const IS_FINISHED = 4;

  /** Fills the table; `index` is the generation. */
  async function fillTable(directory: string, flags: number, holder?: number): Promise<void> {
    await (await open({ directory })).close();
    const tables = new Tables(join(directory, `${LAYOUT_VERSION}/index`), 0);
    const table = tables.table('uploads');
    const record = Buffer.alloc(holder === undefined ? 45 : 47);
    record[0] = flags;
    if (holder !== undefined) record.writeUInt16LE(holder, 45);
    await Promise.all(
      Array.from({ length: STORE.maxUploads }, (_, index) =>
        tables.commit(() =>
          table.put(Buffer.from(digestOf(Buffer.from(`${index}`)).hash, 'hex'), record, index),
        ),
      ),
    );
    await tables.close();
  }

  test('finished ones do not count, even if Assay 0.1 kept their records', async () => {
    const directory = folder();
    await fillTable(directory, IS_FINISHED);
    const store = await open({ directory });
    await store.uploads.append('one more', { ...whole, content: streamOf(bytes) });
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    await store.close();
    const tables = new Tables(join(directory, `${LAYOUT_VERSION}/index`), 0);
    expect(tables.table('uploads').getCount()).toBe(0);
    await tables.close();
  });

  test('of one holder end none of another', async () => {
    const directory = folder();
    const accounts = [{ name: 'acme/pr', namespaces: ['acme/pr'], quota: { share: 0.25 } }];
    const first = await open({ directory, accounts });
    const holder = first.holdings.numberOf('acme/pr');
    await first.close();
    await fillTable(directory, 0, holder);
    const paths = Array.from({ length: STORE.maxUploads }, (_, index) =>
      join(directory, `${LAYOUT_VERSION}/staging`, `upload-${index.toString(16).padStart(12, '0')}`),
    );
    for (const path of paths) writeFileSync(path, '');
    const store = await open({ directory, accounts });
    age(directory, 2 * STORE.idleUploadMs, paths.slice(0, 200));
    const main = store.tenant('acme/main').uploads;
    await main.append('of main', part(bytes, 0, MIB));
    age(
      directory,
      3 * STORE.idleUploadMs,
      filesIn(directory, 'staging').filter((path) => !paths.includes(path)),
    );
    const pulls = store.tenant('acme/pr/7').uploads;
    for (let index = 0; index < 2 * STORE.evictEntries; index++)
      await pulls.append(`flood ${index}`, part(contentOf(`flood ${index}`, 100), 0, 50));
    expect(await main.status('of main')).toEqual({ committed: MIB, isFinished: false });
  });

  test('the oldest idle ones make way for a new one', async () => {
    const directory = folder();
    await fillTable(directory, 0);
    const paths = Array.from({ length: STORE.maxUploads }, (_, index) =>
      join(directory, `${LAYOUT_VERSION}/staging`, `upload-${index.toString(16).padStart(12, '0')}`),
    );
    for (const path of paths) writeFileSync(path, '');
    const store = await open({ directory });
    await expect(store.uploads.append('too many', part(bytes))).rejects.toMatchObject({
      code: 'ASSAY_TOO_MANY_UPLOADS',
    });
    age(directory, 2 * STORE.idleUploadMs, paths.slice(1000, 1001));
    await store.uploads.append('one more', { ...whole, content: streamOf(bytes) });
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    expect(filesIn(directory, 'staging')).toHaveLength(STORE.maxUploads - 1);
  });
});
