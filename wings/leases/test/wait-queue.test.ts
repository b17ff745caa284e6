// A bounded number of steps wait at once, and further ones queue. None of them waits longer for that.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { HeldByOther, LeasePlace } from '../runner/place.ts';
import { WaitQueue } from '../runner/wait-queue.ts';

const HELD: HeldByOther = { outcome: 'held', holder: 'ci-7', leftMs: 60_000 };
const MINUTE = 60_000;

/** A place whose waits end when the test says so. */
function slowPlace() {
  const waits: { leftMs: number; end(): void }[] = [];
  const place: LeasePlace = {
    acquire: async () => HELD,
    wait: (held, leftMs) => new Promise((resolve) => waits.push({ leftMs, end: () => resolve(held) })),
  };
  return { place, waits };
}

test('a step queues while others wait, and its wait is shorter by the time in the queue', async () => {
  const { place, waits } = slowPlace();
  const queue = new WaitQueue(1, 10);
  const [first, second] = [queue.wait(place, HELD, MINUTE), queue.wait(place, HELD, MINUTE)];
  await sleep(5);
  expect(waits).toHaveLength(1);
  waits[0]?.end();
  await first;
  await expect.poll(() => waits.length).toBe(2);
  expect(waits[1]?.leftMs).toBeLessThan(MINUTE);
  waits[1]?.end();
  expect(await second).toBe(HELD);
});

test('a step whose time ends in the queue waits no more', async () => {
  const { place, waits } = slowPlace();
  const queue = new WaitQueue(1, 10);
  const first = queue.wait(place, HELD, MINUTE);
  expect(await queue.wait(place, HELD, 20)).toBe(HELD);
  waits[0]?.end();
  await first;
  expect(waits).toHaveLength(1);
});

test('a step that finds the queue full runs', async () => {
  const { place, waits } = slowPlace();
  const queue = new WaitQueue(1, 1);
  const [first, second] = [queue.wait(place, HELD, MINUTE), queue.wait(place, HELD, 20)];
  expect(await queue.wait(place, HELD, MINUTE)).toEqual({ outcome: 'none' });
  await second;
  waits[0]?.end();
  await first;
});
