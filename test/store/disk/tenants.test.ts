import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { Index } from '../../../store/disk/index/index.ts';
import { encodeTenantNumber, tenantKeyOf } from '../../../store/disk/index/records.ts';
import { TenantNumbers } from '../../../store/disk/index/tenants.ts';
import type { StoreEvent } from '../../../store/events.ts';
import { STORE } from '../../../store/limits.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';
import { Random } from '../../rig/random.ts';
import { soak } from '../../rig/soak.ts';
import { Child } from '../children/child.ts';
import { blobOf, tenantsOf, tenantsWith } from '../children/items.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming, streamOf } from '../content.ts';
import { filesIn, useFolders } from '../folders.ts';

const SMALL = 1000;
const LARGE = STORE.chunkBytes + 17;
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 2_407);
const MOMENTS = soak(20, 5);
const { folder, open } = useFolders();

const isMissing = async (store: Store, digest: Digest) => (await store.blobs.missing([digest])).length === 1;

test('a large blob of many tenants is one file, and nothing is left in staging', async () => {
  const directory = folder();
  const store = await open({ directory });
  const bytes = contentOf('large', LARGE);
  const names = Array.from({ length: 12 }, (_, number) => `tenant-${number}`);
  await Promise.all(
    names.map((name) => store.tenant(name).blobs.put(digestOf(bytes), streamOf(bytes, 65_536))),
  );
  await store.tenant('later').blobs.put(digestOf(bytes), bytes);
  const [file, ...others] = filesIn(directory, 'files');
  expect(others).toEqual([]);
  expect(readFileSync(file ?? '').equals(bytes)).toBe(true);
  expect(filesIn(directory, 'staging')).toEqual([]);
  for (const name of [...names, 'later'])
    expect((await readFrom(store.tenant(name), digestOf(bytes)))?.equals(bytes)).toBe(true);
});

test('a tenant keeps its blobs when the store is closed and opened again', async () => {
  const directory = folder();
  const before = await openDiskStore({ directory });
  const digest = await putOne(before.tenant('acme'), contentOf('kept', SMALL));
  await before.close();
  const after = await open({ directory });
  expect(await isMissing(after.tenant('acme'), digest)).toBe(false);
  expect(await isMissing(after.tenant('other'), digest)).toBe(true);
  await putOne(after.tenant('other'), contentOf('kept', SMALL));
  expect(await isMissing(after.tenant('acme'), digest)).toBe(false);
  expect(await isMissing(after.tenant('other'), digest)).toBe(false);
});

test('a store without tenants has no record of tenants', async () => {
  const directory = folder();
  const store = await open({ directory });
  const digest = await putOne(store, contentOf('plain', SMALL));
  expect(await isMissing(store.tenant('reader'), digest)).toBe(true);
  expect(await store.tenant('reader').blobs.get(digest.hash)).toBeUndefined();
  await store.tenant('reader').blobs.touch([digest.hash]);
  const index = Index.open(join(directory, 'v5/index'));
  expect(index.find(digest.hash)?.tenants).toHaveLength(0);
  const keys = [...index.tables.table('state').getKeys()].map(String);
  expect(keys.filter((key) => key.startsWith('number'))).toEqual([]);
  await index.close();
});

