import { describe, expect, test } from 'vitest';
import { type Digest, digestOf } from '../../../../core/digest.ts';
import type { StoreEvent } from '../../../../store/events.ts';
import { STORE } from '../../../../store/limits.ts';
import type { DiskStore, DiskStoreOptions } from '../../../../store/open.ts';
import { keepFigures } from '../../../rig/figures.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming } from '../../content.ts';
import { filesIn, useFolders } from '../../folders.ts';

const MIB = 1024 * 1024;
const LIMIT = 8 * MIB;
const LEASE = 1_000_000;
/** No lease that was given before is valid after this time. */
const LONG = LEASE * (1 + 2 / STORE.leaseWindows) + 2 * STORE.tickSlackMs;
const YEAR = 365 * 24 * 3_600_000;
const { folder, open } = useFolders();

/** A machine whose time the test sets. */
class Machine {
  name = 'first boot';
  time = 5_000_000;
  wall = Date.now();
  readonly directory = folder();
  readonly events: StoreEvent[] = [];

  store(options: Partial<DiskStoreOptions> = {}): Promise<DiskStore> {
    const clock = { name: this.name, now: () => this.time };
    const now = () => this.wall;
    const onEvent = (event: StoreEvent) => this.events.push(event);
    return open({
      directory: this.directory,
      leaseMs: LEASE,
      maxSize: { bytes: LIMIT },
      clock,
      now,
      onEvent,
      ...options,
    });
  }
}

async function putResult(store: DiskStore, name: string, size = MIB): Promise<Digest> {
  const digest = await putOne(store, contentOf(name, size));
  await store.results.put(addressOf(name), resultNaming(digest));
  return digest;
}

const isHit = async (store: DiskStore, name: string) =>
  (await store.results.get(addressOf(name))) !== undefined;

async function fill(store: DiskStore, names: readonly string[], machine: Machine): Promise<void> {
  for (const name of names) {
    await putResult(store, name);
    machine.time += LEASE / 100;
  }
}

const SIX = ['1', '2', '3', '4', '5', '6'];

describe('a full store', () => {
  test('E2: evicts the least recently used, and only as much as is needed', async () => {
    const machine = new Machine();
    const store = await machine.store();
    await fill(store, SIX, machine);
    machine.time += LONG;
    expect(await isHit(store, '1')).toBe(true);
    await fill(store, ['7', '8'], machine);
    await store.close();
    const after = await machine.store();
    expect(await isHit(after, '1')).toBe(true);
    expect(await isHit(after, '2')).toBe(false);
    expect(await isHit(after, '5')).toBe(true);
    expect(await isHit(after, '8')).toBe(true);
    expect(after.space.used()).toBeLessThanOrEqual(LIMIT);
    expect(machine.events.filter(({ type }) => type !== 'evicted')).toEqual([]);
  });

  test('E5: removes the files of evicted blobs', async () => {
    const machine = new Machine();
    const store = await machine.store();
    await fill(store, SIX, machine);
    machine.time += LONG;
    expect(await store.space.evict(0)).toMatchObject({ results: 6, blobs: 6, bytes: 6 * MIB });
    expect(filesIn(machine.directory, 'files')).toEqual([]);
    const reported = machine.events.map((event) => (event.type === 'evicted' ? event.bytes : Number.NaN));
    expect(reported.reduce((sum, bytes) => sum + bytes, 0)).toBe(6 * MIB);
    const ages = machine.events.map((event) => (event.type === 'evicted' ? event.unusedMs : undefined));
    /* The first was written LONG and six steps ago, the last LONG and one. */
    for (const age of ages) expect(age).toBeGreaterThanOrEqual(LONG);
    for (const age of ages) expect(age).toBeLessThanOrEqual(LONG + (6 * LEASE) / 100);
  });

  test('S3: refuses a write while everything is leased, and accepts it when the leases end', async () => {
    const machine = new Machine();
    const store = await machine.store();
    await fill(store, SIX, machine);
    await expect(putOne(store, contentOf('too much', 3 * MIB))).rejects.toMatchObject({
      code: 'ASSAY_STORE_FULL',
    });
    for (const name of SIX) expect(await isHit(store, name)).toBe(true);
    machine.time += LONG;
    await putOne(store, contentOf('too much', 3 * MIB));
    expect(store.space.used()).toBeLessThanOrEqual(LIMIT);
  });

  test('S3: refuses parts of an upload, and content of unknown size, in the same way', async () => {
    const machine = new Machine();
    const store = await machine.store();
    await fill(store, SIX, machine);
    const bytes = contentOf('too much', 3 * MIB);
    async function* stream(): AsyncGenerator<Buffer> {
      yield bytes;
    }
    await expect(store.blobs.put({}, stream())).rejects.toMatchObject({ code: 'ASSAY_STORE_FULL' });
    const part = { expected: digestOf(bytes), offset: 0, content: bytes, isLast: true };
    await expect(store.uploads.append('id', part)).rejects.toMatchObject({ code: 'ASSAY_STORE_FULL' });
    expect(await store.blobs.missing([digestOf(bytes)])).toHaveLength(1);
  });

  test('S1: never exceeds its limit, however many writes come at once', async () => {
    const machine = new Machine();
    const store = await machine.store();
    const contents = Array.from({ length: 30 }, (_, index) => contentOf(`many ${index}`, MIB));
    const outcomes = await Promise.allSettled(contents.map((bytes) => putOne(store, bytes)));
    const taken = contents.filter((_, index) => outcomes[index]?.status === 'fulfilled');
    expect(taken.length).toBeGreaterThan(5);
    expect(taken.length).toBeLessThan(9);
    for (const bytes of taken) expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });
});

