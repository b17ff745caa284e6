import { describe, expect, test } from 'vitest';
import { type Digest, digestOf, toWire } from '../../core/digest.ts';
import { parseRelPath } from '../../core/path.ts';
import { Directory, Tree } from '../../core/proto/generated/reapi.ts';
import { decodeTree, type Entry, encodeDirectories, encodeTree, filesInTree } from '../../core/tree.ts';
import { Random } from '../rig/random.ts';

const file = (path: string, content = path, executable = false): Entry => ({
  kind: 'file',
  path: parseRelPath(path),
  digest: digestOf(Buffer.from(content)),
  executable,
});
const link = (path: string, target: string): Entry => ({ kind: 'symlink', path: parseRelPath(path), target });
const folder = (path: string): Entry => ({ kind: 'directory', path: parseRelPath(path) });

const SAMPLE: readonly Entry[] = [
  file('a.txt'),
  file('run.sh', '#!/bin/sh\n', true),
  link('latest', 'a.txt'),
  link('up', '../elsewhere'),
  folder('empty'),
  folder('src'),
  file('src/main.c'),
  folder('src/deep'),
  file('src/deep/𝒳'),
  file('src/deep/\uffee'),
  folder('src/deep/empty'),
  folder('twin-1'),
  file('twin-1/same', 'same'),
  folder('twin-2'),
  file('twin-2/same', 'same'),
];

const byPath = (entries: readonly Entry[]) => [...entries].sort((a, b) => (a.path < b.path ? -1 : 1));

describe('the same files give the same bytes', () => {
  const seed = 11;

  test(`in whatever order they were found (seed ${seed})`, () => {
    const random = new Random(seed);
    const tree = encodeTree(SAMPLE);
    const root = encodeDirectories(SAMPLE).root;
    for (let round = 0; round < 200; round++) {
      const found = random.shuffled(SAMPLE);
      expect(Buffer.from(encodeTree(found))).toEqual(Buffer.from(tree));
      expect(encodeDirectories(found).root).toEqual(root);
    }
  });

  test('whether or not folders with content are listed', () => {
    const implied = SAMPLE.filter(({ kind, path }) => kind !== 'directory' || path.endsWith('empty'));
    expect(encodeDirectories(implied).root).toEqual(encodeDirectories(SAMPLE).root);
  });

  test('and lists are in the order of bytes, not of UTF-16', () => {
    const tree = Tree.decode(encodeTree([file('𝒳'), file('\uffee')]));
    expect(tree.root?.files.map(({ name }) => name)).toEqual(['\uffee', '𝒳']);
  });
});

describe('a difference gives other bytes', () => {
  const original = [file('f', 'content'), link('l', 'f'), folder('d')];
  const key = (entries: readonly Entry[]) => encodeDirectories(entries).root.hash;

  test.each<[string, Entry[]]>([
    ['content', [file('f', 'CONTENT'), link('l', 'f'), folder('d')]],
    ['the executable bit', [file('f', 'content', true), link('l', 'f'), folder('d')]],
    ['a name', [file('g', 'content'), link('l', 'f'), folder('d')]],
    ['a link’s target', [file('f', 'content'), link('l', 'g'), folder('d')]],
    ['a link in place of its file', [file('f', 'content'), file('l', 'content'), folder('d')]],
    ['an empty folder less', [file('f', 'content'), link('l', 'f')]],
    ['an empty folder more', [file('f', 'content'), link('l', 'f'), folder('d'), folder('d/e')]],
  ])('%s', (_, changed) => {
    expect(key(changed)).not.toBe(key(original));
  });
});

