import { expect, test } from 'vitest';
import { AwakeClock } from '../../../server/capacity/awake-clock.ts';
import { MinRate } from '../../../server/capacity/min-rate.ts';

const LIMITS = { noProgressMs: 60_000, pressureNoProgressMs: 5_000, minProgressBytes: 1000 };

function minRateWithClock() {
  const clock = { now: 0, tick() {} };
  const capacity = { isUnderPressure: false };
  const minRate = new MinRate(LIMITS, clock, capacity);
  const cut: number[] = [];
  const begin = (number = 0) => {
    const transfer = minRate.begin(() => cut.push(number));
    transfer.startWaiting();
    return transfer;
  };
  const isCutAfter = (ms: number): boolean => {
    clock.now += ms;
    cut.length = 0;
    minRate.check();
    return cut.length > 0;
  };
  return { clock, capacity, minRate, begin, cut, isCutAfter };
}

test('a client may keep the server waiting for one minute', () => {
  const { begin, isCutAfter } = minRateWithClock();
  begin();
  expect(isCutAfter(60_000)).toBe(false);
  expect(isCutAfter(1)).toBe(true);
});

test('without pressure, any byte is progress', () => {
  const { begin, isCutAfter } = minRateWithClock();
  const transfer = begin();
  for (let minute = 0; minute < 100; minute++) {
    expect(isCutAfter(59_000)).toBe(false);
    transfer.progress(1);
  }
  expect(isCutAfter(60_001)).toBe(true);
});

test('under pressure a client has less time, and must transfer more than a byte', () => {
  const { begin, capacity, isCutAfter } = minRateWithClock();
  const transfer = begin();
  capacity.isUnderPressure = true;
  expect(isCutAfter(5_000)).toBe(false);
  transfer.progress(999);
  expect(isCutAfter(1)).toBe(true);
  transfer.progress(1);
  expect(isCutAfter(5_000)).toBe(false);
  expect(isCutAfter(1)).toBe(true);
  capacity.isUnderPressure = false;
  expect(isCutAfter(1)).toBe(false);
});

test('time spent waiting for the store does not count', () => {
  const { begin, capacity, isCutAfter } = minRateWithClock();
  const transfer = begin();
  expect(isCutAfter(4_000)).toBe(false);
  transfer.stopWaiting();
  capacity.isUnderPressure = true;
  expect(isCutAfter(1_000_000)).toBe(false);
  transfer.startWaiting();
  expect(isCutAfter(1_000)).toBe(false);
  expect(isCutAfter(1)).toBe(true);
});

test('an ended transfer is not checked', () => {
  const { begin, minRate, isCutAfter } = minRateWithClock();
  minRate.end(begin());
  expect(isCutAfter(1_000_000)).toBe(false);
});

test('every remaining transfer is checked, even if others end in any order, twice or during the check', () => {
  const { clock, minRate } = minRateWithClock();
  const cut: number[] = [];
  const transfers = Array.from({ length: 6 }, (_, number) => {
    const transfer = minRate.begin(() => {
      cut.push(number);
      minRate.end(transfer);
    });
    transfer.startWaiting();
    return transfer;
  });
  for (const number of [0, 0, 5, 3]) {
    const transfer = transfers[number];
    if (transfer) minRate.end(transfer);
  }
  clock.now = 60_001;
  minRate.check();
  expect(cut.toSorted()).toEqual([1, 2, 4]);
  minRate.check();
  expect(cut).toHaveLength(3);
});

test('time in which the server was suspended does not count', () => {
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
