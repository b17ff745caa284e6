// Reservations of entries of GitHub's cache, by a clock that the test holds.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { Reservations } from '../../../server/protocols/actions/reservations.ts';

const LIMITS = { reservationMs: 100, signedUrlMs: 1000, maxReservations: 2 };
const [ENTRY, OTHER, THIRD] = ['a', 'b', 'c'].map((text) => digestOf(Buffer.from(text)).hash);

function reservations() {
  const clock = { ms: 0 };
  const all = new Reservations(LIMITS, () => clock.ms);
  const reserve = (entry = ENTRY ?? expect.fail()) => all.reserve(entry);
  const idsOf = (entry = ENTRY ?? expect.fail()) => all.uploadIdsOf(entry);
  return { all, clock, reserve, idsOf, entry: ENTRY ?? expect.fail() };
}

test('an entry is reserved until its job has sent nothing for a while', () => {
  const { clock, reserve, idsOf } = reservations();
  const first = reserve();
  clock.ms = 99;
  expect([typeof first, reserve()]).toEqual(['string', undefined]);
  clock.ms = 100;
  const second = reserve();
  expect(idsOf()).toEqual([first, second]); // the first may have been asleep
  clock.ms = 1000;
  expect(idsOf()).toEqual([second]);
});

test('a job is alive for as long as some of its upload arrives', async () => {
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

test('an entry may be reserved anew when its job was answered, who may ask once more', () => {
  const { all, clock, entry, reserve, idsOf } = reservations();
  const first = reserve() ?? '';
  all.answered(entry, first);
  const second = reserve();
  expect(idsOf()).toEqual([first, second]);
  clock.ms = 100;
  expect(idsOf()).toEqual([second]);
});

test('there are so many, and those who died go first', () => {
  const { clock, reserve } = reservations();
  expect([reserve(), reserve(OTHER)]).not.toContain(undefined);
  expect(() => reserve(THIRD)).toThrow('ASSAY_TOO_MANY_UPLOADS');
  clock.ms = 100;
  expect(reserve(THIRD)).toBeDefined();
});
