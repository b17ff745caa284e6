import { expect, test } from 'vitest';
import { Throttle } from '../../../store/scrub/throttle.ts';

test('the bytes per second are limited, and unused time does not accumulate', async () => {
  let now = 0;
  const waits: number[] = [];
  const throttle = new Throttle(
    1000,
    () => now,
    async (ms) => {
      waits.push(ms);
      now += ms;
    },
  );
  for (let piece = 0; piece < 4; piece++) await throttle.pass(250);
  expect(now).toBe(1000);
  now += 60_000;
  await throttle.pass(1000);
  expect(now).toBe(62_000);
  expect(waits).toHaveLength(5);
});

test('pauses that are too short for a timer are added up', async () => {
  let now = 0;
  const throttle = new Throttle(
    1_000_000,
    () => now,
    async (ms) => {
      now += ms;
    },
  );
  for (let piece = 0; piece < 1000; piece++) await throttle.pass(1000);
  expect(now).toBeGreaterThan(990);
});