describe('a lease', () => {
  const USES: Record<string, (store: DiskStore, digest: Digest) => Promise<unknown>> = {
    'a hit': (store) => store.results.get(addressOf('1')),
    'an answer about what is missing': (store, digest) => store.blobs.missing([digest]),
    'a touch': (store, { hash }) => store.blobs.touch([hash]),
    'a get': (store, { hash }) => store.blobs.get(hash),
    'a put of the same': (store) => putOne(store, contentOf('1', MIB)),
  };

  test.each(Object.entries(USES))(
    'L1, L3: is given by %s, and protects against every process',
    async (_, use) => {
      const machine = new Machine();
      const [user, evictor] = [await machine.store(), await machine.store()];
      const digest = await putResult(user, '1');
      await putResult(user, '2');
      machine.time += LONG;
      await use(user, digest);
      machine.time += LEASE - 1;
      await evictor.space.evict(0);
      expect(await user.blobs.missing([digest])).toEqual([]);
      expect(await isHit(evictor, '2')).toBe(false);
      machine.time += LONG;
      await evictor.space.evict(0);
      expect(await user.blobs.missing([digest])).toEqual([digest]);
    },
  );

  test('L2, L3: is renewed without a write for a while, and counts from the last use all the same', async () => {
    const machine = new Machine();
    const store = await machine.store();
    const digest = await putResult(store, '1');
    machine.time += LEASE / STORE.leaseWindows - STORE.tickSlackMs;
    expect(await isHit(store, '1')).toBe(true);
    machine.time += LEASE;
    await store.space.evict(0);
    expect(await store.blobs.missing([digest])).toEqual([]);
  });

  test('L4: of a result covers a blob that an older result names too', async () => {
    const machine = new Machine();
    const store = await machine.store();
    const shared = await putResult(store, 'old');
    machine.time += LONG;
    await store.results.put(addressOf('new'), resultNaming(shared));
    await store.space.evict(0);
    expect(await isHit(store, 'old')).toBe(false);
    expect(await isHit(store, 'new')).toBe(true);
  });

  test('C4: does not depend on the wall clock: a step of a year either way changes nothing', async () => {
    const machine = new Machine();
    const store = await machine.store();
    for (const [round, step] of [YEAR, -YEAR, -YEAR, YEAR].entries()) {
      const digest = await putResult(store, `round ${round}`);
      machine.wall += step;
      machine.time += LEASE - 1;
      await store.space.evict(0);
      expect(await store.blobs.missing([digest])).toEqual([]);
      machine.time += LONG;
      await store.space.evict(0);
      expect(await store.blobs.missing([digest])).toEqual([digest]);
    }
    keepFigures('clock', { 'steps of a year': 4, 'early evictions': 0, 'immortal leases': 0 });
  });

  test('C3: counts in full from the first use after a reboot, and then ends', async () => {
    const machine = new Machine();
    const before = await machine.store();
    const digest = await putResult(before, '1');
    await before.close();
    machine.name = 'second boot';
    machine.time = 1000;
    const store = await machine.store();
    await putResult(store, 'first use');
    machine.time += LEASE - 1;
    await store.space.evict(0);
    expect(await store.blobs.missing([{ ...digest, size: 0 }])).toHaveLength(1);
    expect((await readFrom(store, digest))?.length).toBe(MIB);
    machine.time += 2 * LONG;
    await store.space.evict(0);
    expect(await store.blobs.missing([digest])).toEqual([digest]);
  });

  test('E1: protects a blob that was put and that no result names yet', async () => {
    const machine = new Machine();
    const store = await machine.store();
    const digest = await putOne(store, contentOf('alone', MIB));
    machine.time += LEASE - 1;
    await store.space.evict(0);
    expect(await store.blobs.missing([digest])).toEqual([]);
    machine.time += LONG;
    await store.space.evict(0);
    expect(await store.blobs.missing([digest])).toEqual([digest]);
  });
});

test('I6: the usage is the bytes of the files that are present, after puts, uses and evictions', async () => {
  const machine = new Machine();
  const store = await machine.store();
  await fill(store, SIX, machine);
  await putOne(store, contentOf('1', MIB));
  machine.time += LONG;
  await isHit(store, '3');
  await store.space.evict(0);
  expect(filesIn(machine.directory, 'files')).toHaveLength(1);
  await store.close();
  const after = await machine.store();
  expect(after.space.used()).toBeGreaterThan(MIB);
  expect(after.space.used()).toBeLessThan(MIB + MIB / 2);
});