test('eviction takes a blob from all tenants, and whoever puts it again has it alone', async () => {
  let time = 5_000_000;
  const clock = { name: 'boot', now: () => time };
  const LEASE = 1_000_000;
  const store = await open({
    directory: folder(),
    clock,
    leaseMs: LEASE,
    maxSize: { bytes: 8 * STORE.chunkBytes },
  });
  const [acme, other] = [store.tenant('acme'), store.tenant('other')];
  const bytes = contentOf('evicted', LARGE);
  const used = contentOf('used', LARGE);
  for (const view of [acme, other]) for (const one of [bytes, used]) await putOne(view, one);
  time += 0.9 * LEASE;
  // The question of a tenant that has the blob leases it. That of another one does not.
  expect(await store.tenant('third').blobs.missing([digestOf(bytes), digestOf(used)])).toHaveLength(2);
  await store.tenant('third').blobs.touch([digestOf(bytes).hash]);
  expect(await isMissing(acme, digestOf(used))).toBe(false);
  time += 0.4 * LEASE;
  await store.space.evict(0);
  expect(await acme.blobs.missing([digestOf(bytes), digestOf(used)])).toEqual([digestOf(bytes)]);
  expect(await other.blobs.missing([digestOf(bytes), digestOf(used)])).toEqual([digestOf(bytes)]);
  await putOne(other, bytes);
  expect([await isMissing(acme, digestOf(bytes)), await isMissing(other, digestOf(bytes))]).toEqual([
    true,
    false,
  ]);
});

test('a put that adds a tenant leases the blob', async () => {
  let time = 5_000_000;
  const clock = { name: 'boot', now: () => time };
  const LEASE = 1_000_000;
  const store = await open({ directory: folder(), clock, leaseMs: LEASE, maxSize: { bytes: 2 ** 30 } });
  for (const size of [SMALL, LARGE]) {
    const bytes = contentOf('leased', size);
    await putOne(store.tenant('acme'), bytes);
    time += 1.5 * LEASE;
    await putOne(store.tenant('other'), bytes);
    time += 0.9 * LEASE;
    await store.space.evict(0);
    expect(await isMissing(store.tenant('other'), digestOf(bytes))).toBe(false);
    expect(await isMissing(store.tenant('acme'), digestOf(bytes))).toBe(false);
  }
});

test('a damaged number gives its tenant a new one, and never the blobs of another tenant', async () => {
  const directory = folder();
  const before = await openDiskStore({ directory });
  const ofAcme = await putOne(before.tenant('acme'), contentOf('of acme', SMALL));
  const ofOther = await putOne(before.tenant('other'), contentOf('of other', SMALL));
  await before.close();
  const index = Index.open(join(directory, 'v5/index'));
  const numberOfOther = index.tenants.find('other');
  // As if bits had flipped: the number of another tenant, with a checksum that does not fit.
  const moved = encodeTenantNumber(tenantKeyOf('other'), numberOfOther);
  await index.tables.commit(() => index.tables.table('state').put(tenantKeyOf('acme'), moved, 1));
  await index.close();
  const store = await open({ directory });
  const acme = store.tenant('acme');
  expect(await acme.blobs.missing([ofAcme, ofOther])).toEqual([ofAcme, ofOther]);
  await putOne(acme, contentOf('of acme', SMALL));
  expect(await acme.blobs.missing([ofAcme, ofOther])).toEqual([ofOther]);
  expect(await store.tenant('other').blobs.missing([ofAcme, ofOther])).toEqual([ofAcme]);
});

test('no number is given twice, also if the last one is damaged', async () => {
  const directory = folder();
  await (await openDiskStore({ directory })).close();
  const index = Index.open(join(directory, 'v5/index'));
  const views = Array.from({ length: 4 }, () => new TenantNumbers(index.tables));
  const names = Array.from({ length: 40 }, (_, number) => `tenant-${number}`);
  const assigned = await Promise.all(
    names.flatMap((name) => views.map(async (view) => [name, await view.assign(name)] as const)),
  );
  const numbers = new Map(assigned);
  for (const [name, number] of assigned) expect(numbers.get(name)).toBe(number);
  expect(new Set(numbers.values()).size).toBe(names.length);
  await index.tables.commit(() =>
    index.tables.table('state').put(Buffer.from('numbers'), Buffer.alloc(10), 7),
  );
  await expect(new TenantNumbers(index.tables).assign('one more')).rejects.toMatchObject({
    code: 'ASSAY_STORE_FAULT',
  });
  expect(await new TenantNumbers(index.tables).assign('tenant-0')).toBe(numbers.get('tenant-0'));
  await index.close();
});

