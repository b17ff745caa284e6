// Where two results of one key differ: the first output by path, and the first byte in it.
import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Digest, digestOf, toWire } from '../../../core/digest.ts';
import { parseRelPath } from '../../../core/path.ts';
import { type ActionResult, Directory } from '../../../core/proto/generated/reapi.ts';
import { type Entry, encodeTree } from '../../../core/tree.ts';
import { STORE } from '../../../store/limits.ts';
import { openDiskStore } from '../../../store/open.ts';
import { firstDifference } from '../../../store/review/first-difference.ts';
import type { Store } from '../../../store/store.ts';
import { makeQuickFolder } from '../../rig/folders.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import {
  contentOf,
  directoryOf,
  outputFile,
  outputRoot,
  outputTree,
  putOne,
  resultWith,
} from '../content.ts';

let store: Store;
beforeEach(() => {
  store = openMemoryStore();
});

const compare = (first: Partial<ActionResult>, second: Partial<ActionResult>, left?: number) =>
  firstDifference(store.blobs, resultWith(first), resultWith(second), { left });
const put = (text: string | Buffer) => putOne(store, Buffer.from(text));
const file = async (path: string, text: string | Buffer) => outputFile(path, await put(text));
const files = async (texts: Readonly<Record<string, string>>) => ({
  outputFiles: await Promise.all(Object.entries(texts).map(([path, text]) => file(path, text))),
});

const hex = (text: string) => Buffer.from(text).toString('hex');

describe('files', () => {
  test('the first by path, whatever the order in the results, and its first differing byte', async () => {
    const first = await files({ z: 'same', 'b/c': 'hello world', a: 'same', d: 'also other' });
    const second = await files({ d: 'other', a: 'same', 'b/c': 'hello World', z: 'same' });
    expect(await compare(first, second)).toEqual({
      output: {
        path: 'b/c',
        how: 'content',
        sizes: [11, 11],
        offset: 6,
        bytes: [hex('world'), hex('World')],
      },
    });
    expect(await compare(first, first)).toEqual({});
  });

  test.each([
    ['abc', 'abcd', 3],
    ['abcd', 'abc', 3],
    ['', 'x', 0],
    ['xbc', 'abc', 0],
    ['abc', 'abx', 2],
  ])('%j and %j differ at %d', async (a, b, offset) => {
    const found = await compare(await files({ out: a }), await files({ out: b }));
    const bytes = [hex(a.slice(offset)), hex(b.slice(offset))];
    const sizes = [a.length, b.length];
    expect(found.output).toEqual({ path: 'out', how: 'content', sizes, offset, bytes });
  });

  test('a file that only one of them has', async () => {
    const [more, less] = [await files({ a: '1', b: '2' }), await files({ a: '1' })];
    expect(await compare(more, less)).toEqual({ output: { path: 'b', how: 'only-in', side: 'first' } });
    expect(await compare(less, more)).toEqual({ output: { path: 'b', how: 'only-in', side: 'second' } });
  });

  test('the executable bit', async () => {
    const plain = await file('tool', 'x');
    expect(
      await compare({ outputFiles: [plain] }, { outputFiles: [{ ...plain, isExecutable: true }] }),
    ).toEqual({ output: { path: 'tool', how: 'executable', executable: [false, true] } });
  });

  test('a blob that is gone is named as such', async () => {
    const here = await file('out', 'here');
    const nowhere = [1, 2].map((n) => outputFile('out', digestOf(Buffer.from(`nowhere ${n}`))));
    const [one, two] = nowhere.map((output) => ({ outputFiles: [output] }));
    if (!one || !two) throw new Error('not made');
    const sides: [Partial<ActionResult>, Partial<ActionResult>, string][] = [
      [{ outputFiles: [here] }, one, 'second'],
      [one, { outputFiles: [here] }, 'first'],
      [one, two, 'both'],
    ];
    for (const [first, second, gone] of sides)
      expect((await compare(first, second)).output).toMatchObject({ path: 'out', how: 'content', gone });
  });
});

describe('links, kinds and exit codes', () => {
  const links = (target: string) => ({ outputSymlinks: [{ path: 'link', target }] });

  test('another target, also if a client used an older field for the link', async () => {
    expect(await compare(links('a'), { outputFileSymlinks: [{ path: 'link', target: 'b' }] })).toEqual({
      output: { path: 'link', how: 'target', targets: ['a', 'b'] },
    });
    expect(await compare(links('a'), { outputDirectorySymlinks: [{ path: 'link', target: 'a' }] })).toEqual(
      {},
    );
  });

  test('another kind', async () => {
    const folder = { outputDirectories: [outputTree('link', await put(Buffer.from(encodeTree([]))))] };
    expect(await compare(links('a'), await files({ link: 'x' }))).toEqual({
      output: { path: 'link', how: 'kind', kinds: ['link', 'file'] },
    });
    expect((await compare(folder, links('a'))).output).toMatchObject({ kinds: ['folder', 'link'] });
  });

  test('exit codes are named together with the first output', async () => {
    expect(await compare({ exitCode: 1 }, { exitCode: 0 })).toEqual({ exitCodes: [1, 0] });
    expect(await compare({ exitCode: 1 }, { exitCode: 0, ...(await files({ a: 'x' })) })).toEqual({
      exitCodes: [1, 0],
      output: { path: 'a', how: 'only-in', side: 'second' },
    });
  });
});

