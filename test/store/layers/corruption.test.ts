import {
  appendFileSync,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { type BlobEntry, Index } from '../../../store/disk/index/index.ts';
import { encodePresence } from '../../../store/disk/index/records.ts';
import type { StoreEvent } from '../../../store/events.ts';
import { STORE } from '../../../store/limits.ts';
import { openDiskStore } from '../../../store/open.ts';
import { loadChecksum } from '../../../store/shared/checksum.ts';
import type { Store } from '../../../store/store.ts';
import { Random } from '../../rig/random.ts';
import { addressOf, contentOf, putAll, readBlob, readFrom, resultNaming } from '../content.ts';
import { filesIn, useFolders } from '../folders.ts';

const SMALL = 5000;
const LARGE = 3 * STORE.chunkBytes + 17;
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261);
const { folder, open } = useFolders();

/**
 * Flips one bit of a small blob or a result in every copy in the index: LMDB leaves old copies of pages
 * behind.
 */
function flipInIndex(directory: string, bytes: Buffer, at: number, mask = 1): void {
  const path = join(directory, 'v5/index/data.mdb');
  const index = readFileSync(path);
  const copies: number[] = [];
  for (let found = index.indexOf(bytes); found >= 0; found = index.indexOf(bytes, found + 1))
    copies.push(found);
  if (copies.length === 0) throw new Error('the index does not hold these bytes');
  for (const copy of copies) flipBit(path, copy + at, mask);
}

function flipInFile(directory: string, bytes: Buffer, at: number): void {
  flipBit(fileOf(directory, digestOf(bytes)), at, 0x10);
}

/** In place, as a disk does it: a process that has the file open or mapped sees it. */
function flipBit(path: string, position: number, mask: number): void {
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, position);
  byte.writeUInt8(byte.readUInt8() ^ mask);
  writeSync(file, byte, 0, 1, position);
  closeSync(file);
}

function fileOf(directory: string, { hash }: Digest): string {
  const path = filesIn(directory, 'files').find((file) => file.includes(hash));
  if (path === undefined) throw new Error(`there is no file for ${hash}`);
  return path;
}

/** Puts, closes the store, lets the caller damage it, and opens it again. */
async function withHarm(
  contents: readonly Buffer[],
  harm: (directory: string) => void,
  now: () => number = Date.now,
): Promise<{ store: Store; directory: string; events: StoreEvent[] }> {
  const directory = folder();
  const before = await openDiskStore({ directory });
  await putAll(before, ...contents);
  await before.close();
  harm(directory);
  const events: StoreEvent[] = [];
  const store = await open({ directory, now, onEvent: (event) => events.push(event) });
  return { store, directory, events };
}

async function twoAtOnce(
  store: Store,
  { hash }: Digest,
  offset: number,
  pieces: Buffer[] = [],
): Promise<Buffer[]> {
  const blob = await store.blobs.get(hash);
  if (!blob || blob.bytes) throw new Error('a large blob was asked for');
  for await (const piece of blob.chunks(offset, undefined, () => 2)) pieces.push(Buffer.from(piece));
  return pieces;
}

/** All bytes that a client receives before the answer ends or fails. */
async function seenOf(store: Store, { hash }: Digest): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const blob = await store.blobs.get(hash);
  const seen: Buffer[] = [];
  if (blob?.bytes) return { bytes: blob.bytes, isWhole: true };
  if (!blob) return { bytes: Buffer.alloc(0), isWhole: false };
  try {
    for await (const chunk of blob.chunks()) seen.push(Buffer.from(chunk));
    return { bytes: Buffer.concat(seen), isWhole: true };
  } catch (error) {
    expect(error).toMatchObject({ code: 'ASSAY_BLOB_CORRUPT' });
    return { bytes: Buffer.concat(seen), isWhole: false };
  }
}

