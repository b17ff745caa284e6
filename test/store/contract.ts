// The contract of a store: one suite that every engine passes.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Digest, digestOf, EMPTY, type Hash, toWire } from '../../core/digest.ts';
import { parseNamespace } from '../../core/namespace.ts';
import { decodeResult } from '../../core/result.ts';
import { SERVER } from '../../server/limits.ts';
import type { StoreEvent } from '../../store/events.ts';
import { rivalAddress } from '../../store/layers/divergence.ts';
import { STORE } from '../../store/limits.ts';
import type { Content, ResultRecords, Store } from '../../store/store.ts';
import {
  addressOf,
  contentOf,
  directoryOf,
  failingAfter,
  outputFile,
  outputRoot,
  outputTree,
  putAll,
  putOne,
  readBlob,
  readFrom,
  resultNaming,
  resultWith,
  streamOf,
  treeOf,
} from './content.ts';

export interface Opened {
  readonly store: Store;
  /** The records below the layers, to see what no client can name. */
  readonly records: ResultRecords;
  /** Removes a blob without the store's knowledge, as an eviction by another process would. */
  lose(hash: Hash): Promise<void>;
  dispose(): Promise<void>;
}

export interface Backend {
  readonly name: string;
  open(onEvent: (event: StoreEvent) => void): Promise<Opened>;
}

const SMALL = 1000;
const LARGE = 3 * STORE.chunkBytes + 17;
const SIZES = { small: SMALL, large: LARGE };
const EDGES = [1, STORE.inlineBytes, STORE.inlineBytes + 1, STORE.chunkBytes, STORE.chunkBytes + 1, LARGE];
const FORMS: Record<string, (bytes: Buffer) => Content> = {
  'in hand': (bytes) => bytes,
  'as a stream': (bytes) => streamOf(bytes),
};
const EACH_FORM = Object.entries(SIZES).flatMap(([kind, size]) =>
  Object.entries(FORMS).map(([form, send]) => ({ kind, size, form, send })),
);

