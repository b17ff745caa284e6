// Points of a workspace: what a rollback writes, what it saves before, and what it refuses.
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { restorePoint as restore, savePoint as save } from '../points.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const named = (...folders: string[]) => ({ folders, workspace: shop.workspace, store: shop.store });
const read = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');
const exists = (path: string) => existsSync(join(shop.workspace, path));

test('a rollback writes what differs, and what it takes away can be restored in turn', async () => {
  shop.write('src/kept', 'kept');
  shop.write('src/deep/changed', 'before');
  shop.write('beside', 'not named');
  expect(await save('start', named('src', 'out'))).toEqual({ outcome: 'saved' });
  const inode = statSync(join(shop.workspace, 'src/kept')).ino;
  shop.write('src/deep/changed', 'after');
  shop.write('src/new', 'new');
  shop.write('out/made', 'made');
  shop.write('beside', 'changed');

  const back = await restore('start', named('src', 'out'));
  expect(back.written).toBe(2);
  expect([read('src/deep/changed'), exists('src/new'), exists('out'), read('beside')]).toEqual([
    'before',
    false,
    false,
    'changed',
  ]);
  expect(statSync(join(shop.workspace, 'src/kept')).ino).toBe(inode);

  expect(back.saved).toMatch(/^before start /);
  await restore(back.saved ?? '', named('src', 'out'));
  expect([read('src/deep/changed'), read('src/new'), read('out/made')]).toEqual(['after', 'new', 'made']);
});

test('a rollback to what is there writes nothing and saves nothing', async () => {
  shop.write('src/a', 'a');
  await save('start', named('src'));
  expect(await restore('start', named('src'))).toEqual({ written: 0 });
});

test('a label names its first point', async () => {
  shop.write('src/a', 'first');
  await save('start', named('src'));
  shop.write('src/a', 'second');
  expect(await save('start', named('src'))).toEqual({ outcome: 'taken' });
  await restore('start', named('src'));
  expect(read('src/a')).toBe('first');
});

test('a folder that is gone comes back', async () => {
  shop.write('src/a', 'a');
  await save('start', named('src'));
  rmSync(join(shop.workspace, 'src'), { recursive: true });
  expect(await restore('start', named('src'))).toEqual({ written: 1 });
  expect(read('src/a')).toBe('a');
});

test('another label, other folders and another store have no such point, and nothing changes', async () => {
  shop.write('src/a', 'a');
  shop.write('lib/a', 'a');
  await save('start', named('src'));
  shop.write('src/a', 'b');
  const notFound = { code: 'ASSAY_NOT_FOUND' };
  await expect(restore('other', named('src'))).rejects.toMatchObject(notFound);
  await expect(restore('start', named('src', 'lib'))).rejects.toMatchObject(notFound);
  await expect(
    restore('start', { ...named('src'), store: join(shop.folder, 'empty') }),
  ).rejects.toMatchObject(notFound);
  expect(read('src/a')).toBe('b');
});

test.each<[string, string[]]>([
  ['the whole workspace', ['.']],
  ['a folder above', ['../src']],
  ['an absolute folder', ['/etc']],
  ['the folder of Assay', ['.assay']],
  ['a folder in another', ['src', 'src/deep']],
  ['no folder', []],
])('%s is refused', async (_name, folders) => {
  shop.write('src/deep/a', 'a');
  await expect(save('start', named(...folders))).rejects.toMatchObject({
    code: expect.stringMatching(/^ASSAY_/),
  });
});

test('nothing to save is refused', async () => {
  await expect(save('start', named('none'))).rejects.toMatchObject({ code: 'ASSAY_OUTPUT_UNFIT' });
});
