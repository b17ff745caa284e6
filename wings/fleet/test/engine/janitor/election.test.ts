// One node of a fleet is its janitor: what several would do twice or too much happens once.
import { describe, expect, onTestFinished, test } from 'vitest';
import { STORE } from '../../../../../store/limits.ts';
import { contentOf, putOne } from '../../../../../test/store/content.ts';
import { BLOB_LEASE_TICKS } from '../../../engine/index/logical-clock.ts';
import type { DatabaseSession } from '../../../engine/index/session.ts';
import { Election } from '../../../engine/janitor/election.ts';
import { FLEET } from '../../../limits.ts';
import { TcpProxy } from '../../rig/tcp-proxy.ts';
import { TestFleet, type TestNode } from '../nodes.ts';

const SMALL = 1000;
/** With its rows. */
const SMALL_HELD = SMALL + 8 + 500;
const LARGE = STORE.chunkBytes + 17;
/** So that a janitor that was cut off loses its office soon. */
const IDLE_MS = 600;

const fleet = new TestFleet();

const blobsLeft = async () => (await fleet.database.query('SELECT FROM assay.presence')).length;

async function proxied(): Promise<{ readonly index: string; readonly proxy: TcpProxy }> {
  const url = new URL(fleet.database.url);
  const proxy = await TcpProxy.start(url.hostname, Number(url.port));
  onTestFinished(() => proxy.stop());
  return {
    index: Object.assign(url, { hostname: '127.0.0.1', port: String(proxy.port) }).href,
    proxy,
  };
}

const isElected = async (node: TestNode) => (await node.engine.election.mandate()) !== undefined;

describe('three nodes whose janitors run at once', () => {
  test('evict down to the target, and not below it', async () => {
    const limit = 1000 * SMALL_HELD;
    const options = { maxIndexBytes: limit, memoMs: 0 };
    const nodes = [await fleet.node(options), await fleet.node(options), await fleet.node(options)];
    const filler = await fleet.node();
    const names = Array.from({ length: 1500 }, (_, at) => `blob ${at}`);
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(names.slice(at, at + 50).map((name) => putOne(filler, contentOf(name, SMALL))));
    await fleet.database.advance(BLOB_LEASE_TICKS + 1);
    await Promise.all(nodes.map((node) => node.engine.janitor.run()));
    expect(await blobsLeft()).toBe(STORE.evictTo * 1000);
  });

  test('delete each condemned object once', async () => {
    const nodes = [await fleet.node(), await fleet.node(), await fleet.node()];
    const [one] = nodes as [TestNode];
    for (let number = 0; number < 20; number++) await putOne(one, contentOf(`${number}`, LARGE));
    await fleet.database.query('UPDATE assay.object SET state = 3');
    await fleet.database.query('DELETE FROM assay.presence');
    await fleet.database.query('DELETE FROM assay.content');
    await fleet.database.advance(one.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
    await Promise.all(nodes.map((node) => node.engine.janitor.run()));
    expect(fleet.objects.deleted.length).toBe(20);
    expect(fleet.events).toMatchObject([{ type: 'cleaned', deleted: 20 }]);
  });
});

describe('the office of the janitor', () => {
  test('goes to another node when the janitor ends, at once', async () => {
    const [one, two] = [await fleet.node(), await fleet.node()];
    expect([await isElected(one), await isElected(two)]).toEqual([true, false]);
    await one.engine.janitor.close();
    expect([await isElected(one), await isElected(two)]).toEqual([false, true]);
  });

  test('is taken from a janitor that PostgreSQL does not hear from, and its statements fail', async () => {
    const { index, proxy } = await proxied();
    const one = await fleet.node({ index, electionIdleMs: IDLE_MS, answerMs: 500 });
    const two = await fleet.node({ electionIdleMs: IDLE_MS });
    const mandate = await one.engine.election.mandate();
    expect([mandate !== undefined, await isElected(two)]).toEqual([true, false]);
    proxy.link = 'deaf';
    await expect.poll(() => isElected(two), { timeout: 20_000 }).toBe(true);
    proxy.link = 'open';
    await expect(mandate?.confirm()).rejects.toThrow();
    await expect(mandate?.query({ name: 'any', text: 'SELECT 1' })).rejects.toThrow(/ASSAY_INDEX_AWAY/);
    await expect.poll(() => isElected(one).catch(() => undefined), { timeout: 20_000 }).toBe(false);
  });

  test('is taken from a janitor that is stopped in the middle of a transaction (N2)', async () => {
    const one = await fleet.node({ electionIdleMs: IDLE_MS });
    const two = await fleet.node({ electionIdleMs: IDLE_MS });
    const mandate = await one.engine.election.mandate();
    const { promise: awake, resolve } = Promise.withResolvers<void>();
    // Its own beats wait behind the transaction, as if the process were stopped.
    const counted = mandate?.transaction(async (queries) => {
      await queries.query({ name: 'any', text: 'SELECT 1' });
      await awake;
      await queries.query({ name: 'any', text: 'SELECT 1' });
    });
    await expect
      .poll(() => isElected(two), { timeout: 20_000 })
      .toBe(true)
      .finally(resolve);
    await expect(counted).rejects.toThrow();
  });

  test('is taken from a janitor that is stopped while a long answer is on its way (N2)', async () => {
    const { index, proxy } = await proxied();
    const one = await fleet.node({ index, electionIdleMs: IDLE_MS, answerMs: 500 });
    const two = await fleet.node({ electionIdleMs: IDLE_MS });
    const mandate = await one.engine.election.mandate();
    proxy.link = 'stuffed';
    const text = "SELECT repeat('x', 1000000) AS x FROM generate_series(1, 50)";
    await expect(mandate?.query({ name: '', text })).rejects.toThrow(/ASSAY_INDEX_AWAY/);
    await expect.poll(() => isElected(two), { timeout: 20_000 }).toBe(true);
  });

  test('is kept by a janitor that has nothing to do for long', async () => {
    const [one, two] = [
      await fleet.node({ electionIdleMs: IDLE_MS }),
      await fleet.node({ electionIdleMs: IDLE_MS }),
    ];
    const mandate = await one.engine.election.mandate();
    await new Promise((resolve) => setTimeout(resolve, 3 * IDLE_MS));
    expect(await isElected(two)).toBe(false);
    await mandate?.confirm();
    expect(fleet.events).toEqual([]);
  });

  test('is free again when an administrator ends its session', async () => {
    const one = await fleet.node({ electionIdleMs: IDLE_MS });
    expect(await isElected(one)).toBe(true);
    await fleet.database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE locktype = 'advisory' AND datname = current_database()",
    );
    await expect.poll(() => fleet.events).toMatchObject([{ type: 'janitor-lost' }]);
    expect(await isElected(one)).toBe(true);
  });

  test('is given to nobody behind a pooler that answers each statement over another connection', async () => {
    let pid = 0;
    const session = { isOpen: true, end: () => {}, query: async () => [{ isElected: true, pid: pid++ }] };
    const events: string[] = [];
    const election = new Election({
      database: { openSession: async () => ({ ...session }) as unknown as DatabaseSession },
      now: () => performance.now(),
      onEvent: (event) => events.push('detail' in event ? event.detail : event.type),
    });
    expect(await election.mandate()).toBeUndefined();
    expect(events).toEqual([expect.stringContaining('let it pool whole sessions')]);
    await election.close();
  });
});