test('several processes put the same blobs for many tenants at once', async () => {
  const directory = folder();
  const count = 30;
  const prefixes = ['a', 'b', 'c', 'd'];
  const children = prefixes.map((prefix) => new Child('sharer', directory, SEED, prefix, count));
  const lines = await Promise.all(children.map((child) => child.remainingLines()));
  await Promise.all(children.map((child) => child.end()));
  for (const printed of lines) expect(printed).toHaveLength(1 + 2 * count);
  const store = await open({ directory });
  const numbers = Array.from({ length: count }, (_, number) => number);
  const digests = numbers.map((number) => digestOf(blobOf(SEED, number)));
  for (const prefix of prefixes) {
    for (const name of tenantsOf(prefix)) {
      const lacking = digests.filter((_, number) => !tenantsWith(prefix, number).includes(name));
      expect(await store.tenant(name).blobs.missing(digests)).toEqual(lacking);
    }
  }
  const large = digests.filter(({ size }) => size > STORE.inlineBytes);
  expect(filesIn(directory, 'files')).toHaveLength(large.length);
  expect(filesIn(directory, 'staging')).toEqual([]);
});

test(`after kill -9 at ${MOMENTS} moments each tenant has what was acknowledged to it, and nothing of others (seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const directory = folder();
  let acknowledged = 0;
  for (let moment = 0; moment < MOMENTS; moment++) {
    const child = new Child('sharer', directory, SEED + moment, 't');
    const lines: string[] = [];
    const enough = 1 + random.below(25);
    while (lines.length < enough) lines.push((await child.line()) ?? 'ended');
    // The moment of the kill is the point; there is nothing to wait for.
    await setTimeout(random.below(12));
    await child.kill();
    lines.push(...(await child.remainingLines()));
    expect(lines).not.toContain('ended');
    const store = await openDiskStore({ directory });
    const promised = new Set(lines.slice(1));
    for (let number = 0; number < lines.length + 8; number++)
      acknowledged += await checkTenants(store, SEED + moment, number, promised);
    await store.close();
  }
  expect(acknowledged).toBeGreaterThan(MOMENTS);
}, 240_000);

/** Resolves to the number of acknowledged puts of that blob. */
async function checkTenants(
  store: Store,
  seed: number,
  number: number,
  promised: ReadonlySet<string>,
): Promise<number> {
  const bytes = blobOf(seed, number);
  let acknowledged = 0;
  for (const name of tenantsOf('t')) {
    const isThere = !(await isMissing(store.tenant(name), digestOf(bytes)));
    const found = await readFrom(store.tenant(name), digestOf(bytes));
    expect(found?.equals(bytes) ?? false).toBe(isThere);
    if (!tenantsWith('t', number).includes(name)) expect(isThere).toBe(false);
    if (!promised.has(`${name} ${number}`)) continue;
    expect(isThere).toBe(true);
    acknowledged++;
  }
  return acknowledged;
}

test('a result that one process removes is a miss at once in another one that reads all the time', async () => {
  const directory = folder();
  const events: StoreEvent[] = [];
  const store = await open({ directory, onEvent: (event) => events.push(event) });
  const result = resultNaming(await putOne(store, contentOf('output', SMALL)));
  await store.results.put(addressOf('steady'), result);
  const child = new Child('reader', directory);
  expect(await child.line()).toBe('ready');
  for (let round = 0; round < 60; round++) {
    const address = addressOf(`bad ${round}`);
    await store.results.put(address, result);
    child.say(`bad ${round}`);
    expect(await child.line()).toBe('hit');
    for await (const seen of store.review?.results() ?? [])
      if (seen.address.key === address.key) expect(await store.review?.remove(seen)).toBe(true);
    child.say(`bad ${round}`);
    expect(await child.line()).toBe('miss');
  }
  await child.end();
  expect(events).toEqual([]);
});
