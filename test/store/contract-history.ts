// The contract of the history. Every engine passes it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  DEFAULT_NAMESPACE,
  type Namespace,
  type NamespaceRange,
  namespaceBelow,
  parseNamespace,
} from '../../core/namespace.ts';
import type { History, HistoryDocument } from '../../store/history.ts';
import { STORE } from '../../store/limits.ts';
import type { Backend, Opened } from './contract.ts';

const WEB = parseNamespace('web');
const WEBSITE = parseNamespace('website');
const BELOW = namespaceBelow(parseNamespace('acme'), parseNamespace('web/ci'));

export function describeHistory(backend: Backend): void {
  describe(`the history in ${backend.name}`, () => {
    let opened: Opened;
    let history: History;

    beforeEach(async () => {
      opened = await backend.open(() => {});
      if (!opened.store.history) throw new Error('the store has no history');
      history = opened.store.history;
    });

    afterEach(() => opened.dispose());

    const document = (id: string, at: number, namespace: Namespace = WEB, kind = 'run'): HistoryDocument => ({
      kind,
      namespace,
      id,
      at,
      bytes: Buffer.from(`${kind} ${id} at ${at}`),
    });

    const ids = async (query: Omit<Parameters<History['page']>[0], 'kind' | 'limit'> = {}, limit = 100) =>
      (await history.page({ kind: 'run', limit, ...query })).documents.map(({ id }) => id);

    /** Follows the positions to the end. */
    async function pages(namespaces: NamespaceRange, limit: number): Promise<string[][]> {
      const found: string[][] = [];
      for (let before: string | undefined; ; ) {
        const { documents, position } = await history.page({ kind: 'run', namespaces, before, limit });
        found.push(documents.map(({ id }) => id));
        if (position === undefined) return found;
        before = position;
      }
    }

    test('returns a document as it was put, newest first', async () => {
      const put = [document('a', 30), document('b', 10), document('c', 20, BELOW)];
      await history.put(put);
      const { documents, position } = await history.page({ kind: 'run', limit: 10 });
      expect(documents).toEqual([put[0], put[2], put[1]]);
      expect(position).toBeUndefined();
      expect(await history.get('run', 'c', undefined)).toEqual(put[2]);
    });

    test('adds a document once, also if several come at the same time', async () => {
      const first = document('a', 30);
      const added = await Promise.all(
        [first, document('a', 40), document('a', 50)].map((one) => history.add(one)),
      );
      expect(added.filter(Boolean)).toHaveLength(1);
      const kept = await history.get('run', 'a', [WEB]);
      expect(await history.add(document('a', 60))).toBe(false);
      expect(await history.get('run', 'a', [WEB])).toEqual(kept);
      expect(await ids()).toEqual(['a']);
      expect(await history.add(document('a', 60, WEBSITE))).toBe(true);
      await history.removeBefore('run', 100, 10);
      expect(await history.add({ ...first, bytes: Buffer.alloc(0) })).toBe(true);
      expect(await history.get('run', 'a', [WEB])).toEqual({ ...first, bytes: Buffer.alloc(0) });
    });

    test('lists the kinds of which there is a document', async () => {
      expect(await history.kinds()).toEqual([]);
      await history.put([document('a', 1), document('b', 2, WEB, 'r'), document('c', 3, WEB, 'zone')]);
      await history.put([document('d', 4, DEFAULT_NAMESPACE, 'run-log')]);
      await history.removeBefore('zone', 10, 10);
      expect((await history.kinds()).toSorted()).toEqual(['r', 'run', 'run-log']);
    });

    test('separates kinds and namespaces, also of one that begins like another', async () => {
      await history.put([
        document('a', 1),
        document('b', 2, WEBSITE),
        document('c', 3, DEFAULT_NAMESPACE),
        document('d', 4, BELOW),
        document('e', 5, WEB, 'run-details'),
      ]);
      expect(await ids()).toEqual(['d', 'c', 'b', 'a']);
      expect(await ids({ namespaces: [WEB] })).toEqual(['a']);
      expect(await ids({ namespaces: [WEB, WEBSITE, WEB] })).toEqual(['b', 'a']);
      expect(await ids({ namespaces: [DEFAULT_NAMESPACE] })).toEqual(['c']);
      expect(await ids({ namespaces: [] })).toEqual([]);
    });

    test.each([1, 2, 100])('shows all that lie at or below a namespace, in pages of %i', async (limit) => {
      const inside = ['acme', 'acme/a', 'acme/a/b'].map(parseNamespace);
      const outside = ['acme2', 'acm', 'rival/acme', 'other'].map(parseNamespace);
      await history.put([
        ...inside.map((namespace, index) => document(`in${index}`, 2 * index, namespace)),
        ...outside.map((namespace, index) => document(`out${index}`, 2 * index + 1, namespace)),
      ]);
      const range = { below: parseNamespace('acme'), besides: [parseNamespace('other')] };
      expect((await pages(range, limit)).flat()).toEqual(['out3', 'in2', 'in1', 'in0']);
      for (const id of ['in0', 'in1', 'in2', 'out3'])
        expect(await history.get('run', id, range)).toBeDefined();
      for (const id of ['out0', 'out1', 'out2']) expect(await history.get('run', id, range)).toBeUndefined();
    });

    test('finds an id only in the namespaces that may be read', async () => {
      await history.put([document('a', 1), document('a', 2, WEBSITE)]);
      expect((await history.get('run', 'a', undefined))?.at).toBe(2);
      expect((await history.get('run', 'a', [WEB]))?.at).toBe(1);
      const all = (await history.all('run', 'a', undefined)).map(({ at }) => at);
      expect([all, await history.all('run', 'a', [])]).toEqual([[2, 1], []]);
      expect(await history.get('run', 'a', [DEFAULT_NAMESPACE])).toBeUndefined();
      expect(await history.get('run', 'a', [])).toBeUndefined();
      expect(await history.get('other', 'a', undefined)).toBeUndefined();
    });

    test.each([1, 2, 3, 7, 100])('pages of %i have every document once', async (limit) => {
      const times = [5, 5, 5, 5, 4, 3, 3, 2, 9, 5];
      await history.put(times.map((at, index) => document(`id${index}`, at, index % 2 ? WEB : WEBSITE)));
      const order = ['id8', 'id9', 'id3', 'id2', 'id1', 'id0', 'id4', 'id6', 'id5', 'id7'];
      const inOne = order.filter((id) => Number(id.slice(2)) % 2 === 1);
      for (const namespaces of [undefined, [WEB, WEBSITE]]) {
        const found = await pages(namespaces, limit);
        expect(found.flat()).toEqual(order);
        expect(found.length).toBe(Math.ceil(order.length / limit));
      }
      expect((await pages([WEB], limit)).flat()).toEqual(inOne);
    });

    test('shows a period: from its beginning, without its end', async () => {
      await history.put([10, 20, 30, 40].map((at) => document(`at${at}`, at)));
      expect(await ids({ from: 20, to: 40 })).toEqual(['at30', 'at20']);
      expect(await ids({ from: 21, to: 30 })).toEqual([]);
      expect(await ids({ from: 20, to: 40, namespaces: [WEB] })).toEqual(['at30', 'at20']);
    });

    test('a position that was made up shows nothing', async () => {
      await history.put([document('a', 1)]);
      for (const before of ['', '1', 'x.y.z', '5.a.!bad', `5.${'a'.repeat(65)}.`])
        expect(await ids({ before })).toEqual([]);
    });

    test('a document that is put again replaces the earlier one, also with another time', async () => {
      await history.put([document('a', 10), document('b', 15)]);
      await history.put([{ ...document('a', 10), bytes: Buffer.from('again') }]);
      expect((await history.get('run', 'a', undefined))?.bytes.toString()).toBe('again');
      await history.put([{ ...document('a', 20), bytes: Buffer.from('later') }]);
      expect(await ids()).toEqual(['a', 'b']);
      expect(await ids({ namespaces: [WEB] })).toEqual(['a', 'b']);
      await history.removeBefore('run', 16, 100);
      expect(await ids()).toEqual(['a']);
      expect((await history.get('run', 'a', undefined))?.bytes.toString()).toBe('later');
    });

    test('removes the oldest first, and as many as asked for', async () => {
      await history.put([
        ...[1, 2, 3, 4, 5].map((at) => document(`at${at}`, at, at % 2 ? WEB : WEBSITE)),
        document('kept', 1, WEB, 'other'),
      ]);
      expect(await history.removeBefore('run', 4, 2)).toBe(2);
      expect(await ids()).toEqual(['at5', 'at4', 'at3']);
      expect(await history.removeBefore('run', 4, 2)).toBe(1);
      expect(await history.removeBefore('run', 4, 2)).toBe(0);
      expect(await ids()).toEqual(['at5', 'at4']);
      expect(await ids({ namespaces: [WEB] })).toEqual(['at5']);
      expect(await history.get('run', 'at3', undefined)).toBeUndefined();
      expect((await history.get('other', 'kept', undefined))?.at).toBe(1);
    });

    test('counts what the documents take', async () => {
      const before = await history.usedBytes();
      await history.put([{ ...document('large', 1), bytes: Buffer.alloc(100_000, 7) }]);
      expect((await history.usedBytes()) - before).toBeGreaterThanOrEqual(100_000);
    });

    test('takes a document of the largest size, and refuses what breaks the rules', async () => {
      const largest = { ...document('large', 1), bytes: Buffer.alloc(STORE.historyDocumentBytes, 7) };
      await history.put([largest]);
      expect((await history.get('run', 'large', undefined))?.bytes.equals(largest.bytes)).toBe(true);
      const wrong = [
        { ...largest, bytes: Buffer.alloc(STORE.historyDocumentBytes + 1) },
        document('a b', 1),
        document('', 1),
        document('a', 1.5),
        document('a', -1),
        document('a', 1, WEB, 'Run'),
      ];
      for (const one of wrong)
        await expect(history.put([document('fine', 1), one])).rejects.toThrow(RangeError);
      expect(await ids()).toEqual(['large']);
    });

    test('is not shown to a tenant', () => {
      expect(opened.store.tenant('acme').history).toBeUndefined();
    });
  });
}
