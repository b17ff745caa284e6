// The links of Bazel's layouts: which paths stand for inputs, and which folders are source trees.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findInputLinks } from '../../../client/inputs/input-links.ts';
import { parseRelPath } from '../../../core/path.ts';

let folder: string;
let root: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-links-')));
  root = join(folder, 'root');
  mkdirSync(root);
  for (const path of ['src/words/in.txt', 'src/words/deep/two.txt', 'base/external/lib/lib.h', 'renamed/x'])
    write(join(folder, path));
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, '');
}

function link(path: string, target: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  symlinkSync(join(folder, target), join(root, path));
}

/** Paths without the folder of the test. */
function found(...inputs: string[]) {
  const { links, paths, trees } = findInputLinks(inputs.map(parseRelPath), root);
  const short = (path: string) => path.slice(folder.length + 1);
  return {
    links: [...links].map(short).sort(),
    paths: Object.fromEntries([...paths].map(([real, path]) => [short(real), path])),
    trees: Object.fromEntries([...trees].map(([path, tree]) => [path, short(tree)])),
  };
}

test('a workspace without links has none', () => {
  write(join(root, 'words/in.txt'));
  expect(found('words/in.txt')).toEqual({ links: [], paths: {}, trees: {} });
});

test('a link to a folder of the source tree', () => {
  link('words', 'src/words');
  expect(found('words/in.txt', 'words/deep/two.txt')).toEqual({
    links: ['root/words'],
    paths: {
      'src/words': 'words',
      'src/words/in.txt': 'words/in.txt',
      'src/words/deep': 'words/deep',
      'src/words/deep/two.txt': 'words/deep/two.txt',
    },
    trees: { words: 'src' },
  });
});

test('a link to each input, from two source trees', () => {
  link('words/deep/two.txt', 'src/words/deep/two.txt');
  link('external/lib/lib.h', 'base/external/lib/lib.h');
  expect(found('words/deep/two.txt', 'external/lib/lib.h')).toMatchObject({
    paths: {
      'src/words/deep': 'words/deep',
      'src/words': 'words',
      'base/external/lib/lib.h': 'external/lib/lib.h',
    },
    trees: { 'external/lib/lib.h': 'base', 'words/deep/two.txt': 'src' },
  });
});

test('a link to a link: each is on the way, and the tree is where the file lies', () => {
  link('words', 'execroot/words');
  mkdirSync(join(folder, 'execroot'));
  symlinkSync(join(folder, 'src/words'), join(folder, 'execroot/words'));
  expect(found('words/in.txt')).toMatchObject({
    links: ['execroot/words', 'root/words'],
    trees: { words: 'src' },
  });
});

test('a link to another name is no source tree, and its folders are not the layout’s', () => {
  link('words/in.txt', 'renamed/x');
  expect(found('words/in.txt')).toEqual({
    links: ['root/words/in.txt'],
    paths: { 'renamed/x': 'words/in.txt' },
    trees: {},
  });
});

test('the root of the file system is no source tree', () => {
  const own = folder.slice(1);
  mkdirSync(join(root, dirname(own)), { recursive: true });
  symlinkSync(folder, join(root, own));
  expect(found(`${own}/src/words/in.txt`).trees).toEqual({});
});

test('a loop and a missing file end', () => {
  symlinkSync(join(root, 'loop'), join(root, 'loop'));
  expect(found('loop/x', 'nowhere/y').trees).toEqual({});
});
