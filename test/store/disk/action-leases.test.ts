// Action leases on disk: the contract, several processes, and copies of a store.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { compareFences, type Fence } from '../../../core/action-lease.ts';
import type { LeaseRequest } from '../../../store/action-leases.ts';
import { type DiskStore, openDiskStore } from '../../../store/open.ts';
import { addressOf } from '../content.ts';
import { describeActionLeases } from '../contract-action-leases.ts';
import { makeFolder, removeFolder, useFolders } from '../folders.ts';

const { folder, open } = useFolders();
const ACTION = addressOf('action');

describeActionLeases({
  name: 'the disk store',
  async open() {
    const directory = makeFolder();
    let passed = 0;
    const store = await openDiskStore({ directory, now: () => Date.now() + passed });
    return {
      store,
      passTime: async (milliseconds) => {
        passed += milliseconds;
      },
      async dispose() {
        await store.close();
        removeFolder(directory);
      },
    };
  },
});

const request = (name: string): LeaseRequest => ({ id: name.padStart(32, '0'), holder: name });

/** Grants the lease and ends it, so that the next one is granted, too. */
async function nextFence({ actionLeases }: DiskStore, name: string, address = ACTION): Promise<Fence> {
  const acquired = await actionLeases?.acquire(address, request(name));
  const fence = acquired?.lease.fence ?? { epoch: 0, number: 0 };
  await actionLeases?.release(address, { id: request(name).id, fence }, { reason: 'cancelled' });
  return fence;
}

test('a lease that one process was granted is seen by all others at once', async () => {
  const directory = folder();
  const [one, other] = [await open({ directory }), await open({ directory })];
  await one.actionLeases?.acquire(ACTION, request('one'));
  expect((await other.actionLeases?.acquire(ACTION, request('2')))?.outcome).toBe('held');
  const addresses = Array.from({ length: 20 }, (_, number) => addressOf(`${number}`));
  const fences = await Promise.all(
    addresses.map((address, number) => nextFence(number % 2 ? one : other, `${number}`, address)),
  );
  expect(new Set(fences.map(({ number }) => number)).size).toBe(addresses.length);
});

test('fences grow over a restart, and a copy of the store begins a later epoch', async () => {
  const directory = folder();
  const first = await openDiskStore({ directory });
  const before = await nextFence(first, '1');
  await first.close();
  const second = await openDiskStore({ directory });
  const after = await nextFence(second, '2');
  expect(after.epoch).toBe(before.epoch);
  expect(after.number).toBeGreaterThan(before.number);
  await second.close();
  const [copied, again] = [folder(), folder()];
  cpSync(directory, copied, { recursive: true });
  const ofCopy = await nextFence(await open({ directory: copied }), '3');
  expect(ofCopy.epoch).toBeGreaterThan(after.epoch);
  cpSync(copied, again, { recursive: true });
  expect(compareFences(await nextFence(await open({ directory: again }), '4'), ofCopy)).toBeGreaterThan(0);
});

test('a lease with a flipped bit counts as none, and the next one is greater', async () => {
  const directory = folder();
  const store = await openDiskStore({ directory });
  const before = await nextFence(store, '1');
  await store.close();
  const file = join(directory, 'v5/index/data.mdb');
  const bytes = readFileSync(file);
  for (let at = bytes.indexOf('"holder":"1"'); at !== -1; at = bytes.indexOf('"holder":"1"', at + 1))
    bytes[at + 10] = 0x32;
  writeFileSync(file, bytes);
  const damaged = await open({ directory });
  expect(await damaged.actionLeases?.states([ACTION])).toEqual([undefined]);
  expect((await nextFence(damaged, '2')).number).toBeGreaterThan(before.number);
});
