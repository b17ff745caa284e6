// How long a run waits for a remote, with a simulated clock.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { REMOTE } from '../../../client/limits.ts';
import { WaitBudget } from '../../../client/remote/wait-budget.ts';

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const TWO_SECONDS = 2_000;
const rested = () => 0;
const newBudget = (own = rested) => new WaitBudget(Date.now, own);

/** Waits until the budget is used up, at most `limit`; returns the time. */
async function endsAfter(budget: WaitBudget, limit: number, step = 10): Promise<number | undefined> {
  const began = Date.now();
  for (let waited = 0; waited < limit; waited += step) {
    if (budget.signal.aborted) return Date.now() - began;
    await vi.advanceTimersByTimeAsync(step);
  }
  return undefined;
}

function untilOver(budget: WaitBudget): Promise<void> {
  return new Promise<void>((_resolve, reject) =>
    budget.signal.addEventListener('abort', () => reject(new Error('over'))),
  );
}

function ask(budget: WaitBudget): void {
  budget.ask(() => untilOver(budget)).catch(() => {});
}

function send(budget: WaitBudget, bytes: number): void {
  budget.send(bytes, () => untilOver(budget)).catch(() => {});
}

test.each([
  ['asked', ask],
  ['sent an upload', (budget: WaitBudget) => send(budget, 1000)],
])('a remote that is silent when it is %s costs two seconds at most', async (_name, work) => {
  const budget = newBudget();
  work(budget);
  const cost = await endsAfter(budget, 10_000);
  expect(cost).toBeGreaterThan(REMOTE.silentMs - 1);
  expect(cost).toBeLessThanOrEqual(TWO_SECONDS);
});

test('many concurrent requests cost no more than one', async () => {
  const budget = newBudget();
  for (let count = 0; count < 16; count++) ask(budget);
  expect(await endsAfter(budget, 10_000)).toBeLessThanOrEqual(TWO_SECONDS);
});

test('a response that trickles counts as silence', async () => {
  const budget = newBudget();
  ask(budget);
  const timer = setInterval(() => budget.received(10), 100);
  expect(await endsAfter(budget, 10_000)).toBeLessThanOrEqual(TWO_SECONDS);
  clearInterval(timer);
});

test('a response at the rate of a slow line is waited for', async () => {
  const budget = newBudget();
  ask(budget);
  const timer = setInterval(() => budget.received(REMOTE.slowBytesPerSecond / 10), 100);
  expect(await endsAfter(budget, 60_000)).toBeUndefined();
  clearInterval(timer);
});

test('a transfer that makes progress does not use up the budget', async () => {
  const budget = newBudget();
  ask(budget);
  const timer = setInterval(() => budget.moved(), 400);
  expect(await endsAfter(budget, 60_000)).toBeUndefined();
  clearInterval(timer);
});

test('a stall after a long transfer costs no more than one at the start', async () => {
  const budget = newBudget();
  ask(budget);
  const timer = setInterval(() => budget.moved(), 100);
  expect(await endsAfter(budget, 30_000)).toBeUndefined();
  clearInterval(timer);
  expect(await endsAfter(budget, 10_000)).toBeLessThanOrEqual(TWO_SECONDS);
});

test('a server that is slow for each of many responses is not taken for dead', async () => {
  const budget = newBudget();
  ask(budget);
  const timer = setInterval(() => budget.moved(), 450);
  expect(await endsAfter(budget, 30_000)).toBeUndefined();
  clearInterval(timer);
});

test('sent bytes may stay in buffers for as long as a slow line needs, and no longer', async () => {
  const budget = newBudget();
  send(budget, 5 * REMOTE.slowBytesPerSecond);
  expect(await endsAfter(budget, 6_800)).toBeUndefined();
  expect(await endsAfter(budget, 10_000)).toBeLessThan(300);
});

test('a silent upload does not make lookups wait longer', async () => {
  const budget = newBudget();
  send(budget, 5 * REMOTE.slowBytesPerSecond);
  ask(budget);
  expect(await endsAfter(budget, 10_000)).toBeLessThanOrEqual(TWO_SECONDS);
});

test('time in which this process gets no CPU does not count', async () => {
  const began = Date.now();
  // Nine tenths of the time the process waits for a CPU.
  const budget = newBudget(() => (Date.now() - began) * 0.9);
  ask(budget);
  expect(await endsAfter(budget, 18_000)).toBeUndefined();
});

test('a late timer tick does not count', async () => {
  const budget = newBudget();
  ask(budget);
  // As after a suspended laptop, followed by a whole second of silence.
  vi.setSystemTime(Date.now() + 3_600_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(budget.signal.aborted).toBe(false);
  expect(await endsAfter(budget, 10_000)).toBeLessThanOrEqual(TWO_SECONDS);
});

test('even a process without CPU time gives up at some point', async () => {
  const began = Date.now();
  const budget = newBudget(() => Date.now() - began);
  ask(budget);
  expect(await endsAfter(budget, 60_000)).toBeLessThan(REMOTE.silentMs + REMOTE.starvedMs + 100);
});

test('time between requests does not count', async () => {
  const budget = newBudget();
  await budget.ask(async () => {});
  await vi.advanceTimersByTimeAsync(60_000);
  await budget.ask(async () => {});
  expect(budget.signal.aborted).toBe(false);
});

test('faults add up over a run', async () => {
  const budget = newBudget();
  for (let count = 0; count < 2; count++) {
    const some = budget.ask(() => new Promise((resolve) => setTimeout(resolve, REMOTE.silentMs * 0.7)));
    await vi.advanceTimersByTimeAsync(REMOTE.silentMs * 0.7);
    await some;
  }
  expect(budget.signal.aborted).toBe(true);
});
