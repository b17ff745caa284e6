import { expect, test } from 'vitest';
import { Sample } from '../../../../client/maintenance/verify/sample.ts';
import { Random } from '../../../rig/random.ts';

test('a small set is sampled whole; in a large set each item has the same chance', () => {
  const few = new Sample<number>(5);
  for (const item of [1, 2, 3]) few.offer(item);
  expect(few.taken).toEqual([1, 2, 3]);
  const random = new Random(4711);
  const counts = new Array<number>(10).fill(0);
  for (let round = 0; round < 5000; round++) {
    const sample = new Sample<number>(2, () => random.below(1_000_000) / 1_000_000);
    for (let item = 0; item < 10; item++) sample.offer(item);
    for (const item of sample.taken) counts[item] = (counts[item] ?? 0) + 1;
  }
  for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150);
});
