import { expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { STORE } from '../../core/limits.ts';
import { Trust } from '../../store/trust.ts';

const hashOf = (number: number) => digestOf(Buffer.from(String(number))).hash;

test('trust is for one generation, and for a time', () => {
  let time = 5;
  const trust = new Trust(() => time);
  trust.add(hashOf(1), 10);
  expect(trust.has(hashOf(1), 10)).toBe(true);
  expect(trust.has(hashOf(1), 11)).toBe(false);
  expect(trust.has(hashOf(2), 10)).toBe(false);
  time += STORE.trustMs;
  expect(trust.has(hashOf(1), 10)).toBe(false);
});

test('trust in one chunk says nothing of another, and ends with that in the first', () => {
  let time = 5;
  const trust = new Trust(() => time);
  trust.add(hashOf(1), 10, 2, 4);
  time += STORE.trustMs - 1;
  trust.add(hashOf(1), 10, 3, 4);
  expect([0, 1, 2, 3].map((chunk) => trust.has(hashOf(1), 10, chunk))).toEqual([false, false, true, true]);
  time += 1;
  expect(trust.has(hashOf(1), 10, 3)).toBe(false);
  trust.add(hashOf(1), 10, 0, 4);
  expect([0, 1, 2, 3].map((chunk) => trust.has(hashOf(1), 10, chunk))).toEqual([true, false, false, false]);
});

test('trust is bounded: the oldest verdict goes first', () => {
  const trust = new Trust(() => 0);
  for (let number = 0; number <= STORE.trustEntries; number++) trust.add(hashOf(number), 1);
  expect(trust.has(hashOf(0), 1)).toBe(false);
  expect(trust.has(hashOf(1), 1)).toBe(true);
  expect(trust.has(hashOf(STORE.trustEntries), 1)).toBe(true);
});

test('what is trusted no longer takes no memory', () => {
  let time = 5;
  const trust = new Trust(() => time);
  for (let number = 0; number < 100; number++) trust.add(hashOf(number), 1);
  time += STORE.trustMs - 1;
  trust.add(hashOf(100), 1);
  expect(trust.size).toBe(101);
  time += 1;
  trust.add(hashOf(101), 1);
  expect(trust.size).toBe(2);
});
