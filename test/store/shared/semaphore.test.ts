import { expect, test } from 'vitest';
import { Places } from '../../../store/shared/semaphore.ts';

const OVERLOADED = { code: 'ASSAY_OVERLOADED' };

test('who finds no place waits in turn', async () => {
  const places = new Places({ places: 2, waiting: 10, waitMs: 60_000 });
  await places.enter();
  await places.enter();
  const order: number[] = [];
  const waiting = [1, 2, 3].map((number) => places.enter().then(() => order.push(number)));
  for (const one of waiting) {
    places.leave();
    await one;
  }
  expect(order).toEqual([1, 2, 3]);
});

test('a place that was left without anybody waiting is free again', async () => {
  const places = new Places({ places: 1, waiting: 0, waitMs: 1 });
  for (let turn = 0; turn < 3; turn++) {
    await places.enter();
    places.leave();
  }
  await places.enter();
  await expect(places.enter()).rejects.toMatchObject(OVERLOADED);
});

test('who waits too long is refused, and the next one gets the place', async () => {
  const places = new Places({ places: 1, waiting: 10, waitMs: 20 });
  await places.enter();
  await expect(places.enter()).rejects.toMatchObject(OVERLOADED);
  const next = places.enter();
  places.leave();
  await next;
});
