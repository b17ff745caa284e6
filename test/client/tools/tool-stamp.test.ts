// A remembered tool counts as unchanged only if the same search would give the same key.
import { copyFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findTool, isUnchanged, type ToolStamp } from '../../../client/tools/tool-stamp.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
let early: string;
let late: string;

beforeEach(() => {
  shop = new Workshop();
  early = shop.another('early');
  late = shop.another('late');
});

afterEach(() => shop.remove());

function look(name: string): ToolStamp {
  const search = { name, path: `${early}:${late}`, folder: '' };
  const stamp = findTool(search)?.stamp ?? '';
  expect(isUnchanged({ ...search, stamp })).toBe(true);
  return { ...search, stamp };
}

function program(file: string, from = '/bin/true'): void {
  mkdirSync(dirname(file), { recursive: true });
  copyFileSync(from, file);
}

function script(file: string, interpreter: string): void {
  writeFileSync(file, `#!${interpreter}\n`, { mode: 0o755 });
}

test('a stamp changes if its program is replaced, removed or shadowed', () => {
  program(join(late, 'replaced'));
  program(join(late, 'gone'));
  program(join(late, 'shadowed'));
  const looks = ['replaced', 'gone', 'shadowed'].map(look);
  rmSync(join(late, 'replaced'));
  program(join(late, 'replaced'), '/bin/false');
  rmSync(join(late, 'gone'));
  program(join(early, 'shadowed'));
  expect(looks.map(isUnchanged)).toEqual([false, false, false]);
});

test('a stamp of a missing program changes if the program appears', () => {
  const missing = look('missing');
  program(join(late, 'missing'));
  expect(isUnchanged(missing)).toBe(false);
});

test('a stamp of a script changes with its interpreter', () => {
  program(join(late, 'interpreter'));
  script(join(late, 'direct'), join(late, 'interpreter'));
  script(join(late, 'indirect'), join(late, 'direct'));
  const looks = [look('direct'), look('indirect')];
  rmSync(join(late, 'interpreter'));
  program(join(late, 'interpreter'), '/bin/false');
  expect(looks.map(isUnchanged)).toEqual([false, false]);
});

test('a stamp changes if its program becomes part of a package', () => {
  const folder = join(shop.folder, 'node_modules/lib');
  program(join(folder, 'bin/lib'));
  symlinkSync(join(folder, 'bin/lib'), join(late, 'lib'));
  const before = look('lib');
  writeFileSync(join(folder, 'package.json'), '{"version":"1.0.0"}');
  expect(isUnchanged(before)).toBe(false);
});
