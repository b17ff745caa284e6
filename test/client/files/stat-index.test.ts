// When a digest may come from the stat index or the scan memo, and when it must not.
import { lstatSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { REQUEST_DEFAULTS, type RunRequest } from '../../../client/action/request.ts';
import { fileDigests } from '../../../client/files/file-digest.ts';
import { isSettled } from '../../../client/files/settled.ts';
import { StatIndex } from '../../../client/files/stat-index.ts';
import { InputReader } from '../../../client/inputs/inputs.ts';
import { ScanMemos } from '../../../client/inputs/scan-memo.ts';
import { INDEX } from '../../../client/limits.ts';
import { digestOf } from '../../../core/digest.ts';
import { ROOT } from '../../../core/path.ts';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
let indexFile: string;

beforeEach(() => {
  shop = new Workshop();
  indexFile = join(shop.folder, 'stat.index');
});

afterEach(() => shop.remove());

const stats = (file: string) => lstatSync(file);
const later = (milliseconds: number) => () => Date.now() + milliseconds;
const LONG_AFTER = later(INDEX.granularityMs * 10);
const OTHER = digestOf(Buffer.from('something else'));

test('a settled file is recorded across processes', async () => {
  const file = shop.write('a', 'content');
  const index = new StatIndex(indexFile);
  index.record('a', stats(file), OTHER, LONG_AFTER());
  index.save();
  const reopened = new StatIndex(indexFile);
  expect(reopened.lookup('a', stats(file))?.hash).toBe(OTHER.hash);
  expect(reopened.lookup('b', stats(file))).toBeUndefined();
});

test('a file that changed within the clock’s granularity of the lstat is not recorded', async () => {
  const file = shop.write('a', 'content');
  const index = new StatIndex(indexFile);
  index.record('a', stats(file), OTHER, stats(file).mtimeMs + 1);
  expect(index.lookup('a', stats(file))).toBeUndefined();
});

test('a file whose inode number is rounded is not recorded', () => {
  const settled = { mtimeMs: 1.5, ctimeMs: 1.5 };
  expect(isSettled({ ...settled, ino: Number.MAX_SAFE_INTEGER }, Date.now())).toBe(true);
  expect(isSettled({ ...settled, ino: Number.MAX_SAFE_INTEGER + 1 }, Date.now())).toBe(false);
});

test('a change of size, time or inode invalidates the entry, even if the old mtime is restored', async () => {
  const file = shop.write('a', 'content');
  const index = new StatIndex(indexFile);
  index.record('a', stats(file), OTHER, LONG_AFTER());
  const { atime, mtime } = lstatSync(file);
  writeFileSync(file, 'CONTENT');
  utimesSync(file, atime, mtime);
  expect(index.lookup('a', stats(file))).toBeUndefined();
});

test.each([
  ['truncated', (bytes: Buffer) => bytes.subarray(0, bytes.length - 5)],
  [
    'flipped',
    (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 1 : byte))),
  ],
  ['empty', () => Buffer.alloc(0)],
  ['another file', () => Buffer.from('this is no index at all, but it is long enough to be one')],
])('an index that is %s reads as missing', async (_name, spoil) => {
  const file = shop.write('a', 'content');
  const index = new StatIndex(indexFile);
  index.record('a', stats(file), OTHER, LONG_AFTER());
  index.save();
  writeFileSync(indexFile, spoil(readFileSync(indexFile)));
  expect(new StatIndex(indexFile).lookup('a', stats(file))).toBeUndefined();
});

test('two steps of one workspace keep each other’s entries', async () => {
  const [a, b] = [shop.write('a', 'a'), shop.write('b', 'b')];
  const first = new StatIndex(indexFile);
  first.record('a', stats(a), OTHER, LONG_AFTER());
  first.save();
  const second = new StatIndex(indexFile);
  second.record('b', stats(b), OTHER, LONG_AFTER());
  second.save();
  const both = new StatIndex(indexFile);
  expect([both.lookup('a', stats(a))?.hash, both.lookup('b', stats(b))?.hash]).toEqual([
    OTHER.hash,
    OTHER.hash,
  ]);
});

test('the workspaces of a store share the digest of a large program, and of nothing else', () => {
  const [large, small] = [shop.write('large', '', 0o755), shop.write('small', 'x', 0o755)];
  truncateSync(large, INDEX.programBytes);
  const programs = join(shop.folder, 'programs.index');
  const read: string[] = [];
  const inWorkspace = (name: string, as: readonly string[]) => {
    const indexes = [new StatIndex(join(shop.folder, name)), new StatIndex(programs)] as const;
    const digests = fileDigests(indexes[0], LONG_AFTER, indexes[1]);
    const found = as.map((path) => {
      const file = resolve(shop.workspace, path);
      const locate = () => {
        read.push(`${name} ${path}`);
        return file;
      };
      return digests.digest(path, stats(file), locate).hash;
    });
    for (const index of indexes) index.save();
    return found;
  };
  const first = inWorkspace('one', [large, small, 'large']);
  expect(inWorkspace('two', [large, small, 'large'])).toEqual(first);
  expect(read).toEqual([`one ${large}`, `one ${small}`, 'one large', `two ${small}`, 'two large']);
  writeFileSync(large, Buffer.alloc(INDEX.programBytes, 1));
  expect(inWorkspace('three', [large])).not.toEqual(first.slice(0, 1));
});

/** A reader with a memo, which counts the files that it reads. */
async function reader(now: () => number) {
  const index = new StatIndex(indexFile);
  const known = fileDigests(index, now);
  let asked = 0;
  const counting: typeof known = {
    digest(...args) {
      asked++;
      return known.digest(...args);
    },
  };
  const inputs = new InputReader(counting, new ScanMemos(join(shop.folder, 'scans')), now);
  return { root: () => inputs.read(request()).root.hash, asked: () => asked };
}

function request(): RunRequest {
  return {
    workspace: shop.workspace,
    workingDirectory: ROOT,
    command: ['true'],
    inputs: [
      { pattern: 'src/**', optional: false },
      { pattern: 'maybe/**', optional: true },
    ],
    outputs: [],
    variables: [],
    tools: [],
    ...REQUEST_DEFAULTS,
  };
}

test('an unchanged scan comes from the memo without a single digest', async () => {
  shop.write('src/a', 'a');
  shop.write('src/deep/b', 'b');
  const first = await reader(LONG_AFTER);
  const root = first.root();
  expect(first.asked()).toBe(2);
  const second = await reader(LONG_AFTER);
  expect(second.root()).toBe(root);
  expect(second.asked()).toBe(0);
});

test.each([
  ['a changed file', () => shop.write('src/deep/b', 'B')],
  ['a new file', () => shop.write('src/deep/new', 'n')],
  ['a new file in an optional folder that was missing', () => shop.write('maybe/x', 'x')],
  ['an executable bit', () => shop.write('src/a', 'a', 0o755)],
  ['a new .gitignore', () => shop.write('src/.gitignore', 'a\n')],
  ['a new empty folder', () => shop.another('workspace/src/empty')],
])('%s invalidates the scan memo', async (_name, change) => {
  shop.write('src/a', 'a');
  shop.write('src/deep/b', 'b');
  const root = (await reader(LONG_AFTER)).root();
  change();
  expect((await reader(LONG_AFTER)).root()).not.toBe(root);
});

test('a scan with unsettled stats is not recorded', async () => {
  shop.write('src/a', 'a');
  const soon = later(1);
  (await reader(soon)).root();
  const second = await reader(soon);
  second.root();
  expect(second.asked()).toBe(1);
});
