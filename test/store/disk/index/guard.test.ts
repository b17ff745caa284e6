// The check before an index is opened: every state that LMDB leaves is accepted, any other is refused with an
// error.
// A wrong answer ends the process with SIGBUS or SIGSEGV, which fails these tests too.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { LAYOUT_VERSION } from '../../../../store/disk/fs/layout.ts';
import { Index } from '../../../../store/disk/index/index.ts';
import { openDiskStore } from '../../../../store/open.ts';
import { contentOf, putAll, readFrom } from '../../content.ts';
import { useFolders } from '../../folders.ts';

const { folder, open } = useFolders();
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const TRANSACTION_AT = 152;
/** Enough for trees of two levels, values of a page and more, and a free list. */
const blobs = Array.from({ length: 120 }, (_, number) =>
  contentOf(`kept ${number}`, number % 20 === 0 ? 9000 : 300),
);
const gone = Array.from({ length: 3 }, (_, number) => contentOf(`gone ${number}`, 60_000));

function indexOf(directory: string): string {
  return join(directory, LAYOUT_VERSION, 'index/data.mdb');
}

function headersIn(index: Buffer): { newer: number; pageSize: number; pages: number } {
  const pageSize = index.readUInt32LE(PAGE_SIZE_AT);
  const transactionAt = (page: number) => index.readBigUInt64LE(page * pageSize + TRANSACTION_AT);
  const newer = transactionAt(0) > transactionAt(1) ? 0 : pageSize;
  return { newer, pageSize, pages: Number(index.readBigUInt64LE(newer + LAST_PAGE_AT)) + 1 };
}

/** A used store: its last pages belonged to blobs that are gone, so LMDB lists them as free. */
async function usedStore(): Promise<Buffer> {
  const directory = folder();
  const store = await openDiskStore({ directory });
  await putAll(store, ...blobs);
  await putAll(store, ...gone);
  await store.close();
  const index = Index.open(join(directory, LAYOUT_VERSION, 'index'));
  for (const { hash } of gone.map(digestOf))
    await index.remove(hash, index.find(hash)?.generation ?? Number.NaN);
  await index.close();
  return readFileSync(indexOf(directory));
}

async function storeWith(index: Buffer): Promise<string> {
  const directory = folder();
  await (await openDiskStore({ directory })).close();
  writeFileSync(indexOf(directory), index);
  return directory;
}

/** Whether it is opened. If it is, everything is present, and it can be written. */
async function isTaken(directory: string): Promise<boolean> {
  const opened = await openDiskStore({ directory }).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'ASSAY_STORE_FAULT' });
    return undefined;
  });
  if (!opened) return false;
  const another = contentOf('another', 50_000);
  await putAll(opened, another);
  for (const bytes of [...blobs, another])
    expect((await readFrom(opened, digestOf(bytes)))?.equals(bytes)).toBe(true);
  await opened.close();
  return true;
}

describe('an index', () => {
  let used: Buffer = Buffer.alloc(0);
  beforeAll(async () => {
    used = await usedStore();
  });

  test('whose last pages LMDB counted and never wrote is opened, and padded to its full length', async () => {
    const index = Buffer.from(used);
    const { newer, pageSize, pages } = headersIn(index);
    index.writeBigUInt64LE(BigInt(pages - 1 + 7), newer + LAST_PAGE_AT);
    const directory = await storeWith(index);
    await open({ directory });
    expect(statSync(indexOf(directory)).size).toBe(index.length + 7 * pageSize);
    expect(await isTaken(directory)).toBe(true);
  });

  test('that is cut anywhere is opened complete or refused', async () => {
    const { pageSize, pages } = headersIn(used);
    const directory = await storeWith(used);
    const answers: boolean[] = [];
    for (let kept = pages; kept >= 0; kept--) {
      writeFileSync(indexOf(directory), used.subarray(0, kept * pageSize));
      answers.push(kept === 0 || (await isTaken(directory)));
    }
    const firstRefused = answers.indexOf(false);
    // A free page may be missing, any other may not.
    expect(firstRefused).toBeGreaterThan(1);
    expect(answers.slice(firstRefused, -1)).not.toContain(true);
  });

  test('that is cut inside a page of a tree is refused', async () => {
    const { pageSize, pages } = headersIn(used);
    const directory = await storeWith(used);
    let whole = pages;
    for (; whole > 2; whole--) {
      writeFileSync(indexOf(directory), used.subarray(0, whole * pageSize));
      if (!(await isTaken(directory))) break;
    }
    writeFileSync(indexOf(directory), used.subarray(0, (whole + 1) * pageSize - 1));
    expect(await isTaken(directory)).toBe(false);
  });

  test('that is longer than its header says is opened', async () => {
    expect(await isTaken(await storeWith(Buffer.concat([used, contentOf('torn commit', 10_000)])))).toBe(
      true,
    );
  });

  test.each<[string, (header: Buffer) => void]>([
    ['a page size of nothing', (header) => header.writeUInt32LE(0, PAGE_SIZE_AT)],
    ['a page size that is none', (header) => header.writeUInt32LE(4097, PAGE_SIZE_AT)],
    ['far more pages than there are', (header) => header.writeUInt8(1, LAST_PAGE_AT + 5)],
  ])('whose header has %s is refused', async (_, harm) => {
    const index = Buffer.from(used);
    const { newer, pageSize } = headersIn(index);
    harm(index.subarray(newer, newer + pageSize));
    const directory = await storeWith(index);
    await expect(openDiskStore({ directory })).rejects.toMatchObject({ code: 'ASSAY_STORE_FAULT' });
  });

  test.each<[string, Buffer]>([
    ['is empty', Buffer.alloc(0)],
    ['is noise', contentOf('noise', 100_000)],
    ['is zeros', Buffer.alloc(100_000)],
  ])(
    'whose lock file %s is opened: the lock file has no meaning while no process has it open',
    async (_, lock) => {
      const directory = await storeWith(used);
      writeFileSync(join(directory, LAYOUT_VERSION, 'index/lock.mdb'), lock);
      expect(await isTaken(directory)).toBe(true);
    },
  );
});
