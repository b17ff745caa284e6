// Invariant G6 of client/up-to-date/graph-state.ts: a folder stands for the absent paths in it.
import { expect, test } from 'vitest';
import { ABSENT, type StatRow } from '../../../client/files/stat-table.ts';
import { AbsentPaths, withAbsentPaths } from '../../../client/up-to-date/absent-paths.ts';

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
