import { expect, test } from 'vitest';
import { AwakeClock } from '../../../server/connection/awake-clock.ts';
import { Pace } from '../../../server/connection/min-rate.ts';

const LIMITS = { noProgressMs: 60_000, pressedNoProgressMs: 5_000, progressBytes: 1000 };

function paceWithClock() {
  const clock = { now: 0, tick() {} };
  const load = { isPressed: false };
  const pace = new Pace(LIMITS, clock, load);
  const cut: number[] = [];
  const begin = (number = 0) => {
    const transfer = pace.begin(() => cut.push(number));
    transfer.waits();
    return transfer;
  };
  const isCutAfter = (ms: number): boolean => {
    clock.now += ms;
    cut.length = 0;
    pace.check();
    return cut.length > 0;
  };
  return { clock, load, pace, begin, cut, isCutAfter };
}

test('a client may keep the server waiting for a minute, and not longer', () => {
  const { begin, isCutAfter } = paceWithClock();
  begin();
  expect(isCutAfter(60_000)).toBe(false);
  expect(isCutAfter(1)).toBe(true);
});

test('any byte is progress while there is room', () => {
  const { begin, isCutAfter } = paceWithClock();
  const transfer = begin();
  for (let minute = 0; minute < 100; minute++) {
    expect(isCutAfter(59_000)).toBe(false);
    transfer.moved(1);
  }
  expect(isCutAfter(60_001)).toBe(true);
});

test('under pressure it has less time, and must move more than a byte', () => {
  const { begin, load, isCutAfter } = paceWithClock();
  const transfer = begin();
  load.isPressed = true;
  expect(isCutAfter(5_000)).toBe(false);
  transfer.moved(999);
  expect(isCutAfter(1)).toBe(true);
  transfer.moved(1);
  expect(isCutAfter(5_000)).toBe(false);
  expect(isCutAfter(1)).toBe(true);
  load.isPressed = false;
  expect(isCutAfter(1)).toBe(false);
});

test('waiting for the store is not held against it', () => {
  const { begin, load, isCutAfter } = paceWithClock();
  const transfer = begin();
  expect(isCutAfter(4_000)).toBe(false);
  transfer.rests();
  load.isPressed = true;
  expect(isCutAfter(1_000_000)).toBe(false);
  transfer.waits();
  expect(isCutAfter(1_000)).toBe(false);
  expect(isCutAfter(1)).toBe(true);
});

test('what is over is not looked at', () => {
  const { begin, pace, isCutAfter } = paceWithClock();
  pace.end(begin());
  expect(isCutAfter(1_000_000)).toBe(false);
});

test('all who are left are looked at, in whatever order others end, twice or during the look', () => {
  const { clock, pace } = paceWithClock();
  const cut: number[] = [];
  const transfers = Array.from({ length: 6 }, (_, number) => {
    const transfer = pace.begin(() => {
      cut.push(number);
      pace.end(transfer);
    });
    transfer.waits();
    return transfer;
  });
  for (const number of [0, 0, 5, 3]) {
    const transfer = transfers[number];
    if (transfer) pace.end(transfer);
  }
  clock.now = 60_001;
  pace.check();
  expect(cut.toSorted()).toEqual([1, 2, 4]);
  pace.check();
  expect(cut).toHaveLength(3);
});

test('a time in which the server did not run does not count', () => {
  let wallMs = 0;
  const clock = new AwakeClock({ sweepMs: 200 }, () => wallMs);
  for (const [atMs, countedMs] of [
    [200, 200],
    [410, 410],
    [3_600_000, 810],
    [3_600_200, 1010],
  ] as const) {
    wallMs = atMs;
    clock.tick();
    expect(clock.now).toBe(countedMs);
  }
});