describe('a Tree comes back as it went in', () => {
  test('with links, empty folders and executable bits', () => {
    expect(byPath(decodeTree(encodeTree(SAMPLE)))).toEqual(byPath(SAMPLE));
  });

  test('an empty folder', () => {
    expect(decodeTree(encodeTree([]))).toEqual([]);
    expect(decodeTree(new Uint8Array(0))).toEqual([]);
  });

  test('parents come before children', () => {
    const seen = new Set(['']);
    for (const { path, kind } of decodeTree(encodeTree(SAMPLE))) {
      expect(seen).toContain(path.slice(0, Math.max(0, path.lastIndexOf('/'))));
      if (kind === 'directory') seen.add(path);
    }
  });

  test('random folders (seed 5)', () => {
    const random = new Random(5);
    for (let round = 0; round < 100; round++) {
      const entries = randomEntries(random);
      expect(byPath(decodeTree(encodeTree(entries)))).toEqual(byPath(entries));
    }
  });

  function randomEntries(random: Random): Entry[] {
    const folders = [''];
    const entries = new Map<string, Entry>();
    for (let count = random.below(30); count > 0; count--) {
      const parent = random.pick(folders);
      const name = random.pick(['a', 'b', 'c', 'ä', '%bytes:ff', '𝒳', ' ']);
      const path = parent === '' ? name : `${parent}/${name}`;
      if (entries.has(path)) continue;
      const kind = random.below(3);
      entries.set(path, kind === 0 ? file(path) : kind === 1 ? link(path, name) : folder(path));
      if (kind === 2) folders.push(path);
    }
    return [...entries.values()];
  }
});

describe('folders as blobs', () => {
  test('each distinct one once, under the address of its bytes', () => {
    const { root, blobs } = encodeDirectories(SAMPLE);
    for (const [hash, bytes] of blobs) expect(digestOf(bytes).hash).toBe(hash);
    expect(blobs.has(root.hash)).toBe(true);
    const distinct = ['root', 'src', 'src/deep', 'empty and src/deep/empty', 'twin-1 and twin-2'];
    expect(blobs.size).toBe(distinct.length);
  });

  test('one path twice is refused', () => {
    expect(() => encodeDirectories([file('a', '1'), file('a', '2')])).toThrow(/ASSAY_INTERNAL/);
    expect(() => encodeDirectories([file('a'), file('a/b')])).toThrow(/ASSAY_INTERNAL/);
    expect(() => encodeTree([file('a'), link('a', 'b')])).toThrow(/ASSAY_INTERNAL/);
  });
});

describe('the files of a Tree', () => {
  test('are listed once each, from every folder', () => {
    const expected = new Set(SAMPLE.flatMap((entry) => (entry.kind === 'file' ? [entry.digest.hash] : [])));
    const files = filesInTree(encodeTree(SAMPLE));
    expect(new Set(files.map(({ hash }) => hash))).toEqual(expected);
    expect(files).toHaveLength(expected.size);
  });

  test('keep one hash with two sizes apart, so that the wrong size is missed', () => {
    const { hash, size } = digestOf(Buffer.from('x'));
    const tree = encodeTree([
      { kind: 'file', path: parseRelPath('right'), digest: { hash, size }, executable: false },
      { kind: 'file', path: parseRelPath('wrong'), digest: { hash, size: size + 1 }, executable: false },
    ]);
    expect(filesInTree(tree).map((leaf) => leaf.size)).toEqual([size, size + 1]);
  });
});

