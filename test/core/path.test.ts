import { describe, expect, test } from 'vitest';
import {
  childOf,
  compareNames,
  isWithin,
  join,
  nameFromBytes,
  nameOf,
  nameToBytes,
  parentOf,
  parseRelPath,
  ROOT,
  relativeTo,
  relPathFromUser,
  resolveFrom,
  toSystemPath,
} from '../../core/path.ts';
import { Random } from '../rig/random.ts';

const HOSTILE = [
  '/',
  '/etc/passwd',
  '..',
  '../x',
  'a/..',
  'a/../b',
  '.',
  './a',
  'a/.',
  'a/./b',
  'a/',
  'a//b',
  'a\0b',
  '\ud800',
  'a/\udfff',
  'x'.repeat(256),
  'é'.repeat(128),
  'a/'.repeat(2050).slice(0, -1),
];

describe('a string becomes a RelPath only if it names something below the root', () => {
  test.each(HOSTILE)('%j is refused', (text) => {
    expect(() => parseRelPath(text)).toThrow(/ASSAY_BAD_PATH/);
  });

  test.each(['a', 'a/b/c', '...', '..a', 'a b', ' ', '\n', '\\', '~', '*', 'é'.repeat(127), '𝒳'])(
    '%j is taken as it is',
    (text) => {
      expect(parseRelPath(text)).toBe(text);
    },
  );

  test('the empty string is the root', () => {
    expect(parseRelPath('')).toBe(ROOT);
  });
});

