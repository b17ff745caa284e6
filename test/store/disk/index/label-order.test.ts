// Labels by prefix, in stores with many labels and in stores from before format 4.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../../../core/namespace.ts';
import { LAYOUT_VERSION } from '../../../../store/disk/fs/layout.ts';
import { DiskLabels } from '../../../../store/disk/index/labels.ts';
import { labelKeyOf } from '../../../../store/disk/index/records.ts';
import { type Table, type TableName, Tables } from '../../../../store/disk/index/tables.ts';
import { liveLabels } from '../../../../store/layers/labels.ts';
import { MemoryLeases } from '../../../rig/stores/memory/leases.ts';
import { addressOf, contentOf, putOne, resultNaming } from '../../content.ts';
import { useFolders } from '../../folders.ts';

const { folder, open } = useFolders();
const KEY = digestOf(Buffer.from('a result')).hash;
const TEAM = parseNamespace('team');

/** The tables of a new store that nothing else uses. */
async function newTables(): Promise<{ directory: string; tables: Tables }> {
  const directory = folder();
  await (await open({ directory })).close();
  return { directory, tables: new Tables(join(directory, LAYOUT_VERSION, 'index'), 0) };
}

/** As format 3 wrote them: records and the counter, without an order. */
async function writeUnordered(tables: Tables, labels: readonly string[]): Promise<void> {
  const table = tables.table('labels');
  await tables.commit(async () => {
    const puts = labels.map((label, index) =>
      table.put(labelKeyOf({ namespace: TEAM, label }), Buffer.from(KEY, 'hex'), index + 1),
    );
    puts.push(table.put(Buffer.from('!counter'), Buffer.alloc(1), labels.length));
    await Promise.all(puts);
    return true;
  });
}

/** Every label leads to a hit. */
const HITS = {
  get: async () => ({ bytes: Buffer.alloc(0), references: [] }),
  put: async () => 'unchanged' as const,
  update: async () => {},
};

async function first(labels: DiskLabels, prefix: string): Promise<string | undefined> {
  return (await liveLabels(labels, HITS, new MemoryLeases(Date.now)).newest(TEAM, [prefix]))?.label;
}

/** 10,000 labels of 100 branches; those of one branch were put one after another. */
const MANY = Array.from({ length: 10_000 }, (_, index) => `linux-branch${Math.floor(index / 100)}-${index}`);

test('labels of an earlier format are ordered by the first search, and so are later labels', async () => {
  const { tables } = await newTables();
  await writeUnordered(tables, MANY);
  const labels = new DiskLabels(tables);
  await labels.put({ namespace: TEAM, label: 'linux-branch7-new' }, KEY, undefined);
  expect(await first(labels, 'linux-branch7-')).toBe('linux-branch7-new');
  expect(await first(labels, 'linux-branch8-')).toBe('linux-branch8-899');
  expect(await first(labels, 'linux-')).toBe('linux-branch7-new');
  expect(await first(labels, 'linux-branch3')).toBe('linux-branch39-3999');
  expect(await first(labels, '')).toBe('linux-branch7-new');
  expect(await first(labels, 'mac-')).toBeUndefined();
  await tables.close();
});

test('the newest of 10,000 labels costs a few rows, for any prefix', async () => {
  const { tables } = await newTables();
  await writeUnordered(tables, MANY);
  const labels = new DiskLabels(tables);
  await first(labels, '');
  let rows = 0;
  const counted = (table: Table) =>
    new Proxy(table, {
      get(target, name) {
        if (name !== 'getRange') return Reflect.get(target, name);
        return (options: Parameters<Table['getRange']>[0]) => {
          const found = [...target.getRange(options)];
          rows += found.length;
          return found;
        };
      },
    });
  const watched = new Proxy(tables, {
    get(target, name) {
      if (name === 'table') return (asked: TableName) => counted(target.table(asked));
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const asked = new DiskLabels(watched);
  for (const prefix of ['', 'linux-', 'linux-branch0-', 'linux-branch50-', 'mac-', 'linux-branch50-5'])
    await first(asked, prefix);
  expect(rows).toBeLessThan(150);
  await tables.close();
});

describe('a label that is put again', () => {
  test('is found at its new position only', async () => {
    const store = await open({ directory: folder() });
    const result = async (name: string) => {
      const address = addressOf(name);
      await store.results.put(address, resultNaming(await putOne(store, contentOf(name, 100))));
      return address.key;
    };
    const put = async (label: string, key: string) =>
      store.labels.put({ namespace: DEFAULT_NAMESPACE, label }, digestOf(Buffer.from(key)).hash);
    expect(await put('a-1', 'never stored')).toBe('stored');
    await result('two');
    await put('a-2', 'two');
    await result('one');
    expect(await put('a-1', 'one')).toBe('stored');
    expect(await store.labels.newest(DEFAULT_NAMESPACE, ['a-'])).toMatchObject({ label: 'a-1' });
    expect(await store.labels.newest(DEFAULT_NAMESPACE, ['a-2'])).toMatchObject({ label: 'a-2' });
  });

  test('leaves no row behind, even if it has no letters or digits', async () => {
    const { tables } = await newTables();
    const labels = new DiskLabels(tables);
    const address = { namespace: TEAM, label: '-'.repeat(512) };
    const other = digestOf(Buffer.from('another result')).hash;
    await labels.put(address, KEY, undefined);
    const count = tables.table('order').getCount();
    expect(count).toBeLessThanOrEqual(32);
    await labels.put(address, other, { label: address.label, key: KEY });
    tables.refresh();
    expect(tables.table('order').getCount()).toBe(count);
    for (const length of [1, 31, 32, 33, 512])
      expect(await first(labels, '-'.repeat(length))).toBe(address.label);
    expect(await first(labels, '-'.repeat(513))).toBeUndefined();
    await tables.close();
  });
});

test('prefixes may end inside a character', async () => {
  const { tables } = await newTables();
  const labels = new DiskLabels(tables);
  for (const label of ['käse-1', 'käse-2', 'kätzchen', 'k', '日本-1'])
    await labels.put({ namespace: TEAM, label }, KEY, undefined);
  expect(await first(labels, 'kä')).toBe('kätzchen');
  expect(await first(labels, 'käs')).toBe('käse-2');
  expect(await first(labels, '日')).toBe('日本-1');
  expect(await first(labels, 'k')).toBe('k');
  await tables.close();
});