export function describeStore(backend: Backend): void {
  describe(backend.name, () => {
    let opened: Opened;
    let store: Store;
    let events: StoreEvent[];

    beforeEach(async () => {
      events = [];
      opened = await backend.open((event) => events.push(event));
      store = opened.store;
    });

    afterEach(() => opened.dispose());

    const isMissing = async (digest: Digest) => (await store.blobs.missing([digest])).length === 1;
    const expectAbsent = async (digest: Digest) => {
      expect(await store.blobs.get(digest.hash)).toBeUndefined();
      expect(await isMissing(digest)).toBe(true);
    };
    const expectPresent = async (bytes: Buffer) => {
      const digest = digestOf(bytes);
      expect((await readFrom(store, digest))?.equals(bytes)).toBe(true);
      expect(await isMissing(digest)).toBe(false);
    };

    describe('a blob', () => {
      test.each(EDGES)('of %i bytes comes back as it was put', async (size) => {
        for (const [form, send] of Object.entries(FORMS)) {
          const bytes = contentOf(`${form} ${size}`, size);
          expect(await store.blobs.put({ hash: digestOf(bytes).hash }, send(bytes))).toEqual(digestOf(bytes));
          expect((await store.blobs.get(digestOf(bytes).hash))?.size).toBe(size);
          await expectPresent(bytes);
        }
      });

      test.each(EACH_FORM)(
        'that is $kind and sent $form may come without its hash',
        async ({ size, send }) => {
          const bytes = contentOf('unannounced', size);
          for (const _again of [1, 2])
            expect(await store.blobs.put({}, send(bytes))).toEqual(digestOf(bytes));
          await expectPresent(bytes);
        },
      );

      test('that was never put is a miss', async () => {
        await expectAbsent(digestOf(contentOf('never', SMALL)));
      });

      test.each([
        [0, 10],
        [5, 1],
        [STORE.chunkBytes - 1, 2],
        [STORE.chunkBytes, STORE.chunkBytes],
        [10, 2 * STORE.chunkBytes],
        [LARGE - 1, 1],
        [LARGE - 10, 1000],
        [LARGE, 10],
      ])('is read in part from %i for %i bytes', async (offset, length) => {
        const bytes = contentOf('parts', LARGE);
        await putAll(store, bytes);
        const readPart = async () => readBlob(await store.blobs.get(digestOf(bytes).hash), offset, length);
        expect((await readPart())?.equals(bytes.subarray(offset, offset + length))).toBe(true);
        await expectPresent(bytes);
        expect((await readPart())?.equals(bytes.subarray(offset, offset + length))).toBe(true);
      });

      test('can be read by many at once', async () => {
        const bytes = contentOf('many', LARGE);
        await putAll(store, bytes);
        const reads = await Promise.all(Array.from({ length: 8 }, () => readFrom(store, digestOf(bytes))));
        expect(reads.every((read) => read?.equals(bytes))).toBe(true);
      });

      test.each(EACH_FORM)('with a wrong digest is refused, $kind and $form', async ({ size, send }) => {
        const announced = digestOf(contentOf('announced', size));
        const sent = contentOf('sent', size);
        await expect(store.blobs.put(announced, send(sent))).rejects.toMatchObject({
          code: 'ASSAY_DIGEST_MISMATCH',
        });
        await expectAbsent(announced);
        await expectAbsent(digestOf(sent));
      });

      test.each(EACH_FORM)('with a wrong size is refused, $kind and $form', async ({ size, send }) => {
        const bytes = contentOf('sized', size);
        for (const announced of [size - 1, size + 1, 0]) {
          await expect(
            store.blobs.put({ hash: digestOf(bytes).hash, size: announced }, send(bytes)),
          ).rejects.toMatchObject({ code: 'ASSAY_SIZE_MISMATCH' });
        }
        await expectAbsent(digestOf(bytes));
      });

      test('that exceeds its announced size is not read to the end', async () => {
        let pieces = 0;
        let isClosed = false;
        async function* endless(): AsyncGenerator<Buffer> {
          try {
            for (;;) {
              pieces++;
              yield Buffer.alloc(1000);
            }
          } finally {
            isClosed = true;
          }
        }
        const { hash } = digestOf(contentOf('endless', SMALL));
        await expect(store.blobs.put({ hash, size: 5500 }, endless())).rejects.toMatchObject({
          code: 'ASSAY_SIZE_MISMATCH',
        });
        expect(pieces).toBe(6);
        expect(isClosed).toBe(true);
      });

      test.each(Object.entries(SIZES))('whose stream fails leaves nothing behind, %s', async (_, size) => {
        const bytes = contentOf('failing', size);
        const failure = new Error('the client is gone');
        for (const upTo of [0, Math.floor(size / 2), size]) {
          await expect(store.blobs.put(digestOf(bytes), failingAfter(bytes, upTo, failure))).rejects.toBe(
            failure,
          );
        }
        await expectAbsent(digestOf(bytes));
      });

      test.each(EACH_FORM)('that is present may be put again, $kind and $form', async ({ size, send }) => {
        const bytes = contentOf('again', size);
        await putAll(store, bytes);
        expect(await store.blobs.put(digestOf(bytes), send(bytes))).toEqual(digestOf(bytes));
        await expectPresent(bytes);
      });

      test.each(EACH_FORM)(
        'that is present does not hide wrong content in a second put, $kind and $form',
        async ({ size, send }) => {
          const bytes = contentOf('right', size);
          await putAll(store, bytes);
          await expect(
            store.blobs.put(digestOf(bytes), send(contentOf('wrong', size))),
          ).rejects.toMatchObject({ code: 'ASSAY_DIGEST_MISMATCH' });
          await expectPresent(bytes);
        },
      );

      test.each(Object.entries(SIZES))('put by many at once is stored once for all, %s', async (_, size) => {
        const bytes = contentOf('together', size);
        const wrong = contentOf('wrong', size);
        const puts = Array.from({ length: 8 }, () => store.blobs.put(digestOf(bytes), streamOf(bytes)));
        const bad = store.blobs.put(digestOf(bytes), streamOf(wrong));
        await expect(bad).rejects.toMatchObject({ code: 'ASSAY_DIGEST_MISMATCH' });
        expect(await Promise.all(puts)).toEqual(puts.map(() => digestOf(bytes)));
        await expectPresent(bytes);
      });

      test('does not change when its sender reuses the memory', async () => {
        const bytes = contentOf('reused', SMALL);
        const mine = Buffer.from(bytes);
        const put = store.blobs.put(digestOf(bytes), mine);
        mine.fill(0);
        await put;
        await expectPresent(bytes);
      });
    });

    describe('the empty blob', () => {
      test('is always present', async () => {
        await expectPresent(Buffer.alloc(0));
        await store.blobs.touch([EMPTY.hash]);
      });

      test.each(Object.entries(FORMS))('may be put, %s', async (_, send) => {
        expect(await store.blobs.put({ hash: EMPTY.hash }, send(Buffer.alloc(0)))).toEqual(EMPTY);
        expect(await store.blobs.put(EMPTY, send(Buffer.alloc(0)))).toEqual(EMPTY);
      });

      test.each(Object.entries(FORMS))('is refused if it has content, %s', async (_, send) => {
        await expect(store.blobs.put({ hash: EMPTY.hash }, send(Buffer.alloc(3)))).rejects.toThrow(/ASSAY_/);
        await expectPresent(Buffer.alloc(0));
      });

      test.each(Object.entries(FORMS))('is refused as the content of another digest, %s', async (_, send) => {
        const { hash } = digestOf(contentOf('other', SMALL));
        await expect(store.blobs.put({ hash }, send(Buffer.alloc(0)))).rejects.toMatchObject({
          code: 'ASSAY_DIGEST_MISMATCH',
        });
      });
    });

    describe('missing', () => {
      test('is exactly the blobs that get would not return with that size', async () => {
        const [small, large] = [contentOf('small', SMALL), contentOf('large', LARGE)];
        const there = await putAll(store, small, large);
        const gone = [digestOf(contentOf('gone', SMALL)), digestOf(contentOf('gone', LARGE))];
        const wrongSize = [...there, EMPTY].map(({ hash, size }) => ({ hash, size: size + 1 }));
        const asked = [gone[0], ...there, ...wrongSize, EMPTY, gone[1]].flatMap((digest) => digest ?? []);
        expect(await store.blobs.missing(asked)).toEqual([gone[0], ...wrongSize, gone[1]]);
      });

      test('of no blobs is empty', async () => {
        expect(await store.blobs.missing([])).toEqual([]);
      });

      test('includes a blob that was lost', async () => {
        const bytes = contentOf('lost', SMALL);
        await putAll(store, bytes);
        await opened.lose(digestOf(bytes).hash);
        await expectAbsent(digestOf(bytes));
        await putAll(store, bytes);
        await expectPresent(bytes);
      });
    });

    describe('a result', () => {
      test('comes back as it was sent, with every blob that it names', async () => {
        const leaves = await putAll(store, contentOf('leaf 1', SMALL), contentOf('leaf 2', LARGE));
        const file = await putOne(store, contentOf('file', SMALL));
        const tree = await putOne(store, treeOf(...leaves));
        const stdout = await putOne(store, contentOf('stdout', SMALL));
        const bytes = resultWith({
          outputFiles: [outputFile('a', file), outputFile('empty', EMPTY)],
          outputDirectories: [outputTree('d', tree)],
          stdoutDigest: toWire(stdout),
        });
        expect(await store.results.put(addressOf('key'), bytes)).toBe('stored');
        const stored = await store.results.get(addressOf('key'));
        expect(stored?.bytes.equals(bytes)).toBe(true);
        expect(byHash(stored?.references)).toEqual(byHash([file, tree, stdout, EMPTY, ...leaves]));
      });

      test('keeps fields that Assay does not know', async () => {
        const unknown = Buffer.from([0xca, 0x3e, 0x03, 1, 2, 3]);
        const bytes = Buffer.concat([
          resultNaming(...(await putAll(store, contentOf('out', SMALL)))),
          unknown,
        ]);
        await store.results.put(addressOf('key'), bytes);
        expect((await store.results.get(addressOf('key')))?.bytes.equals(bytes)).toBe(true);
      });

      test('may be as large as a server accepts', async () => {
        const sent = resultWith({ stdoutRaw: contentOf('a long log', SERVER.maxResultBytes - 100) });
        expect(await store.results.put(addressOf('large'), sent)).toBe('stored');
        expect((await store.results.get(addressOf('large')))?.bytes.equals(sent)).toBe(true);
      });

      test('with Directory messages names all their descendants', async () => {
        const leaf = await putOne(store, contentOf('leaf', SMALL));
        const deepLeaf = await putOne(store, contentOf('deep', SMALL));
        const inner = await putOne(store, directoryOf([deepLeaf]));
        const root = await putOne(store, directoryOf([leaf], [inner, inner]));
        await store.results.put(addressOf('key'), resultWith({ outputDirectories: [outputRoot('d', root)] }));
        const stored = await store.results.get(addressOf('key'));
        expect(byHash(stored?.references)).toEqual(byHash([root, inner, leaf, deepLeaf]));
      });

      test('is refused if it names one directory with two sizes', async () => {
        const there = await putOne(store, directoryOf([await putOne(store, contentOf('leaf', SMALL))]));
        const root = await putOne(store, directoryOf([], [{ ...there, size: there.size + 1 }, there]));
        await expect(
          store.results.put(addressOf('key'), resultWith({ outputDirectories: [outputRoot('d', root)] })),
        ).rejects.toMatchObject({ code: 'ASSAY_RESULT_INCOMPLETE' });
      });

      test('that was never put is a miss', async () => {
        expect(await store.results.get(addressOf('never'))).toBeUndefined();
      });

      test('is visible only in its namespace', async () => {
        const bytes = resultNaming(...(await putAll(store, contentOf('out', SMALL))));
        await store.results.put(addressOf('key', parseNamespace('team/a')), bytes);
        expect(await store.results.get(addressOf('key'))).toBeUndefined();
        expect(await store.results.get(addressOf('key', parseNamespace('team')))).toBeUndefined();
        expect(await store.results.get(addressOf('key', parseNamespace('team/a')))).toBeDefined();
      });

      test.each([
        ['no message', Buffer.from('no result')],
        ['a message with a malformed digest', resultWith({ stdoutDigest: { hash: 'short', sizeBytes: 1 } })],
      ])('that is %s is refused', async (_, bytes) => {
        await expect(store.results.put(addressOf('key'), bytes)).rejects.toThrow(
          /ASSAY_RESULT_MALFORMED|ASSAY_BAD_DIGEST/,
        );
        expect(await store.results.get(addressOf('key'))).toBeUndefined();
      });

      test('whose Tree can’t be decoded is refused', async () => {
        const noTree = await putOne(store, Buffer.from('no tree'));
        await expect(
          store.results.put(addressOf('key'), resultWith({ outputDirectories: [outputTree('d', noTree)] })),
        ).rejects.toMatchObject({ code: 'ASSAY_RESULT_MALFORMED' });
      });

      test('whose Tree has an announced size above the limit is refused unread', async () => {
        const huge = { hash: digestOf(contentOf('huge', SMALL)).hash, size: STORE.maxTreeBytes + 1 };
        await expect(
          store.results.put(addressOf('key'), resultWith({ outputDirectories: [outputTree('d', huge)] })),
        ).rejects.toMatchObject({ code: 'ASSAY_RESULT_MALFORMED' });
      });
    });

    describe('a record', () => {
      const record = (name: string) => ({
        bytes: Buffer.from(name),
        references: [digestOf(Buffer.from(name))],
      });

      /** An engine may refuse a record that names a missing blob. */
      beforeEach(() => putAll(store, ...['first', 'second', 'a', 'b', 'c'].map((name) => Buffer.from(name))));

      test('is put only if the record that was read is still stored', async () => {
        const { records } = opened;
        const [first, second] = [record('first'), record('second')];
        expect(await records.put(addressOf('key'), second, first)).toBe(false);
        expect(await records.put(addressOf('key'), first, undefined)).toBe(true);
        expect(await records.put(addressOf('key'), second, undefined)).toBe(false);
        const seen = await records.get(addressOf('key'));
        expect({ ...seen, references: plain(seen?.references) }).toMatchObject(first);
        expect(await records.put(addressOf('key'), second, seen)).toBe(true);
        expect(await records.put(addressOf('key'), first, seen)).toBe(false);
        const now = await records.get(addressOf('key'));
        expect({ ...now, references: plain(now?.references) }).toMatchObject(second);
      });

      test('is put by exactly one of several writers that read the same record', async () => {
        const { records } = opened;
        await records.put(addressOf('key'), record('first'), undefined);
        const seen = await records.get(addressOf('key'));
        const puts = ['a', 'b', 'c'].map((name) => records.put(addressOf('key'), record(name), seen));
        expect((await Promise.all(puts)).filter(Boolean)).toHaveLength(1);
      });
    });

    describe('an incomplete result', () => {
      const absent = (name: string) => digestOf(contentOf(name, SMALL));

      test.each<[string, Digest, (tree: Digest) => Buffer]>([
        ['a file', absent('file'), () => resultNaming(absent('file'))],
        ['its log', absent('log'), () => resultWith({ stderrDigest: toWire(absent('log')) })],
        [
          'a Tree',
          absent('tree'),
          () => resultWith({ outputDirectories: [outputTree('d', absent('tree'))] }),
        ],
        [
          'a leaf of a Tree',
          absent('leaf'),
          (tree) => resultWith({ outputDirectories: [outputTree('d', tree)] }),
        ],
        [
          'a folder',
          absent('folder'),
          () => resultWith({ outputDirectories: [outputRoot('d', absent('folder'))] }),
        ],
      ])('is refused while %s is missing', async (_, missing, result) => {
        const tree = await putOne(store, treeOf(absent('leaf')));
        await expect(store.results.put(addressOf('key'), result(tree))).rejects.toMatchObject({
          code: 'ASSAY_RESULT_INCOMPLETE',
          detail: expect.stringContaining(missing.hash),
        });
        expect(await store.results.get(addressOf('key'))).toBeUndefined();
      });

      test('is refused if a blob has another size than the result says', async () => {
        const there = await putOne(store, contentOf('there', SMALL));
        const wrong = resultNaming(there, { ...there, size: there.size + 1 });
        await expect(store.results.put(addressOf('key'), wrong)).rejects.toMatchObject({
          code: 'ASSAY_RESULT_INCOMPLETE',
        });
      });

      test('is refused with a few names and a count of the others', async () => {
        const many = ['1', '2', '3', '4', '5'].map(absent);
        await expect(store.results.put(addressOf('key'), resultNaming(...many))).rejects.toMatchObject({
          detail: expect.stringMatching(new RegExp(`${many[2]?.hash}.* and 2 more$`)),
        });
      });

      test('is a miss from the moment a leaf is lost to the moment it is stored again', async () => {
        const leaf = contentOf('leaf', SMALL);
        const tree = await putOne(store, treeOf(await putOne(store, leaf)));
        await store.results.put(addressOf('key'), resultWith({ outputDirectories: [outputTree('d', tree)] }));
        expect(await store.results.get(addressOf('key'))).toBeDefined();
        await opened.lose(digestOf(leaf).hash);
        expect(await store.results.get(addressOf('key'))).toBeUndefined();
        expect(events).toContainEqual({
          type: 'incomplete',
          address: addressOf('key'),
          missing: [digestOf(leaf)],
        });
        await putAll(store, leaf);
        expect(await store.results.get(addressOf('key'))).toBeDefined();
      });

      test('is replaced by a complete one with other outputs', async () => {
        const first = await putOne(store, contentOf('first', SMALL));
        const second = await putOne(store, contentOf('second', SMALL));
        await store.results.put(addressOf('key'), resultNaming(first));
        await opened.lose(first.hash);
        expect(await store.results.put(addressOf('key'), resultNaming(second))).toBe('stored');
        expect(plain((await store.results.get(addressOf('key')))?.references)).toEqual([second]);
        expect(events).toEqual([]);
      });
    });

    describe('the same key with another output', () => {
      let first: Digest;
      let second: Digest;
      beforeEach(async () => {
        first = await putOne(store, contentOf('first', SMALL));
        second = await putOne(store, contentOf('second', SMALL));
      });

      test('is an event, and the first result stays', async () => {
        expect(await store.results.put(addressOf('key'), resultNaming(first))).toBe('stored');
        expect(await store.results.put(addressOf('key'), resultNaming(second))).toBe('diverged');
        expect(plain((await store.results.get(addressOf('key')))?.references)).toEqual([first]);
        expect(events).toEqual([{ type: 'diverged', address: addressOf('key') }]);
      });

      test('is kept as a rival that no client can name', async () => {
        await store.results.put(addressOf('key'), resultNaming(first));
        await store.results.put(addressOf('key'), resultNaming(second));
        const rival = rivalAddress(addressOf('key'));
        expect(plain((await opened.records.get(rival))?.references)).toEqual([second]);
        expect(() => parseNamespace(rival.namespace)).toThrow(/ASSAY_BAD_NAMESPACE/);
      });

      test('is detected also if both come at once', async () => {
        const outcomes = await Promise.all(
          [first, second, first, second].map((output) =>
            store.results.put(addressOf('key'), resultNaming(output)),
          ),
        );
        expect(outcomes.toSorted()).toEqual(['diverged', 'diverged', 'stored', 'unchanged']);
      });

      test('is not detected for a difference of logs only', async () => {
        const earlier = resultWith({ outputFiles: [outputFile('a', first)], stdoutRaw: Buffer.from('1 s') });
        const later = resultWith({ outputFiles: [outputFile('a', first)], stdoutRaw: Buffer.from('2 s') });
        await store.results.put(addressOf('key'), earlier);
        expect(await store.results.put(addressOf('key'), later)).toBe('unchanged');
        expect((await store.results.get(addressOf('key')))?.bytes.equals(earlier)).toBe(true);
        expect(events).toEqual([]);
      });

      test('replaces the first without a divergence if the key’s content may change', async () => {
        const put = (output: Digest) =>
          store.results.put(addressOf('key'), resultNaming(output), { replace: true });
        expect(await put(first)).toBe('stored');
        expect(await put(second)).toBe('replaced');
        expect(await put(second)).toBe('stored');
        expect(plain((await store.results.get(addressOf('key')))?.references)).toEqual([second]);
        expect(events).toEqual([{ type: 'replaced', address: addressOf('key') }]);
      });

      test('is still refused if it is incomplete', async () => {
        await store.results.put(addressOf('key'), resultNaming(first));
        const nowhere = digestOf(contentOf('nowhere', SMALL));
        await expect(store.results.put(addressOf('key'), resultNaming(nowhere))).rejects.toMatchObject({
          code: 'ASSAY_RESULT_INCOMPLETE',
        });
        expect(events).toEqual([]);
      });
    });

    describe('an update of a result', () => {
      const exitCodeOf = (bytes: Uint8Array | undefined) => (bytes ? decodeResult(bytes).exitCode : 0);

      test('loses no change if many come at once, and is no divergence', async () => {
        const address = addressOf('key');
        const next = (current: Uint8Array | undefined) => resultWith({ exitCode: exitCodeOf(current) + 1 });
        await Promise.all(Array.from({ length: 20 }, () => store.results.update(address, next)));
        expect(exitCodeOf((await store.results.get(address))?.bytes)).toBe(20);
        expect(events).toEqual([]);
      });

      test('writes nothing without a change, and nothing incomplete', async () => {
        const address = addressOf('key');
        await store.results.update(address, () => undefined);
        expect(await store.results.get(address)).toBeUndefined();
        const nowhere = digestOf(contentOf('nowhere', SMALL));
        await expect(store.results.update(address, () => resultNaming(nowhere))).rejects.toMatchObject({
          code: 'ASSAY_RESULT_INCOMPLETE',
        });
        expect(await store.results.get(address)).toBeUndefined();
      });
    });
  });
}

function byHash(digests: readonly Digest[] | undefined): Digest[] {
  return plain(digests).sort((a, b) => (a.hash < b.hash ? -1 : 1));
}

/** Engines may return digests that compute their hash lazily. */
function plain(digests: readonly Digest[] = []): Digest[] {
  return digests.map(({ hash, size }) => ({ hash, size }));
}
