// Canonical paths: the same bytes in and out, and a form for people.
import { describe, expect, it } from 'vitest';
import type { RelPath } from '../../../core/path.ts';
import {
  absPath,
  absPathFromBytes,
  displayPath,
  foldersAbove,
  inside,
  isBelow,
  linkTargetFromBytes,
  parentFolder,
  relativeIn,
  targetOfLink,
  toBytes,
} from '../../../system/paths/absolute-path.ts';

describe('the bytes of a path', () => {
  const odd = [
    Buffer.from('/plain/ü/€'),
    Buffer.from([0x2f, 0xff, 0x2f, 0x61, 0xfe]),
    Buffer.from('/%bytes:61/x'),
    Buffer.from('/\ufffd/x'),
    Buffer.from('/a\n"<>'),
    Buffer.from('/'),
  ];
  for (const bytes of odd) {
    it(`are the same after decoding and encoding: ${JSON.stringify(bytes.toString('latin1'))}`, () => {
      expect(toBytes(absPathFromBytes(bytes))).toEqual(bytes);
    });
  }

  it('give different paths for different names', () => {
    expect(new Set(odd.map(absPathFromBytes)).size).toBe(odd.length);
  });

  it('of a link’s target stay relative', () => {
    expect(linkTargetFromBytes(Buffer.from('../a//b/'))).toBe('../a//b/');
  });
});

describe('path functions', () => {
  const root = absPath('/');
  const work = absPath('/home/me/work');

  it('isBelow compares whole names', () => {
    expect([
      isBelow(absPath('/home/me/work2'), work),
      isBelow(absPath('/home/me/work/a'), work),
      isBelow(work, work),
    ]).toEqual([false, true, false]);
    expect([isBelow(work, root), isBelow(root, root)]).toEqual([true, false]);
  });

  it('foldersAbove lists the parents up to the root', () => {
    expect([...foldersAbove(absPath('/a/b/c'))]).toEqual(['/a/b', '/a', '/']);
    expect([...foldersAbove(root)]).toEqual([]);
    expect(parentFolder(absPath('/a'))).toBe('/');
  });

  it('relativeIn and inside are inverse', () => {
    for (const base of [root, work])
      expect(inside(base, relativeIn(base, absPath('/home/me/work/x')) ?? ('' as RelPath))).toBe(
        '/home/me/work/x',
      );
    expect(relativeIn(work, absPath('/home/me'))).toBeUndefined();
  });

  it('targetOfLink computes the target from the text of the link', () => {
    expect(targetOfLink(absPath('/a/b/link'), '../c/./d')).toBe('/a/c/d');
    expect(targetOfLink(absPath('/a/link'), '../../../x')).toBe('/x');
    expect(targetOfLink(absPath('/a/link'), '/y/../z')).toBe('/z');
  });
});

describe('displayPath', () => {
  const work = absPath('/home/me/work');

  it('is relative in the workspace, "../x" one level above, absolute elsewhere', () => {
    const paths = ['/home/me/work', '/home/me/work/a/b', '/home/me/x/y', '/home/me', '/home/you/z', '/'];
    expect(paths.map((path) => displayPath(absPath(path), work))).toEqual([
      '.',
      'a/b',
      '../x/y',
      '..',
      '/home/you/z',
      '/',
    ]);
  });

  it('is absolute for everything outside a workspace at the root', () => {
    expect(displayPath(absPath('/etc/passwd'), absPath('/work'))).toBe('/etc/passwd');
  });

  it('shows each byte that is not UTF-8 as %XX, and no others', () => {
    const path = absPathFromBytes(
      Buffer.concat([Buffer.from('/home/me/work/ü'), Buffer.from([0xff, 0xc3]), Buffer.from('€')]),
    );
    expect(displayPath(path, work)).toBe('ü%FF%C3€');
  });
});
