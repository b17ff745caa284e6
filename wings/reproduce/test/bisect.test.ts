// Bisection finds all changes that matter alone, in fewer trials than changes if few of them matter.
import { describe, expect, test } from 'vitest';
import { bisect } from '../experiment/bisect.ts';

const CHANGES = Array.from({ length: 16 }, (_, index) => index);

async function search(isAltered: (some: readonly number[]) => boolean) {
  let trials = 0;
  const found = await bisect(CHANGES, async (some) => {
    trials++;
    return isAltered(some);
  });
  return { found, trials };
}

describe('bisection', () => {
  test.each([[0], [7], [15]])('finds the only change that matters: %i', async (cause) => {
    const { found, trials } = await search((some) => some.includes(cause));
    expect(found).toEqual([cause]);
    expect(trials).toBeLessThanOrEqual(9);
  });

  test('finds several changes that matter', async () => {
    const { found } = await search((some) => [2, 3, 11].some((cause) => some.includes(cause)));
    expect(found).toEqual([2, 3, 11]);
  });

  test('finds all changes if each matters', async () => {
    expect((await search(() => true)).found).toEqual(CHANGES);
  });

  test('finds no change if only two together matter', async () => {
    const { found } = await search((some) => some.includes(1) && some.includes(12));
    expect(found).toEqual([]);
  });
});
