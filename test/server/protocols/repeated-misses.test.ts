// Which misses of Rush are the same one, asked for again.
import { expect, test } from 'vitest';
import { SERVER } from '../../../server/limits.ts';
import { RepeatedMisses } from '../../../server/protocols/rush/repeated-misses.ts';

test('the second and third miss in a row are repeated; the fourth, or one 15 s later, is another', () => {
  let now = 0;
  const misses = new RepeatedMisses(() => now);
  const asked = (count: number) => Array.from({ length: count }, () => misses.isRepeated('key'));
  expect(asked(4)).toEqual([false, true, true, false]);
  now += 15_000;
  expect(asked(2)).toEqual([false, true]);
});

test('it remembers a bounded number of misses, and forgets the oldest', () => {
  const misses = new RepeatedMisses(() => 0);
  for (let name = 0; name <= SERVER.maxRepeatedMisses; name++) misses.isRepeated(`${name}`);
  expect([misses.isRepeated('1'), misses.isRepeated('0')]).toEqual([true, false]);
});
