// Uploads to a remote, and the results that are left at the end of a run.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Outbox, type UnsharedResult } from '../../../client/local-store/outbox.ts';
import { type Remote, RemoteFault, WriteRefused } from '../../../client/remote/remote.ts';
import { ResultUploads } from '../../../client/run/uploads.ts';
import type { RunEvent } from '../../../client/terminal/events.ts';
import { digestOf } from '../../../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';
import { Workshop } from '../../rig/assay.ts';

const URL_ = new URL('http://cache.test/');
let shop: Workshop;
let store: Store;
let outbox: Outbox;

beforeEach(async () => {
  shop = new Workshop();
  store = await openDiskStore({ directory: shop.store });
  outbox = new Outbox(shop.store, URL_, undefined);
});

afterEach(async () => {
  await store.close();
  shop.remove();
});

async function madeResult(name: string): Promise<UnsharedResult> {
  const key = digestOf(Buffer.from(name));
  const bytes = ActionResult.encode({ ...emptyResult(0), stdoutRaw: Buffer.from(name) }).finish();
  await store.results.put({ namespace: DEFAULT_NAMESPACE, key: key.hash }, bytes);
  return { key, action: key.hash, blobs: [] };
}

function remoteThat(puts: Remote['putResult']): Remote {
  let usable = true;
  return {
    get usable() {
      return usable;
    },
    takesWrites: true,
    reportForm: 0,
    takesPublications: false,
    publish: async () => 'stored',
    putRival: async () => false,
    inlinedBlob: () => undefined,
    giveUp() {
      usable = false;
    },
    getResult: async () => undefined,
    namespaceOf: () => undefined,
    putResult: puts,
    getBlobs: async () => {},
    putBlobs: async () => {},
    listPathSets: async () => undefined,
    findResult: async () => undefined,
    addPathSet: async () => false,
    close: async () => {},
  };
}

function uploadsTo(remote: Remote) {
  const events: RunEvent[] = [];
  const uploads = new ResultUploads({ outbox, store, remote, now: Date.now });
  const add = (unshared: UnsharedResult) =>
    uploads.add(
      unshared,
      (event) => events.push(event),
      () => '',
      false,
    );
  return { uploads, add, events };
}

test('an upload that takes too long stays in the outbox for the next run', async () => {
  let giveUp = (_error: Error) => {};
  const remote = remoteThat(() => new Promise((_resolve, reject) => (giveUp = reject)));
  const { uploads, add, events } = uploadsTo({
    ...remote,
    usable: true,
    giveUp: () => giveUp(new Error('over')),
  });
  add(await madeResult('slow'));
  expect(await uploads.finish(20)).toMatchObject({ results: 1 });
  await uploads.close();
  expect(events).toEqual([]);
  expect(outbox.entries()).toHaveLength(1);
});

test('a shared result leaves the outbox', async () => {
  const { uploads, add } = uploadsTo(remoteThat(async () => 'stored'));
  const made = await Promise.all(Array.from({ length: 20 }, (_, at) => madeResult(String(at))));
  for (const one of made) add(one);
  expect(await uploads.finish(60_000)).toBeUndefined();
  expect(outbox.entries()).toEqual([]);
  expect(made.every(({ key }) => uploads.isShared(key.hash))).toBe(true);
});

test('a stop ends the wait', async () => {
  const { uploads, add } = uploadsTo(remoteThat(() => new Promise(() => {})));
  add(await madeResult('slow'));
  expect(await uploads.finish(60_000, { stop: Promise.resolve() })).toMatchObject({ results: 1 });
});

test('after a fault no upload is tried, and all results count as unshared', async () => {
  let tries = 0;
  const remote = remoteThat(async () => {
    tries++;
    throw new RemoteFault('gone');
  });
  const { uploads, add, events } = uploadsTo(remote);
  for (let at = 0; at < 10; at++) add(await madeResult(String(at)));
  expect(await uploads.finish(60_000)).toEqual({ results: 10, why: 'gone' });
  expect(tries).toBeLessThan(10);
  expect(events[0]).toEqual({ type: 'remote-given-up', why: 'gone' });
});

test('a result that the store has evicted leaves the outbox', async () => {
  const { uploads, add } = uploadsTo(remoteThat(async () => 'stored'));
  const key = digestOf(Buffer.from('lost'));
  add({ key, action: key.hash, blobs: [] });
  expect(await uploads.finish(60_000)).toBeUndefined();
  expect(uploads.isShared(key.hash)).toBe(false);
  expect(outbox.entries()).toEqual([]);
});

test.each([
  ['there', () => Promise.resolve('stored' as const)],
  ['there', () => Promise.resolve('diverged' as const)],
  ['refused', () => Promise.reject(new WriteRefused('it may not write', true))],
  ['away', () => Promise.reject(new RemoteFault('gone'))],
] as const)('whoever asks before or after the end of an upload learns it: %s', async (end, put) => {
  const { uploads, add } = uploadsTo(remoteThat(put));
  const made = await madeResult('one');
  const { hash } = made.key;
  add(made);
  const before = uploads.settled(hash);
  await uploads.finish(60_000);
  expect([await before, await uploads.settled(hash)]).toEqual([end, end]);
  await uploads.close();
});

test('the end of a run settles the uploads that wait for their turn', async () => {
  const { uploads, add } = uploadsTo(remoteThat(() => new Promise(() => {})));
  const made = await Promise.all(Array.from({ length: 20 }, (_, at) => madeResult(String(at))));
  for (const one of made) add(one);
  const last = uploads.settled(made.at(-1)?.key.hash ?? digestOf(Buffer.alloc(0)).hash);
  void uploads.close();
  expect(await last).toBe('away');
});
