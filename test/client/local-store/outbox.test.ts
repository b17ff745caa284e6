// Unshared results are kept from eviction, for seven days and for a share of the store.
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REMOTE } from '../../../client/limits.ts';
import { leaseUnshared, Outbox } from '../../../client/local-store/outbox.ts';
import { digestOf } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import type { DiskStore } from '../../../store/open.ts';
import { addressOf, contentOf, putOne, resultNaming } from '../../store/content.ts';
import { useFolders } from '../../store/folders.ts';

const MIB = 1024 * 1024;
const LEASE = 1_000_000;
const LONG = LEASE * (1 + 2 / STORE.leaseWindows) + 2 * STORE.tickSlackMs;
const { folder, open } = useFolders();
const DAY = 24 * 3_600_000;

/** A store of 16 MiB with results of one each, whose leases have all ended; those named are to be shared. */
async function fullStore(results: readonly string[], unshared: readonly string[]) {
  const directory = folder();
  let time = 5_000_000;
  const clock = { name: 'boot', now: () => time };
  const store = await open({ directory, leaseMs: LEASE, maxSize: { bytes: 16 * MIB }, clock });
  const outbox = new Outbox(directory, new URL('http://cache.test/'), undefined);
  const described = await putOne(store, contentOf('action', 1000));
  for (const name of results) {
    const digest = await putOne(store, contentOf(name, MIB));
    await store.results.put(addressOf(name), resultNaming(digest));
    const { key: hash } = addressOf(name);
    if (unshared.includes(name)) outbox.add({ key: { hash, size: 1 }, action: hash, blobs: [described] });
    time += LEASE / 100;
  }
  time += LONG;
  return { directory, store, outbox, described };
}

const there = async (store: DiskStore, names: readonly string[]) => {
  const found = await Promise.all(
    names.map(async (name) => (await store.results.get(addressOf(name))) && name),
  );
  return found.filter((name) => name !== undefined);
};
const NAMES = Array.from({ length: 10 }, (_, at) => `result ${at}`);

test('an unshared result stays with its blobs, and may be evicted after seven days', async () => {
  const [oldest = '', ...others] = NAMES;
  const { directory, store, described, outbox } = await fullStore(NAMES, [oldest]);
  await leaseUnshared(directory, store, Date.now() + DAY);
  await store.space.evict(2 * MIB);
  expect(await there(store, [oldest])).toEqual([oldest]);
  expect(await store.blobs.missing([described])).toEqual([]);
  expect((await there(store, others)).length).toBeLessThan(2);
  await leaseUnshared(directory, store, Date.now() + DAY + REMOTE.unsharedMs);
  expect(outbox.entries()).toEqual([]);
});

test('unshared results leave space for new ones: the newest are leased first', async () => {
  const { directory, store } = await fullStore(NAMES, NAMES);
  for (const [at, name] of NAMES.entries()) {
    const remote = digestOf(Buffer.from('http://cache.test/')).hash.slice(0, 32);
    utimesSync(
      join(directory, 'client/outbox', remote, addressOf(name).key),
      at + 1,
      Date.now() / 1000 - 100 + at,
    );
  }
  await leaseUnshared(directory, store, Date.now() + DAY);
  await store.space.evict(0);
  expect(await there(store, NAMES)).toEqual(NAMES.slice(-4));
});