test(`a flipped bit in each of 100 blobs: none served whole, all quarantined, all stored again (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const blobs = Array.from({ length: 100 }, (_, index) => {
    const size =
      index < 60 ? 16 + random.below(STORE.inlineBytes - 16) : STORE.inlineBytes + 1 + random.below(LARGE);
    return contentOf(`blob ${index}`, size);
  });
  const digests = blobs.map(digestOf);
  const { store, directory, events } = await withHarm(blobs, (harmed) => {
    for (const bytes of blobs) {
      const flip = bytes.length <= STORE.inlineBytes ? flipInIndex : flipInFile;
      flip(harmed, bytes, random.below(bytes.length));
    }
  });

  for (const [index, digest] of digests.entries()) {
    const { bytes, isWhole } = await seenOf(store, digest);
    expect(isWhole).toBe(false);
    expect(bytes.equals(blobs[index]?.subarray(0, bytes.length) ?? bytes)).toBe(true);
  }
  expect(events.map(({ type }) => type)).toEqual(digests.map(() => 'quarantined'));
  expect(new Set(events.map((event) => 'hash' in event && event.hash))).toEqual(
    new Set(digests.map(({ hash }) => hash)),
  );
  expect(await store.blobs.missing(digests)).toEqual(digests);
  expect(filesIn(directory, 'files')).toEqual([]);
  expect(filesIn(directory, 'quarantine')).toHaveLength(STORE.quarantineFiles);

  await putAll(store, ...blobs);
  expect(await store.blobs.missing(digests)).toEqual([]);
  for (const [index, digest] of digests.entries()) {
    expect((await readFrom(store, digest))?.equals(blobs[index] ?? Buffer.alloc(0))).toBe(true);
  }
});

describe('a large blob whose file', () => {
  const bytes = contentOf('large', LARGE);
  const digest = digestOf(bytes);

  test.each<[string, (path: string) => void, RegExp]>([
    ['is gone', (path) => rmSync(path), /its file is missing/],
    ['is too short', (path) => truncateSync(path, LARGE - 1), /has \d+ bytes instead of \d+/],
    ['is empty', (path) => truncateSync(path, 0), /has 0 bytes/],
    ['is too long', (path) => appendFileSync(path, 'x'), /has \d+ bytes instead of \d+/],
  ])('%s is a miss, and the next put stores it again', async (_, harm, detail) => {
    const { store, events } = await withHarm([bytes], (directory) => harm(fileOf(directory, digest)));
    expect(await store.blobs.get(digest.hash)).toBeUndefined();
    expect(await store.blobs.missing([digest])).toEqual([digest]);
    expect(events).toEqual([
      { type: 'quarantined', hash: digest.hash, detail: expect.stringMatching(detail) },
    ]);
    await putAll(store, bytes);
    expect((await readFrom(store, digest))?.equals(bytes)).toBe(true);
  });

  test.each<[string, (path: string) => void]>([
    ['goes', (path) => rmSync(path)],
    ['shrinks', (path) => truncateSync(path, 10)],
  ])('%s between the lookup and the first byte fails before that byte', async (_, harm) => {
    const { store, directory } = await withHarm([bytes], () => {});
    const blob = await store.blobs.get(digest.hash);
    harm(fileOf(directory, digest));
    await expect(readBlob(blob)).rejects.toMatchObject({ code: 'ASSAY_BLOB_CORRUPT' });
    expect(await store.blobs.missing([digest])).toEqual([digest]);
  });

  test('is wrong in one chunk still serves the other chunks', async () => {
    const { store } = await withHarm([bytes], (directory) =>
      flipInFile(directory, bytes, STORE.chunkBytes + 5),
    );
    const blob = await store.blobs.get(digest.hash);
    const first = await readBlob(blob, 10, STORE.chunkBytes - 10);
    expect(first?.equals(bytes.subarray(10, STORE.chunkBytes))).toBe(true);
    await expect(readBlob(blob, STORE.chunkBytes, 1)).rejects.toMatchObject({ code: 'ASSAY_BLOB_CORRUPT' });
  });

  test('is replaced while it is read is read to its end', async () => {
    const { store, directory } = await withHarm([bytes], () => {});
    const reading = (await store.blobs.get(digest.hash)) ?? { bytes: Buffer.alloc(0) };
    if (reading.bytes) throw new Error('a large blob comes in chunks');
    const chunks = reading.chunks();
    const seen: Buffer[] = [];
    for await (const chunk of chunks) {
      seen.push(Buffer.from(chunk));
      if (seen.length > 1) continue;
      rmSync(fileOf(directory, digest));
      expect(await store.blobs.get(digest.hash)).toBeUndefined();
      await putAll(store, bytes);
    }
    expect(Buffer.concat(seen).equals(bytes)).toBe(true);
  });
});

describe('a blob that was read and found intact', () => {
  test.each([SMALL, LARGE])('is checked again at every read (%i bytes)', async (size) => {
    const bytes = contentOf('read before', size);
    const digest = digestOf(bytes);
    const { store, directory, events } = await withHarm([bytes], () => {});
    for (let times = 0; times < 3; times++) expect((await seenOf(store, digest)).isWhole).toBe(true);
    const flip = size === LARGE ? flipInFile : flipInIndex;
    flip(directory, bytes, 5);
    expect(await seenOf(store, digest)).toEqual({ bytes: Buffer.alloc(0), isWhole: false });
    expect(events.map(({ type }) => type)).toEqual(['quarantined']);
  });

  test('is checked by its checksum, or by its SHA-256 if the checksum is damaged', async () => {
    const bytes = contentOf('checksum', SMALL);
    const digest = digestOf(bytes);
    await loadChecksum();
    const { store, directory, events } = await withHarm([bytes], () => {});
    const index = Index.open(join(directory, 'v5/index'));
    const { checksum } = index.find(digest.hash) ?? {};
    expect(checksum).toBe((await loadChecksum())(bytes));
    flipInIndex(directory, entryOf(index.find(digest.hash), digest), 32 + 8 + 23);
    await index.close();
    expect((await seenOf(store, digest)).bytes.equals(bytes)).toBe(true);
    expect(events).toEqual([]);
  });

  test('is checked again after it was lost and put again', async () => {
    const bytes = contentOf('anew', SMALL);
    const digest = digestOf(bytes);
    const { store, directory } = await withHarm([bytes], () => {});
    expect((await seenOf(store, digest)).isWhole).toBe(true);
    const index = Index.open(join(directory, 'v5/index'));
    await index.remove(digest.hash, index.find(digest.hash)?.generation ?? Number.NaN);
    await index.close();
    await putAll(store, bytes);
    flipInIndex(directory, bytes, 5);
    expect((await seenOf(store, digest)).isWhole).toBe(false);
  });

  test('comes several chunks at once, each of them checked', async () => {
    const bytes = contentOf('at once', LARGE);
    const { store, directory } = await withHarm([bytes], () => {});
    const piecesFrom = async (offset: number) => {
      const pieces = await twoAtOnce(store, digestOf(bytes), offset);
      expect(Buffer.concat(pieces).equals(bytes.subarray(offset))).toBe(true);
      return pieces.map(({ length }) => length);
    };
    const chunk = STORE.chunkBytes;
    expect(await piecesFrom(2 * chunk + 1)).toEqual([chunk + 16]);
    expect(await piecesFrom(chunk + 5)).toEqual([2 * chunk - 5, 17]);
    expect(await piecesFrom(0)).toEqual([2 * chunk, chunk + 17]);
    flipInFile(directory, bytes, chunk);
    const pieces: Buffer[] = [];
    await expect(twoAtOnce(store, digestOf(bytes), 0, pieces)).rejects.toMatchObject({
      code: 'ASSAY_BLOB_CORRUPT',
    });
    expect(pieces).toEqual([]);
  });
});

test.each([SMALL, STORE.inlineBytes + 1])(
  'a get and a put repair any flipped bit in the entry of a blob of %i bytes',
  async (size) => {
    const bytes = contentOf('entry', size);
    const digest = digestOf(bytes);
    const directory = folder();
    const store = await open({ directory });
    await loadChecksum();
    await putAll(store, bytes);
    const index = Index.open(join(directory, 'v5/index'));
    const entryBytes = entryOf(index.find(digest.hash), digest).length - 32;
    for (let bit = 0; bit < entryBytes * 8; bit++) {
      index.refresh();
      flipInIndex(
        directory,
        entryOf(index.find(digest.hash), digest),
        32 + Math.floor(bit / 8),
        1 << (bit % 8),
      );
      const { bytes: seen, isWhole } = await seenOf(store, digest);
      if (isWhole) expect(seen.equals(bytes)).toBe(true);
      expect((await store.blobs.missing([digest])).length).toBe(isWhole ? 0 : 1);
      await putAll(store, bytes);
      expect((await readFrom(store, digest))?.equals(bytes)).toBe(true);
    }
    await index.close();
  },
);

test('a put alone repairs a flipped bit in the size of a blob', async () => {
  const bytes = contentOf('entry', SMALL);
  const digest = digestOf(bytes);
  const directory = folder();
  const store = await open({ directory });
  await putAll(store, bytes);
  const index = Index.open(join(directory, 'v5/index'));
  flipInIndex(directory, entryOf(index.find(digest.hash), digest), 32 + 8 + 2);
  await index.close();
  expect(await store.blobs.missing([digest])).toEqual([digest]);
  await putAll(store, bytes);
  expect(await store.blobs.missing([digest])).toEqual([]);
  expect((await readFrom(store, digest))?.equals(bytes)).toBe(true);
});

test.each([SMALL, STORE.inlineBytes + 1])(
  'a put of a tenant repairs any flipped bit in the entry of its blob of %i bytes',
  async (size) => {
    const bytes = contentOf('entry of tenants', size);
    const digest = digestOf(bytes);
    const directory = folder();
    const store = await open({ directory });
    const [acme, other] = [store.tenant('acme'), store.tenant('other')];
    await loadChecksum();
    for (const view of [acme, other, store.tenant('third')]) await putAll(view, bytes);
    const index = Index.open(join(directory, 'v5/index'));
    const entryBytes = entryOf(index.find(digest.hash), digest).length - 32;
    for (let bit = 0; bit < entryBytes * 8; bit++) {
      index.refresh();
      const entry = entryOf(index.find(digest.hash), digest);
      flipInIndex(directory, entry, 32 + Math.floor(bit / 8), 1 << (bit % 8));
      const { bytes: seen, isWhole } = await seenOf(acme, digest);
      if (isWhole) expect(seen.equals(bytes)).toBe(true);
      expect((await acme.blobs.missing([digest])).length).toBe(isWhole ? 0 : 1);
      for (const view of [acme, other]) {
        await putAll(view, bytes);
        expect(await view.blobs.missing([digest])).toEqual([]);
        expect((await readFrom(view, digest))?.equals(bytes)).toBe(true);
      }
    }
    await index.close();
  },
);

/** As the index has it: the hash, the version as LMDB's binding writes it, and the record. */
function entryOf(entry: BlobEntry | undefined, { hash }: Digest): Buffer {
  if (!entry) throw new Error('there is no entry');
  const version = Buffer.alloc(8);
  version.writeDoubleLE(entry.version);
  return Buffer.concat([Buffer.from(hash, 'hex'), version, encodePresence(entry)]);
}

describe('a result whose record is damaged', () => {
  test('is a miss, and a put stores it again', async () => {
    const bytes = contentOf('output', SMALL);
    const result = resultNaming(digestOf(bytes));
    const directory = folder();
    const before = await openDiskStore({ directory });
    await putAll(before, bytes);
    await before.results.put(addressOf('key'), result);
    await before.close();
    flipInIndex(directory, result, 20);
    const events: StoreEvent[] = [];
    const store = await open({ directory, onEvent: (event) => events.push(event) });
    expect(await store.results.get(addressOf('key'))).toBeUndefined();
    expect(events).toEqual([
      { type: 'result-dropped', address: addressOf('key'), detail: 'its record fails its checksum' },
    ]);
    expect(await store.results.put(addressOf('key'), result)).toBe('stored');
    expect((await store.results.get(addressOf('key')))?.bytes.equals(result)).toBe(true);
  });

  test('is a miss for a store that has read it before', async () => {
    const bytes = contentOf('output', SMALL);
    const result = resultNaming(digestOf(bytes));
    const directory = folder();
    const store = await open({ directory });
    await putAll(store, bytes);
    await store.results.put(addressOf('key'), result);
    for (let time = 0; time < 2; time++) {
      expect((await store.results.get(addressOf('key')))?.bytes.equals(result)).toBe(true);
    }
    flipInIndex(directory, result, 20);
    expect(await store.results.get(addressOf('key'))).toBeUndefined();
  });

  test('is replaced by a put before anybody has read it', async () => {
    const bytes = contentOf('output', SMALL);
    const result = resultNaming(digestOf(bytes));
    const directory = folder();
    const before = await openDiskStore({ directory });
    await putAll(before, bytes);
    await before.results.put(addressOf('key'), result);
    await before.close();
    flipInIndex(directory, result, 20);
    const store = await open({ directory });
    expect(await store.results.put(addressOf('key'), result)).toBe('stored');
  });
});

test('a result is a miss as soon as one of its outputs was found corrupt', async () => {
  const bytes = contentOf('output', LARGE);
  const directory = folder();
  const store = await open({ directory });
  await putAll(store, bytes);
  await store.results.put(addressOf('key'), resultNaming(digestOf(bytes)));
  flipInFile(directory, bytes, 100);
  await expect(readFrom(store, digestOf(bytes))).rejects.toMatchObject({ code: 'ASSAY_BLOB_CORRUPT' });
  expect(await store.results.get(addressOf('key'))).toBeUndefined();
});
