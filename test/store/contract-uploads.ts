// The contract of uploads in parts. Every engine passes it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, EMPTY } from '../../core/digest.ts';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import type { Store, UploadPart, Uploads } from '../../store/store.ts';
import { contentOf, failingAfter, readFrom, streamOf } from './content.ts';
import type { Backend, Opened } from './contract.ts';

const SIZES = { small: 1000, inline: STORE.inlineBytes, large: 2 * STORE.chunkBytes + 17 };

export function describeUploads(backend: Backend): void {
  describe(`uploads in parts to ${backend.name}`, () => {
    let opened: Opened;
    let store: Store;
    let uploads: Uploads;

    beforeEach(async () => {
      opened = await backend.open(() => {});
      store = opened.store;
      uploads = store.uploads;
    });

    afterEach(() => opened.dispose());

    const part = (bytes: Buffer, from: number, to: number): UploadPart => ({
      expected: digestOf(bytes),
      offset: from,
      content: streamOf(bytes.subarray(from, to)),
      isLast: to === bytes.length,
    });

    test('an upload that never began has no status', async () => {
      expect(await uploads.status('never')).toBeUndefined();
      await uploads.cancel('never');
    });

    test.each(Object.entries(SIZES))('become a blob with the last part, %s', async (_, size) => {
      const bytes = contentOf('parts', size);
      const digest = digestOf(bytes);
      const middle = Math.floor(size / 3);
      expect(await uploads.append('id', part(bytes, 0, middle))).toEqual({
        committed: middle,
        isFinished: false,
      });
      expect(await uploads.status('id')).toEqual({ committed: middle, isFinished: false });
      expect(await store.blobs.missing([digest])).toEqual([digest]);
      const finished = { committed: size, isFinished: true, digest };
      expect(await uploads.append('id', part(bytes, middle, size))).toEqual(finished);
      expect(await uploads.status('id')).toBeUndefined();
      expect((await readFrom(store, digest))?.equals(bytes)).toBe(true);
      expect(await store.blobs.missing([digest])).toEqual([]);
    });

    test('may consist of one part, as bytes', async () => {
      const bytes = contentOf('one', SIZES.large);
      await uploads.append('id', { expected: digestOf(bytes), offset: 0, content: bytes, isLast: true });
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('may end with an empty part', async () => {
      const bytes = contentOf('nothing more', SIZES.large);
      await uploads.append('id', { ...part(bytes, 0, bytes.length), isLast: false });
      await uploads.append('id', part(bytes, bytes.length, bytes.length));
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('may be empty', async () => {
      const status = await uploads.append('id', part(Buffer.alloc(0), 0, 0));
      expect(status).toEqual({ committed: 0, isFinished: true, digest: EMPTY });
    });

    test('work without an announced digest', async () => {
      const bytes = contentOf('unknown', SIZES.large);
      await uploads.append('id', { ...part(bytes, 0, 1000), expected: {} });
      const status = await uploads.append('id', { ...part(bytes, 1000, bytes.length), expected: {} });
      expect(status.digest).toEqual(digestOf(bytes));
    });

    test('may be sent a second time', async () => {
      const bytes = contentOf('again', SIZES.small);
      const first = await uploads.append('id', part(bytes, 0, bytes.length));
      expect(await uploads.append('id', part(bytes, 0, bytes.length))).toEqual(first);
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('keep the bytes before a broken connection, and continue from there', async () => {
      const bytes = contentOf('broken', SIZES.large);
      const breaksAt = STORE.chunkBytes + 5000;
      const broken = new Error('the connection broke');
      await expect(
        uploads.append('id', {
          ...part(bytes, 0, bytes.length),
          content: failingAfter(bytes, breaksAt, broken),
        }),
      ).rejects.toBe(broken);
      expect(await uploads.status('id')).toEqual({ committed: breaksAt, isFinished: false });
      await uploads.append('id', part(bytes, breaksAt, bytes.length));
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test.each([
      ['below', 999],
      ['beyond', 1001],
    ])('refuse a part that begins %s the committed bytes, and stay unchanged', async (_, offset) => {
      const bytes = contentOf('offsets', SIZES.large);
      await uploads.append('id', part(bytes, 0, 1000));
      await expect(uploads.append('id', part(bytes, offset, bytes.length))).rejects.toMatchObject({
        code: 'ASSAY_BAD_OFFSET',
      });
      expect(await uploads.status('id')).toEqual({ committed: 1000, isFinished: false });
      await uploads.append('id', part(bytes, 1000, bytes.length));
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('do not begin in the middle', async () => {
      const bytes = contentOf('middle', SIZES.small);
      await expect(uploads.append('id', part(bytes, 1, 10))).rejects.toMatchObject({
        code: 'ASSAY_BAD_OFFSET',
      });
      expect(await uploads.status('id')).toBeUndefined();
    });

    test.each(Object.entries(SIZES))('with wrong content are refused and dropped, %s', async (_, size) => {
      const [right, wrong] = [contentOf('right', size), contentOf('wrong', size)];
      await uploads.append('id', part(right, 0, 10));
      await expect(
        uploads.append('id', { ...part(right, 10, size), content: wrong.subarray(10) }),
      ).rejects.toMatchObject({ code: 'ASSAY_DIGEST_MISMATCH' });
      expect(await uploads.status('id')).toBeUndefined();
      expect(await store.blobs.missing([digestOf(right), digestOf(wrong)])).toHaveLength(2);
    });

    test('that end early are refused and dropped', async () => {
      const bytes = contentOf('early', SIZES.large);
      await expect(
        uploads.append('id', { ...part(bytes, 0, bytes.length - 1), isLast: true }),
      ).rejects.toMatchObject({ code: 'ASSAY_SIZE_MISMATCH' });
      expect(await uploads.status('id')).toBeUndefined();
    });

    test('that exceed their size are refused at once and dropped', async () => {
      const bytes = contentOf('much', SIZES.small);
      await expect(
        uploads.append('id', {
          ...part(bytes, 0, bytes.length),
          content: streamOf(Buffer.concat([bytes, bytes])),
        }),
      ).rejects.toMatchObject({ code: 'ASSAY_SIZE_MISMATCH' });
      expect(await uploads.status('id')).toBeUndefined();
    });

    test('keep one digest from the first part to the last', async () => {
      const [bytes, other] = [contentOf('one', SIZES.small), contentOf('other', SIZES.small)];
      await uploads.append('id', part(bytes, 0, 10));
      await expect(uploads.append('id', part(other, 10, 20))).rejects.toMatchObject({
        code: 'ASSAY_DIGEST_MISMATCH',
      });
      expect(await uploads.status('id')).toEqual({ committed: 10, isFinished: false });
    });

    test('that are finished can begin again when their blob is gone', async () => {
      const bytes = contentOf('gone', SIZES.small);
      await uploads.append('id', part(bytes, 0, bytes.length));
      await opened.lose(digestOf(bytes).hash);
      expect(await uploads.status('id')).toBeUndefined();
      await uploads.append('id', part(bytes, 0, bytes.length));
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('that are cancelled are dropped, and may begin again', async () => {
      const bytes = contentOf('cancelled', SIZES.large);
      await uploads.append('id', part(bytes, 0, 1000));
      await uploads.cancel('id');
      expect(await uploads.status('id')).toBeUndefined();
      await uploads.append('id', part(bytes, 0, bytes.length));
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('do not mix', async () => {
      const contents = Array.from({ length: 8 }, (_, index) => contentOf(`mixed ${index}`, SIZES.large));
      await Promise.all(contents.map((bytes, index) => uploads.append(`${index}`, part(bytes, 0, 70_000))));
      await Promise.all(
        contents.map((bytes, index) => uploads.append(`${index}`, part(bytes, 70_000, bytes.length))),
      );
      for (const bytes of contents)
        expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    test('continue on a new connection while the old one hangs', async () => {
      const bytes = contentOf('hanging', SIZES.large);
      const hangs = Promise.withResolvers<void>();
      const goesOn = Promise.withResolvers<void>();
      async function* hanging(): AsyncGenerator<Buffer> {
        yield bytes.subarray(0, 1000);
        hangs.resolve();
        await goesOn.promise;
        yield bytes.subarray(1000, 2000);
      }
      const old = uploads.append('id', { ...part(bytes, 0, bytes.length), content: hanging() });
      const outcome = old.catch((error: unknown) => error);
      await hangs.promise;
      await resume(bytes);
      goesOn.resolve();
      expect(await outcome).toMatchObject({ code: 'ASSAY_BAD_OFFSET' });
      expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });

    /** Like a client: asks for the status, sends the rest, and asks again after a refusal. */
    async function resume(bytes: Buffer): Promise<void> {
      const { committed = 0 } = (await uploads.status('id')) ?? {};
      try {
        await uploads.append('id', part(bytes, committed, bytes.length));
      } catch (error) {
        if (!(error instanceof AssayError) || error.code !== 'ASSAY_BAD_OFFSET') throw error;
        await resume(bytes);
      }
    }
  });
}
