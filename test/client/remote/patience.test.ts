// How long a faulty remote is waited for, by a clock that the test turns.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Patience } from '../../../client/remote/patience.ts';
import { REMOTE } from '../../../core/limits.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const TWO_SECONDS = 2_000;

/** Waits until patience ends, at most `limit`; tells when that was. */
async function endsAfter(patience: Patience, limit: number): Promise<number | undefined> {
  const began = Date.now();
  for (let waited = 0; waited < limit; waited += 10) {
    if (patience.signal.aborted) return Date.now() - began;
    await vi.advanceTimersByTimeAsync(10);
  }
  return undefined;
}

function work(patience: Patience): void {
  patience
    .during(
      () =>
        new Promise<void>((_resolve, reject) =>
          patience.signal.addEventListener('abort', () => reject(new Error('over'))),
        ),
    )
    .catch(() => {});
}

test('a remote that says nothing costs less than two seconds', async () => {
  const patience = new Patience(Date.now);
  work(patience);
  const cost = await endsAfter(patience, 10_000);
  expect(cost).toBeGreaterThan(REMOTE.patienceMs - 1);
  expect(cost).toBeLessThan(TWO_SECONDS);
});

test('many requests at once cost no more than one', async () => {
  const patience = new Patience(Date.now);
  for (let count = 0; count < 16; count++) work(patience);
  expect(await endsAfter(patience, 10_000)).toBeLessThan(TWO_SECONDS);
});

test('a trickle is not progress', async () => {
  const patience = new Patience(Date.now);
  work(patience);
  const timer = setInterval(() => patience.received(1000), 100);
  expect(await endsAfter(patience, 10_000)).toBeLessThan(TWO_SECONDS);
  clearInterval(timer);
});

test('a transfer that moves may take as long as it takes', async () => {
  const patience = new Patience(Date.now);
  work(patience);
  const timer = setInterval(() => patience.received(REMOTE.bytesPerSecond / 5), 100);
  expect(await endsAfter(patience, 60_000)).toBeUndefined();
  clearInterval(timer);
});

test('a stall after a long good transfer costs no more than one at the start', async () => {
  const patience = new Patience(Date.now);
  work(patience);
  const timer = setInterval(() => patience.received(REMOTE.bytesPerSecond), 100);
  expect(await endsAfter(patience, 30_000)).toBeUndefined();
  clearInterval(timer);
  expect(await endsAfter(patience, 10_000)).toBeLessThan(TWO_SECONDS);
});

test('a distant server with many small files is not a dead one', async () => {
  const patience = new Patience(Date.now);
  work(patience);
  const timer = setInterval(() => {
    for (let answer = 0; answer < REMOTE.concurrency; answer++) patience.answered();
  }, 200);
  expect(await endsAfter(patience, 30_000)).toBeUndefined();
  clearInterval(timer);
});

test('time between requests is not the remote’s', async () => {
  const patience = new Patience(Date.now);
  await patience.during(async () => {});
  await vi.advanceTimersByTimeAsync(60_000);
  await patience.during(async () => {});
  expect(patience.signal.aborted).toBe(false);
});

test('faults add up over a run', async () => {
  const patience = new Patience(Date.now);
  for (let count = 0; count < 2; count++) {
    const some = patience.during(
      () => new Promise((resolve) => setTimeout(resolve, REMOTE.patienceMs * 0.7)),
    );
    await vi.advanceTimersByTimeAsync(REMOTE.patienceMs * 0.7);
    await some;
  }
  expect(patience.signal.aborted).toBe(true);
});
