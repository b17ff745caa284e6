// A run that waits for another one stops when it is cancelled, however long the other one takes.
import { expect, test } from 'vitest';
import { untilCancelled } from '../runner/until-cancelled.ts';

test('a wait without an end is over when the run is cancelled', async () => {
  let asked = 0;
  const cancelled = () => {
    if (++asked === 2) throw new Error('interrupted');
  };
  await expect(untilCancelled(new Promise(() => {}), cancelled)).rejects.toThrow('interrupted');
});

test('what a wait brings, or why it failed, passes', async () => {
  expect(await untilCancelled(Promise.resolve(7), () => {})).toBe(7);
  await expect(untilCancelled(Promise.reject(new Error('away')), () => {})).rejects.toThrow('away');
});
