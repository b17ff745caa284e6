import { describe, expect, test } from 'vitest';
import type { PathVerb } from '../../../hermeticity/trace/access.ts';
import { UpwardSearches } from '../../../hermeticity/verdict/upward-search.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';

function searches(accesses: readonly (readonly [PathVerb, string])[]): UpwardSearches {
  const traced = accesses.map(([kind, path]) => ({ kind, path: absPath(path), process: 0, atMs: 0 }));
  return new UpwardSearches(traced, [absPath('/home/me/proj'), absPath('/opt/x/node_modules')]);
}

describe('an upward search', () => {
  test.each([
    ['includes a name that is absent in each folder', ['absent', '/home/me/proj/.git'], '/home/me/.git'],
    ['includes a name that is found further up', ['absent', '/home/me/.git'], '/home/.git'],
    ['includes a file in a folder that it finds', ['absent', '/home/me/proj/.git'], '/home/me/.git/HEAD'],
    ['includes a name that is also found below', ['read', '/home/me/proj/.gitignore'], '/home/me/.gitignore'],
    ['reaches the root', ['absent', '/home/package.json'], '/package.json'],
  ] as const)('%s', (_, seen, path) => {
    expect(searches([seen, ['read', path]]).basesOf(absPath(path))).toEqual(['/home/me/proj']);
  });

  test.each([
    ['a file beside the workspace', '/home/me/conf'],
    ['a folder above', '/home/me'],
    ['a name that was found in the workspace, and another in the folder above', '/home/me/data/flag'],
    ['installed software', '/usr/include/stdio.h'],
    ['the workspace itself', '/home/me/proj/main.c'],
  ])('does not include %s', (_, path) => {
    const seen = searches([
      ['read', path],
      ['read', '/home/me/proj/data/other'],
      ['read', '/home/me/proj/main.c'],
    ]);
    expect(seen.basesOf(absPath(path))).toEqual([]);
  });

  test('from the folder of a tool is recognized', () => {
    const seen = searches([['absent', '/opt/node_modules']]);
    expect(seen.basesOf(absPath('/opt/x/node_modules'))).toEqual([]);
    expect(seen.basesOf(absPath('/opt/node_modules'))).toEqual(['/opt/x/node_modules']);
    expect(seen.basesOf(absPath('/node_modules'))).toEqual(['/opt/x/node_modules']);
  });
});
