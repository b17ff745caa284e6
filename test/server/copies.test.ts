import { expect, test } from 'vitest';
import { Copies } from '../../server/copies.ts';

test('memory that was given back is taken again, and no more of it is kept than was allowed', () => {
  const copies = new Copies({ copiedBytes: 8, idleCopies: 2 });
  const taken = [copies.take(), copies.take(), copies.take()];
  expect(new Set(taken).size).toBe(3);
  for (const memory of taken) copies.giveBack(memory);
  const again = [copies.take(), copies.take(), copies.take()];
  expect(again.filter((memory) => taken.includes(memory))).toHaveLength(2);
  expect(new Set(again).size).toBe(3);
});
