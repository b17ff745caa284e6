// Invariant G6 of client/up-to-date/graph-state.ts: a folder stands for the absent paths in it.
import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { ABSENT, rowOf, type StatRow } from '../../../client/files/stat-table.ts';
import {
  AbsentPaths,
  ChangingFolders,
  withAbsentPaths,
  withProvingFolders,
} from '../../../client/up-to-date/absent-paths.ts';
import { absPath } from '../../../system/paths/absolute-path.ts';

const THERE: StatRow = [1, 2, 3, 4];
const NO_CONFIG: ReadonlyMap<string, StatRow> = new Map();
const NONE: ReadonlySet<string> = new Set();

test('the nearest existing folder stands for the absent paths below it', () => {
  const rows = new Map([
    ['src', THERE],
    ['src/gen', ABSENT],
    ['src/gen/a', ABSENT],
  ]);
  const absent = new AbsentPaths(NO_CONFIG);
  const needed = absent.needed({ rows, traversed: new Set(['src']) });
  expect([...needed.keys()]).toEqual(['src']);
  expect(absent.absentNames()).toEqual(new Map([['src', ['gen', 'gen/a']]]));
  expect(withAbsentPaths(needed, absent.absentNames())).toEqual({ rows, traversed: new Set(['src']) });
});

test('a folder of the configuration may stand for them, too', () => {
  const absent = new AbsentPaths(new Map([['p', THERE]]));
  const needed = absent.needed({ rows: new Map([['p/none', ABSENT]]), traversed: NONE });
  expect([...needed]).toEqual([['p', THERE]]);
});

test.each([
  ['no folder above it is recorded', 'a/b/none'],
  ['it is outside the workspace, where a folder may be a link', '/usr/include/none'],
])('an absent path is checked itself if %s', (_, name) => {
  const absent = new AbsentPaths(new Map([['/usr/include', THERE]]));
  const needed = absent.needed({ rows: new Map([[name, ABSENT]]), traversed: NONE });
  expect([...needed]).toEqual([[name, ABSENT]]);
  expect(absent.absentNames().size).toBe(0);
});

test('the times of a folder that was listed must not change', () => {
  const absent = new AbsentPaths(NO_CONFIG);
  const rows = new Map([
    ['src', THERE],
    ['src/none', ABSENT],
  ]);
  absent.needed({ rows, traversed: NONE });
  expect(absent.absentNames().size).toBe(0);
});

describe('an absent path that a command looked for (G6)', () => {
  const LATER = 60_000;
  const outside = realpathSync(mkdtempSync(join(tmpdir(), 'assay-absent-')));
  afterAll(() => rmSync(outside, { recursive: true }));
  const workspace = absPath(join(outside, 'workspace'));
  for (const folder of ['lib', 'made/sub', 'above/made'])
    mkdirSync(join(workspace, folder), { recursive: true });
  symlinkSync('lib', join(workspace, 'link'));
  const lib = rowOf(lstatSync(join(workspace, 'lib')));
  const changing = new ChangingFolders(['made', 'above/made']);
  const proven = (
    name: string,
    rows: readonly (readonly [string, StatRow])[] = [],
    checkedAt = Date.now() + LATER,
  ) => {
    const all = new Map([...rows, [join(workspace, name), ABSENT] as const]);
    return withProvingFolders({ rows: all, traversed: NONE }, workspace, changing, checkedAt);
  };

  test('is proven by its folder', () => {
    const { rows, traversed } = proven('lib/none');
    expect([...rows].sort()).toEqual([
      ['lib', lib],
      ['lib/none', ABSENT],
    ]);
    expect(traversed).toEqual(new Set(['lib']));
  });

  test('is proven by a folder that was listed, whose times must stay', () => {
    const { rows, traversed } = proven('lib/none', [['lib', THERE]]);
    expect(rows.get('lib')).toBe(THERE);
    expect(traversed.size).toBe(0);
  });

  test.each([
    ['its folder is a link', 'link/none'],
    ['its folder is absent, too', 'lib/gone/none'],
    ['its folder is the workspace', 'none'],
    ['its folder is an output', 'made/none'],
    ['its folder is in an output', 'made/sub/none'],
    ['an output is in its folder', 'above/none'],
  ])('is checked itself if %s', (_, name) => {
    const { rows, traversed } = proven(name);
    expect([...rows]).toEqual([[join(workspace, name), ABSENT]]);
    expect(traversed.size).toBe(0);
  });

  test('is checked itself if its folder changed just before', () => {
    const { rows } = proven('lib/none', [], lstatSync(join(workspace, 'lib')).mtimeMs);
    expect([...rows.keys()]).toEqual([join(workspace, 'lib/none')]);
  });

  test('is checked itself outside the workspace', () => {
    const name = join(outside, 'none');
    const rows = new Map([[name, ABSENT]]);
    const all = withProvingFolders({ rows, traversed: NONE }, workspace, changing, Date.now() + LATER);
    expect([...all.rows.keys()]).toEqual([name]);
  });
});
