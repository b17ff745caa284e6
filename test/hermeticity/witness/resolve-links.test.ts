// Resolving links in a path, for the tracer that knows only the requested path.
import { symlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Folder } from '../rig.ts';
import { absolute, LinkResolver } from './resolve-links.ts';

let folder: Folder;
let walker: LinkResolver;
beforeEach(() => {
  folder = new Folder();
  walker = new LinkResolver();
  folder.write('real/file', 'x');
  symlinkSync('real', folder.at('link'));
  symlinkSync('link/file', folder.at('twice'));
});
afterEach(() => folder.remove());

describe('LinkResolver', () => {
  it('resolves to the kernel’s path and lists the links on the way', () => {
    expect(walker.resolve(folder.path, 'twice', true)).toEqual({
      path: folder.at('real/file'),
      links: [folder.at('twice'), folder.at('link')],
    });
  });

  it('with nofollow, keeps a final link unless a slash follows it', () => {
    expect(walker.resolve(folder.path, 'link', false)).toEqual({ path: folder.at('link'), links: [] });
    expect(walker.resolve(folder.path, 'link/', false).path).toBe(folder.at('real'));
  });

  it('applies ".." after a link to the target of the link', () => {
    symlinkSync(folder.at('real'), folder.at('sub-link'));
    expect(walker.resolve(folder.at('nowhere'), `${folder.at('sub-link')}/../twice`, false).path).toBe(
      folder.at('twice'),
    );
  });

  it('keeps the names of missing files, and stops at a cycle', () => {
    expect(walker.resolve(folder.path, 'gone/a/../b', true).path).toBe(folder.at('gone/b'));
    symlinkSync('circle', folder.at('circle'));
    expect(walker.resolve(folder.path, 'circle', true).path).toBe(folder.at('circle'));
  });

  it('sees a link that replaced a folder, after forget()', () => {
    expect(walker.resolve(folder.path, 'real/file', true).links).toEqual([]);
    folder.write('other/file');
    folder.remove();
    folder.write('elsewhere/file');
    symlinkSync('elsewhere', folder.at('real'));
    walker.forget();
    expect(walker.resolve(folder.path, 'real/file', true).path).toBe(folder.at('elsewhere/file'));
  });
});

describe('absolute()', () => {
  it('normalizes the text of a path and does not follow links', () => {
    expect(absolute('/a/b', '../c//./d')).toBe('/a/c/d');
    expect(absolute('/a', '/x/../y')).toBe('/y');
    expect(absolute('/', '../..')).toBe('/');
  });
});