describe('folders', () => {
  const tree = async (...entries: readonly (readonly [string, string | Entry['kind']])[]) => {
    const made = await Promise.all(
      entries.map(async ([path, text]): Promise<Entry> => {
        const at = parseRelPath(path);
        if (text === 'directory') return { kind: 'directory', path: at };
        if (text.startsWith('-> ')) return { kind: 'symlink', path: at, target: text.slice(3) };
        return { kind: 'file', path: at, digest: await put(text), executable: false };
      }),
    );
    return { outputDirectories: [outputTree('dist', await put(Buffer.from(encodeTree(made))))] };
  };

  test('the first differing file in a Tree, however deep', async () => {
    const first = await tree(['a/b/c/deep.js', 'var x = 1'], ['a/b/same.js', 'same'], ['z.js', '1']);
    const second = await tree(['a/b/c/deep.js', 'var x = 2'], ['a/b/same.js', 'same'], ['z.js', '2']);
    expect(await compare(first, second)).toEqual({
      output: { path: 'dist/a/b/c/deep.js', how: 'content', sizes: [9, 9], offset: 8, bytes: ['31', '32'] },
    });
  });

  test('links, missing files and empty folders in a Tree', async () => {
    const base = ['a/one', '1'] as const;
    const cases = [
      [await tree(base, ['l', '-> x']), await tree(base, ['l', '-> y']), { path: 'dist/l', how: 'target' }],
      [await tree(base, ['a/two', '2']), await tree(base), { path: 'dist/a/two', side: 'first' }],
      [await tree(base), await tree(base, ['empty', 'directory']), { path: 'dist/empty', side: 'second' }],
      [await tree(base), await tree(['a', 'a file']), { path: 'dist/a', kinds: ['folder', 'file'] }],
    ] as const;
    for (const [first, second, found] of cases)
      expect((await compare(first, second)).output).toMatchObject(found);
  });

  test('a folder that is stored as Directory messages', async () => {
    const inner = async (text: string) => put(directoryOf([await put(text)]));
    const root = async (text: string) => ({
      outputDirectories: [
        outputRoot('dist', await put(directoryOf([], [await inner('same'), await inner(text)]))),
      ],
    });
    expect((await compare(await root('one'), await root('two'))).output).toEqual({
      path: 'dist/d1/f0',
      how: 'content',
      sizes: [3, 3],
      offset: 0,
      bytes: [hex('one'), hex('two')],
    });
  });

  test('a Tree that is gone is named as such', async () => {
    const first = await tree(['a', '1']);
    const second = { outputDirectories: [outputTree('dist', digestOf(Buffer.from('nowhere')))] };
    expect((await compare(first, second)).output).toEqual({ path: 'dist', how: 'folder', gone: 'second' });
  });

  test('a pair of folders that is named many times is compared once', async () => {
    // Equal but for a field that no client sees, so that no difference ends the comparison early.
    const bomb = async (colour: string) => {
      let below: Digest = await put(
        Buffer.from(
          Directory.encode({
            files: [],
            directories: [],
            symlinks: [],
            nodeProperties: { properties: [{ name: 'colour', value: colour }] },
          }).finish(),
        ),
      );
      for (let level = 0; level < 40; level++) below = await put(directoryOf([], [below, below]));
      return { outputDirectories: [outputRoot('dist', below)] };
    };
    expect(await compare(await bomb('red'), await bomb('blue'))).toEqual({});
  });
});

describe('logs', () => {
  test('in the result or in a blob, only if the outputs are equal', async () => {
    const raw = { stdoutRaw: Buffer.from('took 1 s'), stderrRaw: Buffer.from('x') };
    const digest = { stdoutDigest: toWire(await put('took 2 s')), stderrRaw: Buffer.from('x') };
    expect(await compare(raw, digest)).toEqual({
      log: { stream: 'stdout', offset: 5, bytes: [hex('1 s'), hex('2 s')] },
    });
    expect(await compare(raw, { ...raw, stderrRaw: Buffer.from('y') })).toEqual({
      log: { stream: 'stderr', offset: 0, bytes: ['78', '79'] },
    });
    expect((await compare({ ...raw, ...(await files({ a: '1' })) }, digest)).log).toBeUndefined();
  });
});

describe('large blobs on a disk', () => {
  let folder: string;
  beforeEach(async () => {
    folder = makeQuickFolder();
    store = await openDiskStore({ directory: folder });
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('are compared as streams, up to a budget', async () => {
    const size = 5 * STORE.chunkBytes + 123;
    const offset = 4 * STORE.chunkBytes + 77;
    const one = contentOf('large', size);
    const two = Buffer.from(one);
    two.writeUInt8(one.readUInt8(offset) ^ 1, offset);
    const [first, second] = [
      { outputFiles: [await file('big', one)] },
      { outputFiles: [await file('big', two)] },
    ];
    expect((await compare(first, second)).output).toMatchObject({ path: 'big', offset, sizes: [size, size] });
    expect((await compare(first, second, 2 * STORE.chunkBytes)).output).toMatchObject({ notCompared: true });
    const longer = { outputFiles: [await file('big', Buffer.concat([one, Buffer.from('more')]))] };
    expect((await compare(first, longer)).output).toMatchObject({ offset: size, sizes: [size, size + 4] });
    const small = { outputFiles: [await file('big', one.subarray(0, 100))] };
    expect((await compare(small, first)).output).toMatchObject({ offset: 100 });
  });
});
