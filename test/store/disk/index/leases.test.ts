// The invariants L1, L2, L4 and L5 of store/disk/index/leases.ts. L3 is tested by ../space/eviction.test.ts.
import { expect, test, vi } from 'vitest';
import { type Digest, digestOf } from '../../../../core/digest.ts';
import { resultKeyOf, tenantsOf } from '../../../../store/disk/index/records.ts';
import { DiskResults } from '../../../../store/disk/index/results.ts';
import { addressOf, contentOf, noHolders } from '../../content.ts';
import { TICK, useIndexes, WINDOW } from './test-index.ts';

const newIndex = useIndexes();

test('L1: a lease is committed before the answer', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  all.time += 2 * WINDOW;
  const before = all.entry(hash).tick;
  const gate = Promise.withResolvers<void>();
  const stampBlob = all.index.stampBlob.bind(all.index);
  vi.spyOn(all.index, 'stampBlob').mockImplementation(async (...change) => {
    await gate.promise;
    return stampBlob(...change);
  });
  let isAnswered = false;
  const answer = all.leases.renew([hash]).then(() => {
    isAnswered = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isAnswered).toBe(false);
  gate.resolve();
  await answer;
  expect(all.entry(hash).tick).toBeGreaterThan(before);
});

test('L1: if the index can’t be written, the answer comes without a lease, and an event says so', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  all.time += 2 * WINDOW;
  vi.spyOn(all.index, 'stampBlob').mockRejectedValue(new Error('read-only'));
  await all.leases.renew([hash]);
  expect(all.events).toEqual([{ type: 'unleased', detail: 'read-only' }]);
});

test('L2: a blob in constant use is written once per window', async () => {
  const all = newIndex();
  const hash = await all.add('one');
  const writes = vi.spyOn(all.index, 'stampBlob');
  const uses = 200;
  for (let use = 0; use < uses; use++) {
    all.time += WINDOW / 20;
    await all.leases.renew([hash]);
  }
  expect(writes.mock.calls.length).toBeGreaterThanOrEqual(uses / 20 - 1);
  expect(writes.mock.calls.length).toBeLessThanOrEqual(uses / 20);
});

test('L4: a result is never stamped later than a blob that it names', async () => {
  const all = newIndex();
  const results = new DiskResults(all.index, all.leases, () => {}, noHolders);
  const references: Digest[] = [];
  for (let number = 0; number < 4; number++) {
    await all.add(`${number}`);
    references.push(digestOf(contentOf(`${number}`, 100)));
    all.time += 5 * TICK;
  }
  const address = addressOf('key');
  const result = { bytes: Buffer.from('result'), references };
  const check = () => {
    const oldest = Math.min(...references.map(({ hash }) => all.entry(hash).tick));
    expect(all.index.resultTick(resultKeyOf(address))).toBeLessThanOrEqual(oldest);
  };
  expect(await results.put(address, result, undefined)).toBe(true);
  check();
  for (let use = 0; use < 30; use++) {
    all.time += WINDOW / 7;
    if (use % 3 === 0) await all.leases.renew(references.slice(use % 4).map(({ hash }) => hash));
    await results.markUsed(address, result);
    check();
  }
});

test('a list that one tenant has is not fresh for another, and its ticks are not looked up twice', async () => {
  const all = newIndex();
  const own = await all.index.tenants.assign('own');
  const other = await all.index.tenants.assign('other');
  const hash = await all.add('one');
  const digests = [digestOf(contentOf('one', 100))];
  await all.index.stampBlob(hash, all.entry(hash), all.clock.stamp(), tenantsOf(own));
  const lookups = vi.spyOn(all.index, 'ticksOf');
  expect(all.leases.areFresh(digests, own)).toBe(true);
  expect(all.leases.areFresh(digests, other)).toBe(false);
  expect(lookups).toHaveBeenCalledTimes(2);
  expect(all.leases.oldestIfFresh(digests)).toEqual({ tick: all.entry(hash).tick, isHeld: true });
  expect(lookups).toHaveBeenCalledTimes(2);
  all.time += 2 * WINDOW;
  expect(all.leases.oldestIfFresh(digests)).toBeUndefined();
  expect(lookups).toHaveBeenCalledTimes(3);
});

test('a holder that has all blobs of a list is found by the same look', async () => {
  const all = newIndex();
  const [tenant, holder] = [await all.index.tenants.assign('own'), await all.index.tenants.assign('/main')];
  const digests = await Promise.all(
    ['one', 'two'].map(async (text) => {
      const hash = await all.add(text);
      await all.index.stampBlob(hash, all.entry(hash), all.clock.stamp(), tenantsOf(tenant));
      return digestOf(contentOf(text, 100));
    }),
  );
  const give = async ({ hash }: Digest) => {
    await all.index.stampBlob(hash, all.entry(hash), all.clock.stamp(), tenantsOf(tenant, holder));
    all.index.refresh();
  };
  const [first, second] = digests;
  if (!first || !second) throw new Error('two blobs');
  await give(first);
  expect(all.leases.areFresh(digests, tenant, holder)).toBe(true);
  expect(all.leases.oldestIfFresh(digests, holder)).toMatchObject({ isHeld: false });
  await give(second);
  const lookups = vi.spyOn(all.index, 'ticksOf');
  expect(all.leases.areFresh(digests, tenant, holder)).toBe(true);
  expect(all.leases.oldestIfFresh(digests, holder)).toMatchObject({ isHeld: true });
  expect(lookups).toHaveBeenCalledTimes(1);
});

test('L5: a tick far ahead of the clock is no lease, and the next use stamps the entry again', async () => {
  const all = newIndex();
  const hash = await all.add('one', false, { tick: 2 ** 30, begin: () => {} });
  expect(all.leases.isFresh(all.entry(hash))).toBe(false);
  await all.leases.renew([hash]);
  expect(all.entry(hash).tick).toBe(all.clock.stamp().tick);
  expect(all.leases.isFresh(all.entry(hash))).toBe(true);
});
