// Reservations of entries of GitHub's cache, with a clock that the test sets.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { Reservations } from '../../../server/protocols/actions/reservations.ts';

const LIMITS = { reservationMs: 100, signedUrlMs: 1000, maxReservations: 2 };
const [ENTRY, OTHER, THIRD] = ['a', 'b', 'c'].map((text) => digestOf(Buffer.from(text)).hash);

function reservations() {
  const clock = { ms: 0 };
  const all = new Reservations(LIMITS, () => clock.ms);
  const reserve = (entry = ENTRY ?? expect.fail(), owner = 'acme/app/main') =>
    all.reserve(entry, parseNamespace(owner));
  const idsOf = (entry = ENTRY ?? expect.fail()) => all.uploadIdsOf(entry);
  return { all, clock, reserve, idsOf, entry: ENTRY ?? expect.fail() };
}

test('an entry is reserved until its job is idle for the time limit', () => {
  const { clock, reserve, idsOf } = reservations();
  const first = reserve();
  clock.ms = 99;
  expect([typeof first, reserve()]).toEqual(['string', undefined]);
  clock.ms = 100;
  const second = reserve();
  expect(idsOf()).toEqual([first, second]); // the first job may have been suspended
  clock.ms = 1000;
  expect(idsOf()).toEqual([second]);
});

test('a job is alive while its upload makes progress', async () => {
  const { all, clock, entry, reserve } = reservations();
  const id = reserve() ?? '';
  await all.whileArriving(entry, id, async () => {
    clock.ms = 50_000;
    expect(reserve()).toBeUndefined();
  });
  clock.ms += 99;
  expect(reserve()).toBeUndefined();
  clock.ms += 1;
  expect(reserve()).toBeDefined();
});

test('an entry may be reserved again after its job got a response, and that job may retry', () => {
  const { all, clock, entry, reserve, idsOf } = reservations();
  const first = reserve() ?? '';
  all.answered(entry, first);
  const second = reserve();
  expect(idsOf()).toEqual([first, second]);
  clock.ms = 100;
  expect(idsOf()).toEqual([second]);
});

test('the number of reservations is bounded, and idle ones are replaced first', () => {
  const { clock, reserve } = reservations();
  expect([reserve(), reserve(OTHER)]).not.toContain(undefined);
  expect(() => reserve(THIRD)).toThrow('ASSAY_TOO_MANY_UPLOADS');
  clock.ms = 100;
  expect(reserve(THIRD)).toBeDefined();
});

test('a namespace that has the most reservations loses its oldest one to another namespace', () => {
  const { reserve, idsOf } = reservations();
  const pull = 'acme/app/pr/1';
  reserve(ENTRY, pull);
  const newer = reserve(OTHER, pull);
  const ofMain = reserve(THIRD);
  expect([idsOf(), idsOf(OTHER), idsOf(THIRD)]).toEqual([[], [newer], [ofMain]]);
  for (const owner of [pull, 'acme/app/main', 'rival'])
    expect(() => reserve(ENTRY, owner)).toThrow('ASSAY_TOO_MANY_UPLOADS');
});
