// The invariants C1 to C6 of store/disk/index/logical-clock.ts.
import { expect, test } from 'vitest';
import type { Stamp } from '../../../../store/disk/index/logical-clock.ts';
import { STORE } from '../../../../store/limits.ts';
import { EXPIRED, LEASE, type TestIndex, TICK, useIndexes, WINDOW } from './test-index.ts';

const newIndex = useIndexes();

/** A write that begins the stamp's tick. */
function commit({ index }: TestIndex, { begin, tick }: Stamp): Promise<boolean> {
  return index.tables.commit(() => {
    begin();
    return index.tables.table('state').put(Buffer.from('written'), Buffer.alloc(1), tick);
  });
}

test('C1: a tick keeps the time of the first commit that began it', async () => {
  const all = newIndex();
  const [one, other] = [all.newClock(), all.newClock()];
  const first = one.stamp();
  const began = all.time;
  all.time += TICK / 2;
  const second = other.stamp();
  expect(second.tick).toBe(first.tick);
  await commit(all, first);
  await commit(all, second);
  expect(all.began(first.tick)).toBe(began);
});

test('C2: a higher tick began later, by a whole tick at least', async () => {
  const all = newIndex();
  const clocks = [all.newClock(), all.newClock(), all.newClock()];
  let last = 0;
  for (let step = 0; step < 60; step++) {
    all.time += (step % 7) * (TICK / 3);
    const stamp = clocks[step % 3]?.stamp();
    if (!stamp) continue;
    await commit(all, stamp);
    expect(stamp.tick).toBeGreaterThanOrEqual(last);
    last = stamp.tick;
  }
  for (let tick = 2; tick <= last; tick++)
    expect((all.began(tick) ?? 0) - (all.began(tick - 1) ?? 0)).toBeGreaterThanOrEqual(TICK);
});

test('C3: ticks of an earlier boot expire only together with a tick of this boot', async () => {
  const all = newIndex();
  const before = all.clock.stamp();
  await commit(all, before);
  all.name = 'second boot';
  all.time = 1000;
  const clock = all.newClock();
  all.time += 100 * EXPIRED;
  expect(clock.expired()).toBeLessThan(before.tick);
  expect(clock.freshBlob()).toBeGreaterThan(before.tick);
  const after = clock.stamp();
  await commit(all, after);
  all.time += EXPIRED - 1;
  expect(clock.expired()).toBeLessThan(before.tick);
  all.time += 1;
  expect(clock.expired()).toBe(after.tick);
});

test('C5: reads begin no tick, and a write begins the tick that it is stamped with', async () => {
  const all = newIndex();
  const { tick } = all.clock.stamp();
  all.clock.freshBlob();
  all.clock.freshResult();
  all.clock.expired();
  expect(await all.leases.renew([])).toBe(tick);
  expect(all.began(tick)).toBeUndefined();
  await all.add('one');
  expect(all.began(tick)).toBe(all.time);
});

test('C6: a tick that another process began is known after the slack at the latest', async () => {
  const all = newIndex();
  const [one, other] = [all.newClock(), all.newClock()];
  await commit(all, one.stamp());
  const fresh = one.freshBlob();
  all.time += WINDOW + 1;
  await commit(all, other.stamp());
  all.time += STORE.tickSlackMs;
  expect(one.freshBlob()).toBeGreaterThan(fresh);
});

test('C6: a tick expires a lease, a window and the slack after it began, and not before', async () => {
  const all = newIndex();
  const stamp = all.clock.stamp();
  await commit(all, stamp);
  all.time += LEASE + WINDOW + STORE.tickSlackMs - 1;
  expect(all.clock.expired()).toBeLessThan(stamp.tick);
  all.time += 1;
  expect(all.clock.expired()).toBe(stamp.tick);
  expect(all.clock.expired(1)).toBeLessThan(stamp.tick);
  all.time += WINDOW;
  expect(all.clock.expired(1)).toBe(stamp.tick);
});