describe('a hostile Tree is refused', () => {
  const digest = toWire(digestOf(Buffer.from('x')));
  const directory = (parts: Partial<Directory>): Directory => ({
    files: [],
    directories: [],
    symlinks: [],
    ...parts,
  });
  const encode = (root: Directory, children: Directory[] = []) => Tree.encode({ root, children }).finish();
  const fileNamed = (name: string) => ({ name, digest, isExecutable: false });

  const BAD_NAMES = [
    '',
    '.',
    '..',
    '/',
    'a/b',
    '../x',
    '/etc',
    'a\0b',
    'x'.repeat(256),
    '%bytes:2e2e',
    '%bytes:2f',
  ];

  test.each(BAD_NAMES)('a file named %j', (name) => {
    expect(() => decodeTree(encode(directory({ files: [fileNamed(name)] })))).toThrow(/ASSAY_BAD_PATH/);
  });

  test.each(BAD_NAMES)('a link named %j', (name) => {
    const root = directory({ symlinks: [{ name, target: 't' }] });
    expect(() => decodeTree(encode(root))).toThrow(/ASSAY_BAD_PATH/);
  });

  test.each(BAD_NAMES)('a folder named %j', (name) => {
    const child = directory({});
    const root = directory({ directories: [{ name, digest: digestWire(child) }] });
    expect(() => decodeTree(encode(root, [child]))).toThrow(/ASSAY_BAD_PATH/);
  });

  test.each(['', 'a\0b'])('a link to %j', (target) => {
    const root = directory({ symlinks: [{ name: 'l', target }] });
    expect(() => decodeTree(encode(root))).toThrow(/no possible target/);
  });

  test('one name as a file and as a link, through which the file would be written', () => {
    const root = directory({ files: [fileNamed('a')], symlinks: [{ name: 'a', target: '/etc/passwd' }] });
    expect(() => decodeTree(encode(root))).toThrow(/twice in one folder/);
  });

  test('one name as a link and as a folder, through which files would be written', () => {
    const child = directory({ files: [fileNamed('passwd')] });
    const root = directory({
      symlinks: [{ name: 'a', target: '/etc' }],
      directories: [{ name: 'a', digest: digestWire(child) }],
    });
    expect(() => decodeTree(encode(root, [child]))).toThrow(/twice in one folder/);
  });

  test('a folder that it does not hold', () => {
    const root = directory({ directories: [{ name: 'a', digest }] });
    expect(() => decodeTree(encode(root))).toThrow(/does not hold its folder/);
    const nameless = directory({ directories: [{ name: 'a' }] });
    expect(() => decodeTree(encode(nameless))).toThrow(/does not hold its folder/);
  });

  test('a file without a digest, or with a malformed one', () => {
    const without = encode(directory({ files: [{ name: 'a', isExecutable: false }] }));
    expect(() => decodeTree(without)).toThrow(/ASSAY_RESULT_MALFORMED/);
    expect(() => filesInTree(without)).toThrow(/ASSAY_RESULT_MALFORMED/);
    const malformed = { name: 'a', isExecutable: false, digest: { hash: '../../x', sizeBytes: 1 } };
    expect(() => decodeTree(encode(directory({ files: [malformed] })))).toThrow(/ASSAY_BAD_DIGEST/);
  });

  test('bytes that are no Tree', () => {
    for (const bytes of [Buffer.from([0]), Buffer.from('no tree'), Buffer.from([0x0a, 0xff])]) {
      expect(() => decodeTree(bytes)).toThrow(/ASSAY_RESULT_MALFORMED/);
      expect(() => filesInTree(bytes)).toThrow(/ASSAY_RESULT_MALFORMED/);
    }
  });

  test.each([
    { title: 'two to the power of 40 short names', width: 2, nameLength: 1, depth: 40 },
    {
      title: 'names so long that their text alone would fill the memory',
      width: 64,
      nameLength: 255,
      depth: 15,
    },
  ])('a small Tree that would unfold to $title', ({ width, nameLength, depth }) => {
    const bytes = nestedDoll(width, nameLength, depth);
    expect(bytes.byteLength).toBeLessThan(400_000);
    expect(() => decodeTree(bytes)).toThrow(/more entries than Assay restores/);
  });

  test('a Tree deeper than any path', () => {
    expect(() => decodeTree(nestedDoll(1, 1, 3_000))).toThrow(/longer than 4096/);
  });

  /** Each folder names the one before it `width` times. */
  function nestedDoll(width: number, nameLength: number, depth: number): Uint8Array {
    const names = Array.from({ length: width }, (_, index) => String(index).padEnd(nameLength, 'x'));
    const children = [directory({})];
    for (let level = 0; level < depth; level++) {
      const inner = digestWire(children.at(-1) ?? directory({}));
      children.push(directory({ directories: names.map((name) => ({ name, digest: inner })) }));
    }
    return encode(children.pop() ?? directory({}), children);
  }

  function digestWire(message: Directory) {
    const sealed: Digest = digestOf(Directory.encode(message).finish());
    return toWire(sealed);
  }
});
