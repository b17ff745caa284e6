import { expect, test } from 'vitest';
import { Semaphore } from '../../../store/shared/semaphore.ts';

const OVERLOADED = { code: 'ASSAY_OVERLOADED' };

test('without a free permit, callers wait in order', async () => {
  const places = new Semaphore({ permits: 2, maxWaiting: 10, waitMs: 60_000 });
  await places.acquire();
  await places.acquire();
  const order: number[] = [];
  const waiting = [1, 2, 3].map((number) => places.acquire().then(() => order.push(number)));
  for (const one of waiting) {
    places.release();
    await one;
  }
  expect(order).toEqual([1, 2, 3]);
});

test('a permit that was released while nobody waited is free again', async () => {
  const places = new Semaphore({ permits: 1, maxWaiting: 0, waitMs: 1 });
  for (let turn = 0; turn < 3; turn++) {
    await places.acquire();
    places.release();
  }
  await places.acquire();
  await expect(places.acquire()).rejects.toMatchObject(OVERLOADED);
});

test('a wait that takes too long is rejected, and the next waiter gets the permit', async () => {
  const places = new Semaphore({ permits: 1, maxWaiting: 10, waitMs: 20 });
  await places.acquire();
  await expect(places.acquire()).rejects.toMatchObject(OVERLOADED);
  const next = places.acquire();
  places.release();
  await next;
});
