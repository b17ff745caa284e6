// A bounded map holds the newest entries, and never more than its bound.
import { expect, test } from 'vitest';
import { BoundedMap } from '../../../store/shared/bounded-map.ts';

test('beyond the bound the oldest entry goes, and an entry that is set again is the newest', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2);
  expect([...map.set('a', 3)]).toEqual([
    ['b', 2],
    ['a', 3],
  ]);
  expect([...map.set('c', 4)]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

test('an entry that is set again takes no place of another', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2);
  for (let round = 0; round < 5; round++) map.set('b', round);
  expect([...map.keys()]).toEqual(['a', 'b']);
});
