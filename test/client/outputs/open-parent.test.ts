import { existsSync, mkdirSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withOpenParent } from '../../../client/outputs/open-parent.ts';
import { parseRelPath } from '../../../core/path.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
let outside = '';
beforeEach(() => {
  shop = new Workshop();
  outside = shop.another('outside');
  writeFileSync(join(shop.workspace, 'staged'), 'made');
});
afterEach(() => shop.remove());

const inside = (path: string) => join(shop.workspace, path);

test('missing folders are made', () => {
  withOpenParent(shop.workspace, parseRelPath('a/b/c'), (place) => renameSync(inside('staged'), place));
  expect(existsSync(inside('a/b/c'))).toBe(true);
});

test('a folder that is replaced by a link while it is open is not followed', () => {
  withOpenParent(shop.workspace, parseRelPath('a/b/c'), (place) => {
    renameSync(inside('a/b'), inside('a/aside'));
    symlinkSync(outside, inside('a/b'));
    renameSync(inside('staged'), place);
  });
  expect(readdirSync(outside)).toEqual([]);
  expect(existsSync(inside('a/aside/c'))).toBe(true);
});

test.each(['a', 'a/b'])('a link at %s is refused', (link) => {
  mkdirSync(join(outside, 'b'));
  if (link === 'a/b') mkdirSync(inside('a'));
  symlinkSync(outside, inside(link));
  const rename = () =>
    withOpenParent(shop.workspace, parseRelPath('a/b/c'), (place) => renameSync(inside('staged'), place));
  expect(rename).toThrow(/ASSAY_OUTPUT_UNFIT/);
  expect(readdirSync(outside)).toEqual(['b']);
});
