import { expect, test } from 'vitest';
import { Pace } from '../../server/pace.ts';

function paceWithClock() {
  let time = 0;
  let givenUp = 0;
  const pace = new Pace({ bodyGraceMs: 1000, bodyBytesPerSecond: 100 }, () => time);
  const transfer = pace.begin(() => {
    givenUp++;
  });
  const after = (ms: number): number => {
    time += ms;
    pace.check();
    return givenUp;
  };
  return { pace, transfer, after };
}

test('a client may wait for its grace, and not longer', () => {
  const { transfer, after } = paceWithClock();
  transfer.waits();
  expect(after(1000)).toBe(0);
  expect(after(1)).toBe(1);
});

test('each byte that it moves buys it time', () => {
  const { transfer, after } = paceWithClock();
  transfer.waits();
  transfer.moved(50);
  expect(after(1500)).toBe(0);
  expect(after(1)).toBe(1);
});

test('waiting for the store is not held against it', () => {
  const { transfer, after } = paceWithClock();
  transfer.waits();
  expect(after(900)).toBe(0);
  transfer.rests();
  expect(after(1_000_000)).toBe(0);
  transfer.waits();
  expect(after(100)).toBe(0);
  expect(after(1)).toBe(1);
});

test('is told at every look that it still waits, until it is given up', () => {
  let time = 0;
  const told: number[] = [];
  const pace = new Pace({ bodyGraceMs: 1000, bodyBytesPerSecond: 100 }, () => time);
  const transfer = pace.begin(
    () => told.push(-1),
    () => told.push(time),
  );
  pace.check();
  transfer.waits();
  for (time of [1, 900, 1001]) pace.check();
  transfer.rests();
  pace.check();
  expect(told).toEqual([1, 900, -1, -1]);
});

test('what is over is not looked at', () => {
  const { pace, transfer, after } = paceWithClock();
  transfer.waits();
  pace.end(transfer);
  expect(after(1_000_000)).toBe(0);
});

test('all who are left are looked at, in whatever order others end, twice or during the look', () => {
  let time = 0;
  const pace = new Pace({ bodyGraceMs: 1000, bodyBytesPerSecond: 100 }, () => time);
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
  time = 1001;
  pace.check();
  expect(cut.toSorted()).toEqual([1, 2, 4]);
  pace.check();
  expect(cut).toHaveLength(3);
});
