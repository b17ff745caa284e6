// The contract of tenants: each sees the blobs that it has put itself. Every engine passes it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Digest, digestOf, EMPTY } from '../../core/digest.ts';
import { parseNamespace } from '../../core/namespace.ts';
import type { StoreEvent } from '../../store/events.ts';
import { STORE } from '../../store/limits.ts';
import type { Content, Store, UploadPart } from '../../store/store.ts';
import {
  addressOf,
  contentOf,
  failingAfter,
  outputTree,
  putOne,
  readFrom,
  resultNaming,
  resultWith,
  streamOf,
  treeOf,
} from './content.ts';
import type { Backend, Opened } from './contract.ts';

const SIZES = { small: 1000, large: 2 * STORE.chunkBytes + 17 };
const FORMS: Record<string, (bytes: Buffer) => Content> = {
  'in hand': (bytes) => bytes,
  'as a stream': (bytes) => streamOf(bytes),
};
const EACH_FORM = Object.entries(SIZES).flatMap(([kind, size]) =>
  Object.entries(FORMS).map(([form, send]) => ({ kind, size, form, send })),
);

export function describeTenants(backend: Backend): void {
  describe(`tenants of ${backend.name}`, () => {
    let opened: Opened;
    let store: Store;
    let acme: Store;
    let other: Store;
    let events: StoreEvent[];

    beforeEach(async () => {
      events = [];
      opened = await backend.open((event) => events.push(event));
      store = opened.store;
      acme = store.tenant('acme');
      other = store.tenant('other');
    });

    afterEach(() => opened.dispose());

    const has = async (view: Store, bytes: Buffer) => {
      const digest = digestOf(bytes);
      const isMissing = (await view.blobs.missing([digest])).length === 1;
      const found = await readFrom(view, digest);
      expect(found !== undefined).toBe(!isMissing);
      if (found) expect(found.equals(bytes)).toBe(true);
      return !isMissing;
    };
    const put = (view: Store, bytes: Buffer, send = FORMS['in hand']) =>
      view.blobs.put(digestOf(bytes), send?.(bytes) ?? bytes);

    test.each(EACH_FORM)(
      'have a blob only after they have put it, $kind and $form',
      async ({ size, send }) => {
        const bytes = contentOf('of acme', size);
        await put(acme, bytes, send);
        expect([await has(acme, bytes), await has(other, bytes), await has(store, bytes)]).toEqual([
          true,
          false,
          true,
        ]);
        await put(other, bytes, send);
        expect([await has(acme, bytes), await has(other, bytes)]).toEqual([true, true]);
        expect(await has(store.tenant('third'), bytes)).toBe(false);
      },
    );

    test.each(EACH_FORM)('can put a blob without its hash, $kind and $form', async ({ size, send }) => {
      const bytes = contentOf('without', size);
      await put(acme, bytes);
      expect(await other.blobs.put({}, send(bytes))).toEqual(digestOf(bytes));
      expect(await has(other, bytes)).toBe(true);
    });

    test.each(EACH_FORM)(
      'do not get another one’s blob for wrong content under its hash, $kind and $form',
      async ({ size, send }) => {
        const bytes = contentOf('right', size);
        await put(acme, bytes);
        await expect(other.blobs.put(digestOf(bytes), send(contentOf('wrong', size)))).rejects.toMatchObject({
          code: 'ASSAY_DIGEST_MISMATCH',
        });
        await expect(other.blobs.put(digestOf(bytes), send(bytes.subarray(0, size - 1)))).rejects.toThrow(
          /ASSAY_(SIZE|DIGEST)_MISMATCH/,
        );
        const gone = new Error('the client is gone');
        await expect(other.blobs.put(digestOf(bytes), failingAfter(bytes, size - 1, gone))).rejects.toBe(
          gone,
        );
        expect(await has(other, bytes)).toBe(false);
        expect(await has(acme, bytes)).toBe(true);
      },
    );

    test.each(Object.entries(SIZES))('put the same blob at once, %s', async (_, size) => {
      const bytes = contentOf('at once', size);
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];
      await Promise.all(names.map((name) => put(store.tenant(name), bytes, FORMS['as a stream'])));
      for (const name of names) expect(await has(store.tenant(name), bytes)).toBe(true);
      expect(await has(store.tenant('g'), bytes)).toBe(false);
    });

    test.each(Object.entries(SIZES))('do not have what the store itself put, %s', async (_, size) => {
      const bytes = contentOf('of nobody', size);
      await put(store, bytes);
      expect(await has(acme, bytes)).toBe(false);
      await put(acme, bytes);
      await put(store, bytes);
      expect([await has(acme, bytes), await has(other, bytes), await has(store, bytes)]).toEqual([
        true,
        false,
        true,
      ]);
    });

    test('miss exactly their own, among many', async () => {
      const blobs = Array.from({ length: 200 }, (_, number) => contentOf(`one ${number}`, 100));
      const digests = blobs.map((bytes) => digestOf(bytes));
      await Promise.all(blobs.map((bytes, number) => put(number % 3 === 0 ? acme : other, bytes)));
      await Promise.all(blobs.filter((_, number) => number % 7 === 0).map((bytes) => put(acme, bytes)));
      const isAcmes = (number: number) => number % 3 === 0 || number % 7 === 0;
      expect(await acme.blobs.missing(digests)).toEqual(digests.filter((_, number) => !isAcmes(number)));
      expect(await other.blobs.missing(digests)).toEqual(digests.filter((_, number) => number % 3 === 0));
      expect(await store.blobs.missing(digests)).toEqual([]);
      expect(await store.tenant('new').blobs.missing(digests)).toEqual(digests);
    });

    test('may touch what they do not have, without effect', async () => {
      const bytes = contentOf('touched', SIZES.small);
      await put(acme, bytes);
      await other.blobs.touch([digestOf(bytes).hash, EMPTY.hash]);
      expect(await has(other, bytes)).toBe(false);
    });

    test('have the empty blob', async () => {
      expect(await has(acme, Buffer.alloc(0))).toBe(true);
    });

    test('lose a lost blob together, and whoever puts it again has it alone', async () => {
      for (const size of Object.values(SIZES)) {
        const bytes = contentOf('lost', size);
        await put(acme, bytes);
        await put(other, bytes);
        await opened.lose(digestOf(bytes).hash);
        expect([await has(acme, bytes), await has(other, bytes)]).toEqual([false, false]);
        await put(other, bytes);
        expect([await has(acme, bytes), await has(other, bytes)]).toEqual([false, true]);
      }
    });

    describe('and results', () => {
      const address = addressOf('key', parseNamespace('acme/main'));

      test('are refused if they name another tenant’s blobs', async () => {
        const digest = await putOne(acme, contentOf('output', SIZES.small));
        await expect(other.results.put(address, resultNaming(digest))).rejects.toMatchObject({
          code: 'ASSAY_RESULT_INCOMPLETE',
        });
        expect(await acme.results.put(address, resultNaming(digest))).toBe('stored');
      });

      test('are refused if they name another tenant’s Tree, or a leaf of it', async () => {
        const leaf = contentOf('leaf', SIZES.small);
        const tree = treeOf(digestOf(leaf));
        const result = resultWith({ outputDirectories: [outputTree('d', digestOf(tree))] });
        await putOne(acme, leaf);
        await putOne(acme, tree);
        for (const bytes of [tree, leaf]) {
          await expect(other.results.put(address, result)).rejects.toMatchObject({
            code: 'ASSAY_RESULT_INCOMPLETE',
          });
          await putOne(other, bytes);
        }
        expect(await other.results.put(address, result)).toBe('stored');
      });

      test('are misses for a tenant without their blobs, and stay hits for the others', async () => {
        const output = contentOf('output', SIZES.large);
        const digest = await putOne(acme, output);
        await acme.results.put(address, resultNaming(digest));
        expect(await other.results.get(address)).toBeUndefined();
        expect(events).toEqual([{ type: 'incomplete', address, missing: [digest] }]);
        expect(await acme.results.get(address)).toBeDefined();
        expect(await store.results.get(address)).toBeDefined();
        await putOne(other, output);
        expect(await other.results.get(address)).toBeDefined();
      });

      test('are found by a label only if they are hits for that tenant', async () => {
        const digest = await putOne(acme, contentOf('output', SIZES.small));
        await acme.results.put(address, resultNaming(digest));
        await acme.labels.put({ namespace: address.namespace, label: 'linux-1' }, address.key);
        expect(await acme.labels.newest(address.namespace, ['linux-'])).toBeDefined();
        expect(await other.labels.newest(address.namespace, ['linux-'])).toBeUndefined();
      });
    });

    describe('and uploads in parts', () => {
      const part = (bytes: Buffer, from: number, to: number): UploadPart => ({
        expected: digestOf(bytes),
        offset: from,
        content: streamOf(bytes.subarray(from, to)),
        isLast: to === bytes.length,
      });

      test.each(Object.entries(SIZES))('give the blob to their tenant alone, %s', async (_, size) => {
        const bytes = contentOf('uploaded', size);
        await acme.uploads.append('id', part(bytes, 0, 500));
        await acme.uploads.append('id', part(bytes, 500, size));
        expect([await has(acme, bytes), await has(other, bytes)]).toEqual([true, false]);
        await other.uploads.append('id', part(bytes, 0, size));
        expect([await has(acme, bytes), await has(other, bytes)]).toEqual([true, true]);
      });

      test('can’t be continued, seen or cancelled by another tenant', async () => {
        const bytes = contentOf('begun', SIZES.large);
        await acme.uploads.append('id', part(bytes, 0, 70_000));
        for (const view of [other, store]) {
          expect(await view.uploads.status('id')).toBeUndefined();
          await expect(view.uploads.append('id', part(bytes, 70_000, bytes.length))).rejects.toMatchObject({
            code: 'ASSAY_BAD_OFFSET',
          });
          await view.uploads.cancel('id');
        }
        expect(await acme.uploads.status('id')).toEqual({ committed: 70_000, isFinished: false });
        await acme.uploads.append('id', part(bytes, 70_000, bytes.length));
        expect([await has(acme, bytes), await has(other, bytes)]).toEqual([true, false]);
      });

      test('of wrong content under the hash of another tenant’s blob are refused', async () => {
        for (const size of Object.values(SIZES)) {
          const bytes = contentOf('right', size);
          await put(acme, bytes);
          const wrong = { ...part(contentOf('wrong', size), 0, size), expected: digestOf(bytes) };
          await expect(other.uploads.append(`id ${size}`, wrong)).rejects.toMatchObject({
            code: 'ASSAY_DIGEST_MISMATCH',
          });
          expect(await has(other, bytes)).toBe(false);
        }
      });
    });

    test('are more than a process keeps ready, and none loses anything', async () => {
      const first = contentOf('first', SIZES.small);
      const begun = contentOf('begun', SIZES.small);
      const half: UploadPart = { expected: {}, offset: 0, content: begun.subarray(0, 500), isLast: false };
      const digest: Digest = await putOne(acme, first);
      await acme.uploads.append('id', half);
      for (let number = 0; number <= STORE.tenantViews; number++) store.tenant(`many-${number}`);
      const again = store.tenant('acme');
      expect(await again.blobs.missing([digest])).toEqual([]);
      await again.uploads.append('id', { ...half, offset: 500, content: begun.subarray(500), isLast: true });
      expect(await has(acme, begun)).toBe(true);
    });

    test('show only themselves: the whole store can be inspected and reviewed from the store alone', () => {
      expect(acme.inspect).toBeUndefined();
      expect(acme.review).toBeUndefined();
      expect(acme.tenant('acme')).toBe(acme);
    });
  });
}
