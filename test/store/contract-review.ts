// The contract of a review: it lists and removes the results of all namespaces. Every engine passes it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { parseNamespace, protocolNamespace } from '../../core/namespace.ts';
import type { StoreEvent } from '../../store/events.ts';
import type { Review, ReviewedResult, Store, StoredResult, Writer } from '../../store/store.ts';
import { addressOf, contentOf, putOne, resultNaming, resultWith } from './content.ts';
import type { Backend, Opened } from './contract.ts';

const writer = (name: string): Writer => ({
  name,
  from: '192.0.2.7:4711',
  via: 'http',
  at: 1_800_000_000_000,
});
const acme = parseNamespace('acme/main');
const NAMESPACES = [acme, parseNamespace(''), protocolNamespace('ccache', acme)];

export function describeReview(backend: Backend): void {
  describe(`a review of ${backend.name}`, () => {
    let opened: Opened;
    let store: Store;
    let events: StoreEvent[];
    let results: Buffer[];

    beforeEach(async () => {
      events = [];
      opened = await backend.open((event) => events.push(event));
      store = opened.store;
      const outputs = ['one', 'two'].map((name) => putOne(store, contentOf(name, 100)));
      results = (await Promise.all(outputs)).map((digest) => resultNaming(digest));
    });

    afterEach(() => opened.dispose());

    const review = (): Review => {
      if (!store.review) throw new Error('this store has no review');
      return store.review;
    };
    const all = () => Array.fromAsync(review().results());
    const result = (number: number) => results[number] ?? Buffer.alloc(0);
    const named = ({ address: { namespace, key }, result: { bytes, writer: by }, isRival }: ReviewedResult) =>
      [namespace, key, bytes.equals(result(0)) ? 'one' : 'two', by?.name, isRival].join(' ');

    test('lists every result of every namespace, with its writer', async () => {
      const expected: string[] = [];
      for (const namespace of NAMESPACES) {
        for (let number = 0; number < 100; number++) {
          const address = addressOf(`${number}`, namespace);
          const by = number % 2 === 0 ? writer(`w${number}`) : undefined;
          await store.results.put(address, result(0), { writer: by });
          expected.push([namespace, address.key, 'one', by?.name, false].join(' '));
        }
      }
      expect((await all()).map(named).sort()).toEqual(expected.sort());
    });

    test('removes a label whose result is gone, and no other', async () => {
      const { namespace, key } = addressOf('key', acme);
      await store.results.put({ namespace, key }, result(0));
      for (const label of ['a', 'b']) await store.labels.put({ namespace, label }, key);
      const labels = () => Array.fromAsync(review().labels());
      const [first, second] = await labels();
      if (!first || !second) throw new Error('the labels are not listed');
      expect(await review().removeDeadLabel(first)).toBe(false);
      for (const seen of await all()) await review().remove(seen);
      expect(await review().removeDeadLabel({ ...first, key: addressOf('other').key })).toBe(false);
      expect(await review().removeDeadLabel(first)).toBe(true);
      expect(await review().removeDeadLabel(first)).toBe(false);
      expect((await labels()).map(({ label }) => label)).toEqual([second.label]);
    });

    test('lists the rival of a result with the address of the first, and its own writer', async () => {
      for (const namespace of NAMESPACES) {
        const address = addressOf('key', namespace);
        await store.results.put(address, result(0), { writer: writer('main') });
        await store.results.put(address, result(1), { writer: writer('later') });
        const found = (await all()).filter(({ address: at }) => at.namespace === namespace);
        expect(found.map(named).sort()).toEqual([
          [namespace, address.key, 'one', 'main', false].join(' '),
          [namespace, address.key, 'two', 'later', true].join(' '),
        ]);
      }
      const diverged = await Array.fromAsync(review().divergences());
      expect(
        diverged.map(({ address, first, second }) => [address.namespace, brief(first), brief(second)]),
      ).toEqual(expect.arrayContaining(NAMESPACES.map((namespace) => [namespace, 'main', 'later'])));
      expect(diverged).toHaveLength(NAMESPACES.length);
    });

    test('lists every label of every namespace, also one whose result is gone', async () => {
      const expected: string[] = [];
      for (const namespace of NAMESPACES) {
        for (let number = 0; number < 100; number++) {
          const { key } = addressOf(`${number}`, namespace);
          const label = `step/${number}/${key}`;
          await store.labels.put({ namespace, label }, key);
          expected.push([namespace, label, key].join(' '));
        }
      }
      const found = await Array.fromAsync(review().labels());
      expect(found.map(({ namespace, label, key }) => [namespace, label, key].join(' ')).sort()).toEqual(
        expected.sort(),
      );
    });

    test('shows no divergence whose first result is gone', async () => {
      const address = addressOf('key', acme);
      await store.results.put(address, result(0));
      await store.results.put(address, result(1));
      for (const seen of await all()) if (!seen.isRival) expect(await review().remove(seen)).toBe(true);
      expect(await Array.fromAsync(review().divergences())).toEqual([]);
      expect(await store.results.get(address)).toBeUndefined();
    });

    test('removes what it saw, and nothing else', async () => {
      const [address, beside] = [addressOf('key', acme), addressOf('key')];
      for (const at of [address, beside]) await store.results.put(at, result(0), { writer: writer('a') });
      const [seen] = (await all()).filter((one) => one.address.namespace === acme);
      if (!seen) throw new Error('not listed');
      expect(await review().remove(seen)).toBe(true);
      expect(await store.results.get(address)).toBeUndefined();
      expect(await store.results.get(beside)).toBeDefined();
      expect(await review().remove(seen)).toBe(false);
      await store.results.put(address, result(1), { writer: writer('a') });
      expect(await review().remove(seen)).toBe(false);
      expect(await store.results.get(address)).toBeDefined();
    });

    test('does not remove the same result from another writer', async () => {
      const address = addressOf('key', acme);
      await store.results.put(address, result(0), { writer: writer('bad') });
      const [seen] = await all();
      if (!seen) throw new Error('not listed');
      expect(await review().remove(seen)).toBe(true);
      await store.results.put(address, result(0), { writer: writer('good') });
      expect(await review().remove(seen)).toBe(false);
      expect((await store.results.get(address))?.writer?.name).toBe('good');
    });

    test('removes a rival, and the first result stays', async () => {
      const address = addressOf('key', acme);
      await store.results.put(address, result(0));
      await store.results.put(address, result(1));
      for (const seen of await all()) if (seen.isRival) expect(await review().remove(seen)).toBe(true);
      expect((await all()).map(({ isRival }) => isRival)).toEqual([false]);
      expect(await store.results.get(address)).toBeDefined();
    });

    test('may remove while it lists', async () => {
      for (let number = 0; number < 150; number++)
        await store.results.put(addressOf(`${number}`, acme), result(0));
      let removed = 0;
      for await (const seen of review().results()) removed += (await review().remove(seen)) ? 1 : 0;
      expect(removed).toBe(150);
      expect(await all()).toEqual([]);
    });
  });

  describe(`writers of results in ${backend.name}`, () => {
    let opened: Opened;
    let events: StoreEvent[];
    beforeEach(async () => {
      events = [];
      opened = await backend.open((event) => events.push(event));
    });
    afterEach(() => opened.dispose());

    test('are kept with the result, and the first stays if the result comes again', async () => {
      const { store } = opened;
      const bytes = resultNaming(await putOne(store, contentOf('output', 100)));
      const by = { name: 'Zoë “CI”', from: '[2001:db8::1]:99', via: 'grpc', at: 1_800_000_000_123 };
      expect(await store.results.put(addressOf('key'), bytes, { writer: by })).toBe('stored');
      expect((await store.results.get(addressOf('key')))?.writer).toEqual(by);
      expect(await store.results.put(addressOf('key'), bytes, { writer: writer('b') })).toBe('unchanged');
      for (const _again of [1, 2]) expect((await store.results.get(addressOf('key')))?.writer).toEqual(by);
    });

    test('are those of the new result after a replacement, which is an event if the content differs', async () => {
      const { store } = opened;
      const address = addressOf('key');
      const [one, two] = await Promise.all(['1', '2'].map((name) => putOne(store, contentOf(name, 100))));
      const put = (of: typeof one, name: string) =>
        store.results.put(address, resultNaming(of ?? digestOf(Buffer.alloc(0))), {
          replace: true,
          writer: writer(name),
        });
      await put(one, 'a');
      await put(one, 'b');
      expect(events).toEqual([]);
      expect((await store.results.get(address))?.writer?.name).toBe('b');
      await put(two, 'c');
      expect(events).toEqual([{ type: 'replaced', address }]);
      expect((await store.results.get(address))?.writer?.name).toBe('c');
    });

    test('are those of the last change after an update', async () => {
      const { store } = opened;
      const address = addressOf('key');
      for (const name of ['a', 'b']) {
        const change = () => resultWith({ stdoutRaw: Buffer.from(name) });
        await store.results.update(address, change, writer(name));
        expect((await store.results.get(address))?.writer).toEqual(writer(name));
      }
      await store.results.update(address, () => undefined, writer('c'));
      expect((await store.results.get(address))?.writer?.name).toBe('b');
    });

    test('of a replaced result whose blobs were gone are no event', async () => {
      const { store } = opened;
      const [one, two] = ['1', '2'].map((name) => contentOf(name, 100));
      if (!one || !two) return;
      await store.results.put(addressOf('key'), resultNaming(await putOne(store, one)), { replace: true });
      await opened.lose(digestOf(one).hash);
      await store.results.put(addressOf('key'), resultNaming(await putOne(store, two)), { replace: true });
      expect(events).toEqual([]);
    });
  });
}

function brief({ writer: by }: StoredResult): string | undefined {
  return by?.name;
}
