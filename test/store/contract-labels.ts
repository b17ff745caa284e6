// The contract of labels. Every engine passes it.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Hash } from '../../core/digest.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../core/namespace.ts';
import { STORE } from '../../store/limits.ts';
import type { Labels, Store } from '../../store/store.ts';
import { addressOf, contentOf, putOne, resultNaming } from './content.ts';
import type { Backend, Opened } from './contract.ts';

const TEAM = parseNamespace('team');

export function describeLabels(backend: Backend): void {
  describe(`labels in ${backend.name}`, () => {
    let opened: Opened;
    let store: Store;
    let labels: Labels;

    beforeEach(async () => {
      opened = await backend.open(() => {});
      store = opened.store;
      labels = store.labels;
    });

    afterEach(() => opened.dispose());

    /** Stores a result that is a hit, with one output of the same name. */
    async function result(name: string, namespace = DEFAULT_NAMESPACE): Promise<Hash> {
      const address = addressOf(name, namespace);
      await store.results.put(address, resultNaming(await putOne(store, contentOf(name, 100))));
      return address.key;
    }

    async function labelAll(...names: string[]): Promise<void> {
      for (const name of names)
        await labels.put({ namespace: DEFAULT_NAMESPACE, label: name }, await result(name));
    }

    const newest = async (...prefixes: string[]) => (await labels.newest(DEFAULT_NAMESPACE, prefixes))?.label;

    test('are found by their full name', async () => {
      const key = await result('one');
      expect(await labels.put({ namespace: DEFAULT_NAMESPACE, label: 'linux-abc' }, key)).toBe('stored');
      expect(await labels.newest(DEFAULT_NAMESPACE, [], 'linux-abc')).toEqual({ label: 'linux-abc', key });
      expect(await labels.newest(DEFAULT_NAMESPACE, [], 'linux-ab')).toBeUndefined();
      expect(await labels.newest(DEFAULT_NAMESPACE, [])).toBeUndefined();
    });

    test('are found by prefix, newest first, in whatever order they were put', async () => {
      await labelAll('linux-b', 'linux-c', 'linux-a', 'mac-z');
      expect(await newest('linux-')).toBe('linux-a');
      expect(await newest('linux-c')).toBe('linux-c');
      expect(await newest('')).toBe('mac-z');
      expect(await newest('win-', 'linux-b')).toBe('linux-b');
      expect(await newest('win-', 'linux')).toBe('linux-a');
      expect(await newest('linux-abc')).toBeUndefined();
    });

    test('with an exact name win over labels with that prefix', async () => {
      await labelAll('linux-1', 'linux-2');
      expect((await labels.newest(DEFAULT_NAMESPACE, ['linux-'], 'linux-1'))?.label).toBe('linux-1');
      expect((await labels.newest(DEFAULT_NAMESPACE, ['linux-'], 'linux-3'))?.label).toBe('linux-2');
    });

    test('keep the result that they named first', async () => {
      const [first, second] = [await result('first'), await result('second')];
      const address = { namespace: DEFAULT_NAMESPACE, label: 'same' };
      expect(await labels.put(address, first)).toBe('stored');
      expect(await labels.put(address, second)).toBe('taken');
      expect(await labels.put(address, first)).toBe('stored');
      expect(await labels.newest(DEFAULT_NAMESPACE, [], 'same')).toEqual({ label: 'same', key: first });
    });

    test('are taken by exactly one of several concurrent puts', async () => {
      const keys = await Promise.all(['a', 'b', 'c', 'd'].map((name) => result(name)));
      const outcomes = await Promise.all(
        keys.map((key) => labels.put({ namespace: DEFAULT_NAMESPACE, label: 'same' }, key)),
      );
      expect(outcomes.toSorted()).toEqual(['stored', 'taken', 'taken', 'taken']);
    });

    test('are listed by prefix, newest first, without those whose result is gone', async () => {
      await labelAll('a-1', 'b-1', 'a-3', 'a-2');
      const list = async (prefix: string) =>
        (await labels.all(DEFAULT_NAMESPACE, prefix)).map(({ label }) => label);
      expect(await list('a-')).toEqual(['a-2', 'a-3', 'a-1']);
      await opened.lose((await putOne(store, contentOf('a-3', 100))).hash);
      expect(await list('')).toEqual(['a-2', 'b-1', 'a-1']);
      expect(await labels.all(TEAM, '')).toEqual([]);
    });

    test('whose result is gone are taken by exactly one of several concurrent puts', async () => {
      const address = { namespace: DEFAULT_NAMESPACE, label: 'same' };
      expect(await labels.put(address, addressOf('gone').key)).toBe('stored');
      const keys = await Promise.all(['a', 'b', 'c', 'd'].map((name) => result(name)));
      const outcomes = await Promise.all(keys.map((key) => labels.put(address, key)));
      expect(outcomes.toSorted()).toEqual(['stored', 'taken', 'taken', 'taken']);
      const taken = keys[outcomes.indexOf('stored')];
      expect(await labels.newest(DEFAULT_NAMESPACE, [], 'same')).toEqual({ label: 'same', key: taken });
    });

    test('are visible only in their namespace', async () => {
      await labels.put({ namespace: TEAM, label: 'x' }, await result('x', TEAM));
      expect(await labels.newest(DEFAULT_NAMESPACE, [''], 'x')).toBeUndefined();
      expect(await labels.newest(parseNamespace('tea'), ['', 'm'], 'x')).toBeUndefined();
      expect((await labels.newest(TEAM, ['']))?.label).toBe('x');
    });

    test('of a result that is gone are not found, and can be put again', async () => {
      await labelAll('old', 'older-but-newer');
      await opened.lose((await putOne(store, contentOf('older-but-newer', 100))).hash);
      expect(await newest('old')).toBe('old');
      const other = await result('other');
      const address = { namespace: DEFAULT_NAMESPACE, label: 'older-but-newer' };
      expect(await labels.put(address, other)).toBe('stored');
      expect(await labels.newest(DEFAULT_NAMESPACE, ['old'])).toEqual({ label: address.label, key: other });
    });

    test('are found among many', async () => {
      const key = await result('one');
      const count = STORE.rangeEntries + 21;
      await result('one', TEAM);
      for (let index = 0; index < count; index++)
        await labels.put({ namespace: TEAM, label: `l-${(index * 7) % count}` }, key);
      expect(await labels.newest(TEAM, ['l-'])).toEqual({ label: `l-${((count - 1) * 7) % count}`, key });
    });

    test.each(['', 'a\0b', 'x'.repeat(STORE.maxLabelBytes + 1), '\ud800'])(
      'refuse an invalid label: %j',
      async (label) => {
        await expect(labels.put({ namespace: TEAM, label }, await result('one'))).rejects.toMatchObject({
          code: 'ASSAY_BAD_LABEL',
        });
        expect(await labels.newest(TEAM, [`${label}\0`], label)).toBeUndefined();
      },
    );

    test('may contain any character', async () => {
      await labelAll('ü/🎉 "x"', 'x'.repeat(STORE.maxLabelBytes));
      expect(await newest('ü/')).toBe('ü/🎉 "x"');
      expect(await newest('xxx')).toBe('x'.repeat(STORE.maxLabelBytes));
    });
  });
}
