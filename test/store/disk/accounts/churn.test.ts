// A full store with quotas and floors under load: no namespace falls below its floor for others, none exceeds its
// quota, no result names a blob that is gone, and the count equals one that is made anew (A1 to A4).
import { expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { AssayError } from '../../../../core/errors.ts';
import { parseNamespace } from '../../../../core/namespace.ts';
import type { AccountSettings } from '../../../../store/accounts.ts';
import type { DiskStore } from '../../../../store/open.ts';
import { Random } from '../../../rig/random.ts';
import { soak } from '../../../rig/soak.ts';
import { addressOf, contentOf, resultNaming } from '../../content.ts';
import { useFolders } from '../../folders.ts';

const MIB = 1024 * 1024;
const LIMIT = 24 * MIB;
const LEASE = 1_000_000;
const CHECKS = soak(20_000);
const WRITERS = 6;
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 37);
const { folder, open } = useFolders();

/** It writes once, at the start: what it loses afterwards, it loses for others. */
const KEPT = 'kept/main';
const FLOOR = 6 * MIB;
const ACCOUNTS: readonly AccountSettings[] = [
  { name: KEPT, namespaces: [KEPT], floor: { bytes: FLOOR } },
  { name: 'acme', namespaces: ['acme'], quota: { bytes: 12 * MIB } },
  { name: 'acme/main', namespaces: ['acme/main'], floor: { bytes: 3 * MIB } },
  {
    name: 'pull requests',
    namespaces: ['acme/pr', 'globex/pr'],
    quota: { share: 0.25 },
  },
];
const NAMESPACES = ['acme/main', 'acme/pr/1', 'acme/pr/2', 'globex/main', 'globex/pr/1', 'other'].map(
  (name) => parseNamespace(name),
);

class World {
  time = 1000;
  boot = 'boot';
  next = 0;
  written = 0;
  refused = 0;
  hits = 0;
  checks = 0;
}

/** Four names share one blob, across namespaces and tenants. */
function contentsOf(number: number): Buffer[] {
  const size = number % 5 === 0 ? 150_000 : 40_000 + (number % 7) * 500;
  return [contentOf(`own ${number}`, size), contentOf(`shared ${number >> 2}`, 90_000)];
}

async function write(store: DiskStore, world: World, random: Random): Promise<void> {
  const namespace = random.pick(NAMESPACES);
  const view = store.tenant(namespace);
  const number = world.next++;
  try {
    const contents = contentsOf(number);
    const digests = await Promise.all(contents.map((bytes) => view.blobs.put(digestOf(bytes), bytes)));
    await view.results.put(addressOf(`${number}`, namespace), resultNaming(...digests));
    world.written += contents.reduce((sum, { length }) => sum + length, 0);
  } catch (error) {
    // Leases are valid for long, so a full account refuses some; a blob may be gone if a put waited for long.
    if (!(error instanceof AssayError)) throw error;
    expect(['ASSAY_STORE_FULL', 'ASSAY_RESULT_INCOMPLETE']).toContain(error.code);
    world.refused++;
  }
  const asked = random.pick(NAMESPACES);
  const address = addressOf(`${Math.max(0, world.next - random.below(200))}`, asked);
  if (await store.tenant(asked).results.get(address)) world.hits++;
  world.time += LEASE / 40;
}

/** Without writes in progress. */
async function check(store: DiskStore, world: World): Promise<void> {
  const { accounts } = store.holdings;
  const live = accounts.all.map(({ name, bytes }) => [name, bytes]);
  await store.holdings.count(async () => {});
  expect(accounts.all.map(({ name, bytes }) => [name, bytes])).toEqual(live);
  for (const { name, bytes, quota } of accounts.all) {
    expect(bytes, `${name} and its quota`).toBeLessThanOrEqual(quota);
    if (name === KEPT) expect(bytes).toBeGreaterThanOrEqual(FLOOR);
  }
  world.checks += 2 * accounts.all.length;
  const inspection = await store.inspect?.();
  for (let position: string | undefined, isFirst = true; isFirst || position; isFirst = false) {
    const page = await inspection?.resultsAfter(position);
    for (const { missing, address } of page?.results ?? []) expect([address, missing]).toEqual([address, 0]);
    world.checks += page?.results.length ?? 0;
    position = page?.position;
  }
}

test(`${CHECKS} checks of a full store with quotas and floors (seed ${SEED})`, async () => {
  const world = new World();
  const random = new Random(SEED);
  const directory = folder();
  const openStore = async () => {
    const clock = { name: world.boot, now: () => world.time };
    const maxSize = { bytes: LIMIT };
    const store = await open({ directory, leaseMs: LEASE, maxSize, clock, accounts: ACCOUNTS });
    await store.holdings.count(async () => {});
    return store;
  };
  let store = await openStore();
  const kept = parseNamespace(KEPT);
  for (let number = 0; (store.holdings.accounts.all[0]?.bytes ?? 0) < FLOOR + MIB; number++) {
    const bytes = contentOf(`kept ${number}`, 100_000);
    const digest = await store.tenant(kept).blobs.put(digestOf(bytes), bytes);
    await store.tenant(kept).results.put(addressOf(`kept ${number}`, kept), resultNaming(digest));
  }
  world.time += 2 * LEASE;
  for (let round = 0; world.checks < CHECKS; round++) {
    for (let batch = 0; batch < 8; batch++)
      await Promise.all(Array.from({ length: WRITERS }, () => write(store, world, random)));
    await check(store, world);
    if (round % 4 === 3) {
      await store.close();
      // A reboot: times of the old clock compare with nothing.
      if (round % 8 === 7) Object.assign(world, { boot: `boot ${round}`, time: random.below(2 * LEASE) });
      store = await openStore();
    }
    if (round % 3 === 2) world.time += 2 * LEASE;
  }
  expect(world.written).toBeGreaterThan(LIMIT);
  expect(world.hits).toBeGreaterThan(0);
  console.log('accounts under load:', {
    checks: world.checks,
    'written (MiB)': Math.round(world.written / MIB),
    'writes refused': world.refused,
    hits: world.hits,
    seed: SEED,
  });
}, 1_800_000);