describe('any name that Linux allows is encoded and decoded without loss', () => {
  const seed = 20_260_101;

  test(`random bytes (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 20_000; round++) {
      const bytes = randomName(random);
      const name = nameFromBytes(bytes);
      expect(parseRelPath(name)).toBe(name);
      expect(nameToBytes(name)).toEqual(bytes);
    }
  });

  test('a name of 255 bytes that are not UTF-8', () => {
    const bytes = Buffer.alloc(255, 0xff);
    expect(nameToBytes(parseRelPath(nameFromBytes(bytes)))).toEqual(bytes);
  });

  test('two different names never become one', () => {
    const random = new Random(seed);
    const seen = new Map<string, string>();
    for (let round = 0; round < 20_000; round++) {
      const bytes = randomName(random);
      const before = seen.get(nameFromBytes(bytes));
      expect(before ?? bytes.toString('hex')).toBe(bytes.toString('hex'));
      seen.set(nameFromBytes(bytes), bytes.toString('hex'));
    }
  });

  test('the kernel gets the same bytes that it returned', () => {
    const name = nameFromBytes(Buffer.from([0x61, 0xff]));
    const path = parseRelPath(`plain/${name}/b`);
    expect(toSystemPath('/root', path)).toEqual(Buffer.from('/root/plain/a\xff/b', 'latin1'));
    expect(toSystemPath('/root', parseRelPath('plain/b'))).toBe('/root/plain/b');
    expect(toSystemPath('/root', ROOT)).toBe('/root');
  });

  /** Often short, often near the marker and near valid UTF-8, where a mistake would hide. */
  function randomName(random: Random): Buffer {
    const start = random.pick([
      Buffer.alloc(0),
      Buffer.from('%bytes:'),
      Buffer.from('%byte'),
      Buffer.from('é'),
    ]);
    const tail = random.bytes(1 + random.below(8)).map((byte) => (byte === 0 || byte === 0x2f ? 0x41 : byte));
    const bytes = Buffer.concat([start, tail]);
    return ['.', '..'].includes(bytes.toString()) ? Buffer.from('dots') : bytes;
  }
});

describe('the marker for raw bytes cannot hide a name from the checks', () => {
  const marked = (bytes: string) => `%bytes:${Buffer.from(bytes, 'latin1').toString('hex')}`;

  test.each([
    ['a slash', marked('a/b')],
    ['a climb', marked('..')],
    ['a dot', marked('.')],
    ['NUL', marked('a\0\xff')],
    ['nothing', '%bytes:'],
    ['a plain name in disguise', marked('plain')],
    ['upper-case digits', '%bytes:FF'],
    ['a digit too few', '%bytes:fff'],
    ['no digits', '%bytes:zz'],
    ['good digits, then others', '%bytes:ffzz'],
    ['256 bytes', `%bytes:${'ff'.repeat(256)}`],
  ])('%s', (_, name) => {
    expect(() => parseRelPath(name)).toThrow(/ASSAY_BAD_PATH/);
    expect(() => parseRelPath(`folder/${name}`)).toThrow(/ASSAY_BAD_PATH/);
  });
});

describe('what people type', () => {
  test.each([
    ['./a//b/', 'a/b'],
    ['.', ''],
    ['', ''],
    ['a/./b', 'a/b'],
  ])('%j means %j', (text, path) => {
    expect(relPathFromUser(text)).toBe(path);
  });

  test.each(['/', '/a', '..', 'a/../b', '../a'])('%j is still refused', (text) => {
    expect(() => relPathFromUser(text)).toThrow(/ASSAY_BAD_PATH/);
  });
});

describe('parts of a path', () => {
  const path = parseRelPath('a/b/c');

  test('parent, name, join and child fit together', () => {
    expect(parentOf(path)).toBe('a/b');
    expect(nameOf(path)).toBe('c');
    expect(join(parentOf(path), parseRelPath(nameOf(path)))).toBe(path);
    expect(childOf(parentOf(path), nameOf(path))).toBe(path);
    expect(childOf(ROOT, 'a')).toBe('a');
    expect(parentOf(parseRelPath('a'))).toBe(ROOT);
    expect(join(ROOT, path)).toBe(path);
    expect(join(path, ROOT)).toBe(path);
  });

  test.each(['', '.', '..', 'a/b', '/', 'a\0', '%bytes:2e2e'])('%j is no child', (name) => {
    expect(() => childOf(path, name)).toThrow(/ASSAY_BAD_PATH/);
  });

  test('a child that makes the path too long is refused', () => {
    const deep = parseRelPath('a/'.repeat(2047).slice(0, -1));
    expect(() => childOf(deep, 'x'.repeat(10))).toThrow(/longer than 4096/);
  });

  test('isWithin compares whole names', () => {
    expect(isWithin(path, parseRelPath('a'))).toBe(true);
    expect(isWithin(path, path)).toBe(true);
    expect(isWithin(path, ROOT)).toBe(true);
    expect(isWithin(parseRelPath('ab'), parseRelPath('a'))).toBe(false);
    expect(isWithin(parseRelPath('a'), path)).toBe(false);
  });
});

describe('relative to a working directory and back', () => {
  const seed = 7;

  test(`resolveFrom undoes relativeTo (seed ${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 5_000; round++) {
      const base = randomPath(random);
      const path = randomPath(random);
      expect(resolveFrom(base, relativeTo(base, path))).toBe(path);
    }
  });

  test.each([
    ['', 'a', 'a'],
    ['a', 'a', ''],
    ['a', '', '..'],
    ['a/b', 'a/c/d', '../c/d'],
    ['a', 'ab', '../ab'],
  ])('seen from %j, %j is %j', (base, path, relative) => {
    expect(relativeTo(parseRelPath(base), parseRelPath(path))).toBe(relative);
  });

  test.each(['..', 'b/../..', '../../x', '/etc', 'b//c', './b', 'b\0'])(
    '%j from "" is refused',
    (relative) => {
      expect(() => resolveFrom(ROOT, relative)).toThrow(/ASSAY_BAD_PATH/);
    },
  );

  function randomPath(random: Random) {
    const names = Array.from({ length: random.below(5) }, () => random.pick(['a', 'b', 'ab', '…']));
    return parseRelPath(names.join('/'));
  }
});

test('names are ordered by the bytes of their UTF-8 form', () => {
  const random = new Random(3);
  const letters = ['a', 'b', 'é', '\uffee', '𝒳', '\u{10ffff}', '/', ' '];
  const names = Array.from({ length: 300 }, () =>
    Array.from({ length: random.below(4) }, () => random.pick(letters)).join(''),
  );
  const byBytes = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  expect([...names].sort(compareNames)).toEqual(byBytes);
});
