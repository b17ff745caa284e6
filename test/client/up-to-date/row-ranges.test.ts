// Rows as ranges, and invariant G5 of client/up-to-date/graph-state.ts: one row for each path.
import { expect, test } from 'vitest';
import type { StatRow } from '../../../client/files/stat-table.ts';
import { packRows, rowsIn } from '../../../client/up-to-date/row-ranges.ts';

const row = (size: number): StatRow => [size, 1, 1, 1];

test('rows that are added together take one range', () => {
  const all = new Map<string, StatRow>();
  expect(
    packRows(
      new Map([
        ['a', row(1)],
        ['b', row(2)],
      ]),
      all,
    ),
  ).toEqual([0, 2]);
  const ranges = packRows(
    new Map([
      ['a', row(1)],
      ['c', row(3)],
      ['d', row(4)],
    ]),
    all,
  );
  expect(ranges).toEqual([0, 1, 2, 2]);
  expect(rowsIn(ranges ?? [])).toEqual([0, 2, 3]);
  expect([...all.keys()]).toEqual(['a', 'b', 'c', 'd']);
});

test('another row for the same path adds nothing (G5)', () => {
  const all = new Map([['a', row(1)]]);
  expect(
    packRows(
      new Map([
        ['new', row(2)],
        ['a', row(3)],
      ]),
      all,
    ),
  ).toBeUndefined();
  expect([...all]).toEqual([['a', row(1)]]);
});