test('an object that the bucket refuses to delete does not hold up the others, and is tried again later', async () => {
  const one = await fleet.node();
  const names = Array.from({ length: 3 }, () => crypto.randomUUID());
  for (const name of names) {
    fleet.objects.kept.set(name, Buffer.alloc(1));
    await fleet.database.query('INSERT INTO assay.object VALUES ($1, 3, -100000)', [name]);
  }
  const [refused = '', ...others] = names;
  fleet.objects.refused.add(refused);
  await one.engine.janitor.run();
  expect(fleet.objects.deleted.toSorted()).toEqual(others.toSorted());
  expect(fleet.events).toMatchObject([{ type: 'cleaned', deleted: 2, refused: 1 }]);
  fleet.objects.refused.clear();
  await one.engine.janitor.run();
  expect(fleet.objects.kept.has(refused)).toBe(true);
  await fleet.database.advance(one.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
  await one.engine.janitor.run();
  expect(fleet.objects.kept.has(refused)).toBe(false);
});

test('the other tasks of the janitor go on while an eviction takes long', async () => {
  const one = await fleet.node({ maxIndexBytes: SMALL, memoMs: 0 });
  const { promise, resolve } = Promise.withResolvers<void>();
  const election = one.engine.election;
  const mandate = election.mandate.bind(election);
  let evictions = 0;
  election.mandate = async () => {
    const held = await mandate();
    return (
      held && {
        ...held,
        async query(statement, values) {
          if (statement.name.startsWith('evict')) {
            evictions++;
            await promise;
          }
          return held.query(statement, values);
        },
      }
    );
  };
  // The janitor's own timer may begin the eviction before the test does: then it is that one which takes long.
  const two = await fleet.node();
  for (let number = 0; number < 3; number++) await putOne(two, contentOf(`${number}`, SMALL));
  await fleet.database.advance(BLOB_LEASE_TICKS + 1);
  await putOne(two, contentOf('condemned', LARGE));
  await fleet.database.query('UPDATE assay.object SET state = 3, tick = -100000');
  const first = one.engine.janitor.run();
  await expect.poll(() => fleet.objects.deleted.length).toBe(1);
  await expect.poll(() => evictions).toBe(1);
  await fleet.database.query(
    `INSERT INTO assay.object SELECT gen_random_uuid(), 3, -100000 FROM generate_series(1, 5)`,
  );
  await one.engine.janitor.run();
  expect(fleet.objects.deleted.length).toBe(6);
  expect(evictions).toBe(1);
  resolve();
  await first;
  expect(await blobsLeft()).toBeLessThan(3);
});
