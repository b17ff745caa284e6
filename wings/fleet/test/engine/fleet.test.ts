// What a fleet promises beyond the contract of a store: several nodes, leases, lost objects, and parts that are away.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { digestOf, type Hash } from '../../../../core/digest.ts';
import { AssayError } from '../../../../core/errors.ts';
import type { StoreEvent } from '../../../../store/events.ts';
import { STORE } from '../../../../store/limits.ts';
import { addLayers } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import {
  addressOf,
  contentOf,
  putOne,
  readFrom,
  resultNaming,
  streamOf,
} from '../../../../test/store/content.ts';
import { type FleetEngine, openFleetEngine } from '../../engine/engine.ts';
import { Database } from '../../engine/index/database.ts';
import { BLOB_LEASE_TICKS, FRESH_TICKS, RESULT_LEASE_TICKS } from '../../engine/index/logical-clock.ts';
import { FleetEviction } from '../../engine/janitor/eviction.ts';
import { FLEET_OBJECT } from '../../engine/ownership/fleet-object.ts';
import { FLEET } from '../../limits.ts';
import { TcpProxy } from '../rig/tcp-proxy.ts';
import { createDatabase, END_OTHERS, type TestDatabase } from './index-database.ts';
import { MemoryObjects } from './memory-objects.ts';

const SMALL = 1000;
const LARGE = STORE.chunkBytes + 17;

interface Node extends Store {
  readonly engine: FleetEngine;
}

let database: TestDatabase;
let objects: MemoryObjects;
let events: StoreEvent[];
let nodes: Node[];

beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

beforeEach(async () => {
  await database.clear();
  objects = new MemoryObjects();
  events = [];
  nodes = [];
});
afterEach(async () => {
  for (const node of nodes) await node.close();
});

async function node(options: Partial<Parameters<typeof openFleetEngine>[0]> = {}): Promise<Node> {
  const onEvent = (event: StoreEvent) => void events.push(event);
  const engine = await openFleetEngine({ index: database.url, objects, onEvent, ...options });
  const store = { ...addLayers(engine, onEvent), engine };
  nodes.push(store);
  return store;
}

const isMissing = async (store: Store, bytes: Buffer) =>
  (await store.blobs.missing([digestOf(bytes)])).length === 1;

/** Removes a blob as an eviction would. */
async function lose(hash: Hash): Promise<void> {
  for (const table of ['presence', 'content'])
    await database.query(`DELETE FROM assay.${table} WHERE hash = decode($1, 'hex')`, [hash]);
}

const statesOf = async () =>
  (await database.query('SELECT state FROM assay.object ORDER BY state')).map(({ state }) => state);

/** The bucket loses the objects of all blobs, and keeps the canary. */
async function loseObjects(): Promise<void> {
  for (const { name } of await database.query('SELECT unnest(objects)::text AS name FROM assay.content'))
    objects.kept.delete(String(name));
}

const STORED = 2;
const CONDEMNED = 3;

const contentBytes = async () =>
  Number((await database.query('SELECT sum(size) AS bytes FROM assay.presence'))[0]?.bytes);

/** What a round of the janitor reports. */
const cleaned = (counts: Record<string, number>) => ({ type: 'cleaned', ...NOTHING_CLEANED, ...counts });
const NOTHING_CLEANED = { results: 0, blobs: 0, bytes: 0, condemned: 0, deleted: 0, orphans: 0, refused: 0 };

describe('two nodes', () => {
  test('see what the other has put, at once', async () => {
    const [one, two] = [await node(), await node()];
    for (const size of [SMALL, LARGE]) {
      const bytes = contentOf('shared', size);
      expect(await isMissing(two, bytes)).toBe(true);
      await one.blobs.put(digestOf(bytes), streamOf(bytes));
      expect(await isMissing(two, bytes)).toBe(false);
      expect((await readFrom(two, digestOf(bytes)))?.equals(bytes)).toBe(true);
    }
  });

  test('that are the first, and start at once, keep one canary and condemn the other', async () => {
    const both = Promise.withResolvers<void>();
    const put = objects.put.bind(objects);
    objects.put = async (name, content) => {
      await put(name, content);
      if (name === FLEET_OBJECT) return;
      if (objects.puts === 2) both.resolve();
      await both.promise;
    };
    await Promise.all([node(), node()]);
    expect(await statesOf()).toEqual([CONDEMNED]);
    const named = await database.query(
      'SELECT name::text FROM assay.canary UNION ALL SELECT name::text FROM assay.object',
    );
    expect(named.map(({ name }) => name).sort()).toEqual([...objects.kept.keys()].sort());
  });

  test('that upload one digest at once keep one object and condemn the other', async () => {
    const [one, two] = [await node(), await node()];
    const bytes = contentOf('twice', LARGE);
    const began = Promise.withResolvers<void>();
    async function* slow(): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, 100_000);
      await began.promise;
      yield bytes.subarray(100_000);
    }
    const first = one.blobs.put(digestOf(bytes), slow());
    while (objects.puts < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await two.blobs.put(digestOf(bytes), streamOf(bytes));
    began.resolve();
    await first;
    expect(await statesOf()).toEqual([STORED, CONDEMNED]);
    expect((await readFrom(one, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });

  test('continue an upload that the other began, and the first can’t go on with it', async () => {
    const [one, two] = [await node(), await node()];
    for (const size of [SMALL, LARGE]) {
      const bytes = contentOf('continued', size);
      const expected = digestOf(bytes);
      const part = (from: number, to: number) => ({
        expected,
        offset: from,
        content: bytes.subarray(from, to),
        isLast: to === size,
      });
      await one.uploads.append('id', part(0, 500));
      expect(await two.uploads.status('id')).toEqual({ committed: 500, isFinished: false });
      await two.uploads.append('id', part(500, 700));
      await expect(one.uploads.append('id', part(500, 800))).rejects.toMatchObject({
        code: 'ASSAY_BAD_OFFSET',
      });
      await one.uploads.append('id', part(700, size));
      expect((await readFrom(two, expected))?.equals(bytes)).toBe(true);
      expect(await database.query('SELECT FROM assay.upload_part')).toEqual([]);
    }
  });

  test('take over an upload while the first is still sending: what it sends is refused', async () => {
    const [one, two] = [await node(), await node()];
    const bytes = contentOf('taken', LARGE);
    const goesOn = Promise.withResolvers<void>();
    async function* hanging(): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, 200_000);
      await goesOn.promise;
      yield bytes.subarray(200_000);
    }
    const part = { expected: digestOf(bytes), offset: 0, isLast: true };
    const old = one.uploads.append('id', { ...part, content: hanging() }).catch((error: unknown) => error);
    while (objects.puts < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await two.uploads.append('id', { ...part, content: streamOf(bytes) });
    goesOn.resolve();
    expect(await old).toMatchObject({ code: 'ASSAY_BAD_OFFSET' });
    expect((await readFrom(one, digestOf(bytes)))?.equals(bytes)).toBe(true);
    expect(await statesOf()).toEqual([STORED, CONDEMNED]);
  });
});

describe('a node', () => {
  test('remembers that a blob is present for a while, and never that it is absent', async () => {
    let now = 0;
    const one = await node({ now: () => now });
    const bytes = contentOf('remembered', SMALL);
    expect(await isMissing(one, bytes)).toBe(true);
    await putOne(await node(), bytes);
    expect(await isMissing(one, bytes)).toBe(false);
    await lose(digestOf(bytes).hash);
    now += FLEET.presenceMemoMs - 1;
    expect(await isMissing(one, bytes)).toBe(false);
    now += 1;
    expect(await isMissing(one, bytes)).toBe(true);
  });

  test('forgets what it remembers when it loses its connection, and finds PostgreSQL again', async () => {
    const one = await node();
    const bytes = contentOf('forgotten', SMALL);
    await putOne(one, bytes);
    await lose(digestOf(bytes).hash);
    expect(await isMissing(one, bytes)).toBe(false);
    await database.query(END_OTHERS);
    await expect.poll(() => isMissing(one, bytes).catch(() => false)).toBe(true);
    expect(await putOne(one, bytes)).toEqual(digestOf(bytes));
  });

  test('reports what PostgreSQL no longer has of the last minute, and not what it removed itself', async () => {
    let now = 0;
    const one = await node({ now: () => now });
    const put = async (name: string) => {
      const bytes = contentOf(name, SMALL);
      await one.results.put(addressOf(name), resultNaming(await putOne(one, bytes)));
      return digestOf(bytes).hash;
    };
    const old = await put('old');
    now += FLEET.acknowledgedMs;
    const gone = [await put('gone 1'), await put('gone 2')];
    await put('kept');
    const removed = await one.engine.records.get(addressOf('kept'));
    expect(removed && (await one.engine.records.remove(addressOf('kept'), removed))).toBe(true);
    for (const hash of [old, ...gone]) await lose(hash);
    await database.query('DELETE FROM assay.result');
    const forgotten = () => events.filter(({ type }) => type === 'forgotten');
    await database.query(END_OTHERS);
    await expect
      .poll(forgotten, { timeout: 30_000 })
      .toEqual([{ type: 'forgotten', blobs: gone.length, results: gone.length }]);
    await expect.poll(() => put('later').catch(() => undefined), { timeout: 30_000 }).toBeDefined();
    await database.query(END_OTHERS);
    await expect.poll(() => put('later still').catch(() => undefined), { timeout: 30_000 }).toBeDefined();
    expect(forgotten()).toHaveLength(1);
  });

  test('starts while PostgreSQL is away, and works when it is back, with the secret of the others', async () => {
    const other = await node();
    const bytes = contentOf('late', SMALL);
    let one: Node | undefined;
    await database.blocked(async () => {
      one = await node();
      await expect(putOne(one, bytes)).rejects.toMatchObject({ code: 'ASSAY_INDEX_AWAY' });
      expect(() => one?.engine.secret()).toThrow(/ASSAY_INDEX_AWAY/);
      expect(() => one?.engine.clock.ticksFor(1)).toThrow(/ASSAY_INDEX_AWAY/);
      expect(await one.engine.parts()).toEqual({
        index: 'PostgreSQL can’t be reached',
        blobs: 'not known while PostgreSQL is away',
      });
    });
    const late = one;
    if (!late) throw new Error('the node did not start');
    await expect.poll(() => putOne(late, bytes).catch(() => undefined)).toBeDefined();
    const large = contentOf('late', LARGE);
    expect(await late.blobs.put(digestOf(large), streamOf(large))).toEqual(digestOf(large));
    expect(late.engine.secret()).toEqual(other.engine.secret());
    await expect.poll(() => late.engine.parts()).toEqual({ index: 'ok', blobs: 'ok' });
  });

  test('starts while the bucket is away, and puts the canary when it is back', async () => {
    objects.isAway = true;
    const one = await node();
    expect(await one.engine.parts()).toEqual({ index: 'ok', blobs: 'the bucket can’t be read' });
    objects.isAway = false;
    const canaries = () => database.query('SELECT FROM assay.canary');
    await expect.poll(canaries).toHaveLength(1);
    expect(await statesOf()).toEqual([]);
  });

  test('refuses what waits for a connection when PostgreSQL goes away', async () => {
    const { hostname, port } = new URL(database.url);
    const proxy = await TcpProxy.start(hostname, Number(port));
    onTestFinished(() => proxy.stop());
    const url = new URL(database.url);
    url.port = String(proxy.port);
    const index = await Database.open({
      url: url.href,
      answerMs: 500,
      greet: async () => {},
      onLost: () => {},
    });
    onTestFinished(() => index.close());
    const one = { name: 'one', text: 'SELECT 1' };
    // All connections are open: a new one would wait longer than an answer may take.
    await Promise.all(Array.from({ length: FLEET.indexConnections }, () => index.query(one)));
    proxy.link = 'frozen';
    const codes = await Promise.all(
      Array.from({ length: 20 * FLEET.indexConnections }, () =>
        index.query(one).catch((error: unknown) => (error instanceof AssayError ? error.code : error)),
      ),
    );
    expect(new Set(codes)).toEqual(new Set(['ASSAY_INDEX_AWAY']));
  });

  test('answers at once that PostgreSQL is away', async () => {
    const one = await node();
    const bytes = contentOf('away', SMALL);
    await database.blocked(async () => {
      await expect(isMissing(one, bytes)).rejects.toMatchObject({ code: 'ASSAY_INDEX_AWAY' });
      await expect(putOne(one, bytes)).rejects.toMatchObject({ code: 'ASSAY_INDEX_AWAY' });
      await expect(one.results.get(addressOf('key'))).rejects.toMatchObject({ code: 'ASSAY_INDEX_AWAY' });
      expect(await one.engine.parts()).toEqual({ index: 'PostgreSQL can’t be reached', blobs: 'ok' });
    });
    const put = () => putOne(one, bytes).catch(() => undefined);
    await expect.poll(put).toEqual(digestOf(bytes));
  });

  test('goes on reading while PostgreSQL’s disk is full for its writes', async () => {
    const one = await node({ memoMs: 0 });
    const bytes = contentOf('there', SMALL);
    await putOne(one, bytes);
    const full = `
      CREATE FUNCTION assay.disk_is_full() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$;
      CREATE TRIGGER disk_is_full BEFORE INSERT ON assay.presence EXECUTE FUNCTION assay.disk_is_full()`;
    await database.query(full);
    onTestFinished(async () => {
      await database.query('DROP FUNCTION assay.disk_is_full CASCADE');
    });
    let isReading = true;
    const reading = Array.from({ length: 8 }, async () => {
      for (; isReading; ) expect((await readFrom(one, digestOf(bytes)))?.equals(bytes)).toBe(true);
    });
    for (let number = 0; number < 20; number++)
      await expect(putOne(one, contentOf(`${number}`, SMALL))).rejects.toMatchObject({
        code: 'ASSAY_DISK_FULL',
      });
    isReading = false;
    await Promise.all(reading);
    expect(one.engine.isAway().index).toBe(false);
  });

  test('is ready while 400 clients wait for a PostgreSQL that is far away', async () => {
    const { hostname, port } = new URL(database.url);
    const proxy = await TcpProxy.start(hostname, Number(port));
    const index = Object.assign(new URL(database.url), {
      hostname: '127.0.0.1',
      port: String(proxy.port),
    }).href;
    const one = await node({ index, memoMs: 0 });
    onTestFinished(() => proxy.stop());
    await one.engine.parts();
    proxy.link = 'slow';
    // The first waves wait until the connections are open, the last ones do not.
    const asked = Array.from({ length: 400 }, async () => {
      for (let time = 0; time < 3; time++)
        if (!(await isMissing(one, contentOf('absent', SMALL)))) return false;
      return true;
    });
    await new Promise((resolve) => setTimeout(resolve, FLEET.partsMs));
    expect(await one.engine.parts()).toEqual({ index: 'ok', blobs: 'ok' });
    expect(new Set(await Promise.all(asked))).toEqual(new Set([true]));
  });

  test('refuses at once what would wait too long for a connection', async () => {
    const { hostname, port } = new URL(database.url);
    const proxy = await TcpProxy.start(hostname, Number(port));
    const url = Object.assign(new URL(database.url), {
      hostname: '127.0.0.1',
      port: String(proxy.port),
    }).href;
    onTestFinished(() => proxy.stop());
    const slow = await Database.open({ url, greet: async () => {}, onLost() {}, shedMs: 1000 });
    onTestFinished(() => slow.close());
    proxy.link = 'slow';
    const ask = () => slow.query({ name: 'ask', text: 'SELECT' });
    // The first wave opens the connections, the others show how long a statement takes.
    for (let wave = 0; wave < 3; wave++)
      await Promise.all(Array.from({ length: FLEET.indexConnections }, ask));
    const began = performance.now();
    const refusedAfter: number[] = [];
    const asked = Array.from({ length: 300 }, () =>
      ask().catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'ASSAY_OVERLOADED' });
        refusedAfter.push(performance.now() - began);
      }),
    );
    await Promise.all(asked);
    expect(refusedAfter.length).toBeGreaterThan(100);
    expect(refusedAfter.length).toBeLessThan(280);
    expect(Math.max(...refusedAfter)).toBeLessThan(500);
  });

  test('says that the tables are not those of its version', async () => {
    const one = await node();
    await database.query('ALTER TABLE assay.clock RENAME TO clock_away');
    await expect(one.blobs.missing([digestOf(Buffer.from('x'))])).rejects.toMatchObject({
      code: 'ASSAY_INDEX_VERSION',
    });
    await database.query('ALTER TABLE assay.clock_away RENAME TO clock');
  });
});

describe('a lease', () => {
  const evictAll = async (store: Node) => {
    const mandate = await store.engine.election.mandate();
    if (!mandate) throw new Error('another node is the janitor');
    const eviction = new FleetEviction(mandate);
    const all = { bucket: Number.MAX_SAFE_INTEGER, index: Number.MAX_SAFE_INTEGER };
    for (;;) if (!(await eviction.step(all))) return;
  };

  test('keeps what an answer has named, and ends', async () => {
    const one = await node({ memoMs: 0 });
    const [used, unused] = [contentOf('used', SMALL), contentOf('unused', LARGE)];
    await putOne(one, used);
    await putOne(one, unused);
    await database.advance(BLOB_LEASE_TICKS);
    await evictAll(one);
    expect(events).toEqual([]);
    expect(await isMissing(one, used)).toBe(false);
    await database.advance(1);
    await evictAll(one);
    expect([await isMissing(one, used), await isMissing(one, unused)]).toEqual([false, true]);
    expect(await statesOf()).toEqual([CONDEMNED]);
    expect(await contentBytes()).toBe(SMALL);
  });

  test('of what a result names is renewed by each hit, and results go before their blobs', async () => {
    const one = await node({ memoMs: 0 });
    const bytes = contentOf('output', SMALL);
    const result = resultNaming(await putOne(one, bytes));
    await one.results.put(addressOf('key'), result);
    for (let hit = 0; hit < 3; hit++) {
      await database.advance(STORE.leaseTicks);
      await evictAll(one);
      expect(await one.results.get(addressOf('key'))).toBeDefined();
    }
    await database.advance(BLOB_LEASE_TICKS + 1);
    await evictAll(one);
    expect(await isMissing(one, bytes)).toBe(false);
    await database.advance(RESULT_LEASE_TICKS + 1);
    await evictAll(one);
    expect(await database.query('SELECT FROM assay.presence, assay.result')).toEqual([]);
    expect(await one.results.get(addressOf('key'))).toBeUndefined();
  });

  test('is renewed once a window, as a HOT update', async () => {
    const one = await node({ memoMs: 0 });
    const bytes = contentOf('hot', SMALL);
    await putOne(one, bytes);
    const tick = async () => (await database.query('SELECT tick FROM assay.presence'))[0]?.tick;
    const first = await tick();
    await database.advance(FRESH_TICKS - 1);
    await isMissing(one, bytes);
    expect(await tick()).toBe(first);
    await database.advance(1);
    await isMissing(one, bytes);
    expect(Number(await tick())).toBe(Number(first) + FRESH_TICKS);
  });

  test('lasts however the clocks of the nodes are set: a node that was stopped does not advance the clock', async () => {
    let now = 0;
    const tick = async () => Number((await database.query('SELECT tick FROM assay.clock'))[0]?.tick);
    const one = await node({ now: () => now });
    const before = await tick();
    await one.engine.clock.look();
    expect(await tick()).toBe(before);
    await database.advance(1);
    now += one.engine.clock.tickMs;
    await one.engine.clock.look();
    expect(await tick()).toBe(before + 1);
    now += one.engine.clock.tickMs;
    await one.engine.clock.look();
    expect(await tick()).toBe(before + 2);
  });

  test('is needed for each blob of a result that is put', async () => {
    const one = await node();
    const bytes = contentOf('gone', SMALL);
    const result = resultNaming(await putOne(one, bytes));
    await lose(digestOf(bytes).hash);
    const records = one.engine.records;
    const stored = { bytes: result, references: [digestOf(bytes)] };
    await expect(records.put(addressOf('key'), stored, undefined)).rejects.toMatchObject({
      code: 'ASSAY_RESULT_INCOMPLETE',
    });
    expect(await records.get(addressOf('key'))).toBeUndefined();
  });
});

describe('an object that the bucket does not have', () => {
  test('is a miss, and its blob is removed only if it is said again while the canary is there', async () => {
    const one = await node({ memoMs: 0, lostAfterMs: 20 });
    const bytes = contentOf('vanished', LARGE);
    await one.blobs.put(digestOf(bytes), streamOf(bytes));
    const away = new Map(objects.kept);
    objects.kept.clear();
    await expect(readFrom(one, digestOf(bytes))).rejects.toMatchObject({ code: 'ASSAY_NOT_FOUND' });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await isMissing(one, bytes)).toBe(false);
    const [canary] = await database.query('SELECT name::text FROM assay.canary');
    const name = String(canary?.name);
    objects.kept.set(name, away.get(name) ?? Buffer.alloc(0));
    await expect(readFrom(one, digestOf(bytes))).rejects.toMatchObject({ code: 'ASSAY_NOT_FOUND' });
    await expect.poll(() => isMissing(one, bytes)).toBe(true);
    expect(events).toMatchObject([{ type: 'lost' }]);
  });

  test.each(['put', 'resumed upload'])(
    'is replaced at once by a %s of the whole content, and stays',
    async (way) => {
      const [one, two] = [await node({ memoMs: 0, lostAfterMs: 800 }), await node({ memoMs: 0 })];
      const bytes = contentOf('vanished', LARGE);
      const expected = digestOf(bytes);
      await one.blobs.put(expected, streamOf(bytes));
      await loseObjects();
      await expect(readFrom(one, expected)).rejects.toMatchObject({ code: 'ASSAY_NOT_FOUND' });
      if (way === 'put') await two.blobs.put(expected, streamOf(bytes));
      else await two.uploads.append('id', { expected, offset: 0, content: bytes, isLast: true });
      for (const store of [one, two]) expect((await readFrom(store, expected))?.equals(bytes)).toBe(true);
      // The object that was found missing before is asked for again, and that harms nothing.
      await one.engine.lostSettled();
      expect((await readFrom(one, expected))?.equals(bytes)).toBe(true);
      expect(events).toEqual([]);
      expect(await statesOf()).toEqual([STORED, CONDEMNED]);
    },
  );

  test('is replaced by a put that began before it was lost, for its tenant too', async () => {
    const one = await node({ memoMs: 0 });
    const bytes = contentOf('vanished', LARGE);
    const goesOn = Promise.withResolvers<void>();
    const putting = one.tenant('acme').blobs.put(
      digestOf(bytes),
      (async function* () {
        yield bytes.subarray(0, 100_000);
        await goesOn.promise;
        yield bytes.subarray(100_000);
      })(),
    );
    await expect.poll(() => objects.puts).toBe(2);
    await one.blobs.put(digestOf(bytes), streamOf(bytes));
    await loseObjects();
    goesOn.resolve();
    await putting;
    expect((await readFrom(one.tenant('acme'), digestOf(bytes)))?.equals(bytes)).toBe(true);
  });

  test('is not replaced while the bucket may be another one: the put is refused', async () => {
    const one = await node({ memoMs: 0 });
    const bytes = contentOf('vanished', LARGE);
    await one.blobs.put(digestOf(bytes), streamOf(bytes));
    const away = new Map(objects.kept);
    objects.kept.clear();
    await expect(one.blobs.put(digestOf(bytes), streamOf(bytes))).rejects.toMatchObject({
      code: 'ASSAY_BUCKET_AWAY',
    });
    for (const [name, content] of away) objects.kept.set(name, content);
    expect((await readFrom(one, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });

  test('comes back if the bucket was wrong for a while', async () => {
    const one = await node({ lostAfterMs: 20 });
    const bytes = contentOf('back', LARGE);
    await one.blobs.put(digestOf(bytes), streamOf(bytes));
    const away = new Map(objects.kept);
    objects.kept.clear();
    await expect(readFrom(one, digestOf(bytes))).rejects.toMatchObject({ code: 'ASSAY_NOT_FOUND' });
    for (const [name, content] of away) objects.kept.set(name, content);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await readFrom(one, digestOf(bytes)))?.equals(bytes)).toBe(true);
    expect(events).toEqual([]);
  });

  test('with wrong bytes is never served, and is missing from then on', async () => {
    const one = await node({ memoMs: 0 });
    const bytes = contentOf('rotten', LARGE);
    await one.blobs.put(digestOf(bytes), streamOf(bytes));
    for (const content of objects.kept.values()) content[500] = (content[500] ?? 0) ^ 1;
    await expect(readFrom(one, digestOf(bytes))).rejects.toMatchObject({ code: 'ASSAY_BLOB_CORRUPT' });
    expect(await isMissing(one, bytes)).toBe(true);
  });
});

describe('a large blob whose bytes are wrong', () => {
  const bytes = contentOf('flipped', LARGE);
  const digest = digestOf(bytes);
  const suspects = () => database.query('SELECT FROM assay.suspect');
  const flip = (content: Buffer) => {
    content[500] = (content[500] ?? 0) ^ 1;
  };

  /** The same bucket, over a bad cable. */
  class BadCable extends MemoryObjects {
    isBad = true;

    override async get(name: string, offset: number, length: number) {
      const content = await objects.get(name, offset, length);
      if (!content || !this.isBad || name === canary) return content;
      const all = Buffer.concat(await Array.fromAsync(content));
      flip(all);
      return streamOf(all);
    }
  }
  let canary: string;

  async function twoNodes(cable?: MemoryObjects): Promise<[Node, Node]> {
    const two = await node({ memoMs: 0, lostAfterMs: 20 });
    const [row] = await database.query('SELECT name::text FROM assay.canary');
    canary = String(row?.name);
    const one = await node({ memoMs: 0, lostAfterMs: 20, ...(cable && { objects: cable }) });
    await two.blobs.put(digest, streamOf(bytes));
    return [one, two];
  }

  const failsOn = (store: Node) =>
    expect(readFrom(store, digest)).rejects.toMatchObject({ code: 'ASSAY_BLOB_CORRUPT' });

  test('for one node only is a miss there, and no node removes it', async () => {
    const cable = new BadCable();
    const [one, two] = await twoNodes(cable);
    await failsOn(one);
    expect(await isMissing(one, bytes)).toBe(true);
    expect(await isMissing(two, bytes)).toBe(false);
    await expect.poll(suspects).toHaveLength(1);
    await one.engine.janitor.run();
    expect(await suspects()).toHaveLength(1);
    await two.engine.janitor.run();
    expect(await suspects()).toEqual([]);
    expect((await readFrom(two, digest))?.equals(bytes)).toBe(true);
    cable.isBad = false;
    await one.engine.janitor.run();
    expect(await isMissing(one, bytes)).toBe(false);
    expect((await readFrom(one, digest))?.equals(bytes)).toBe(true);
    expect(events).toEqual([]);
  });

  test('for a moment is there again after the second look of the same node', async () => {
    const cable = new BadCable();
    const [one] = await twoNodes(cable);
    await failsOn(one);
    cable.isBad = false;
    await expect.poll(() => isMissing(one, bytes)).toBe(false);
    expect(await suspects()).toEqual([]);
  });

  test('for two nodes is removed by the second', async () => {
    const [one, two] = await twoNodes();
    for (const [name, content] of objects.kept) if (name !== canary) flip(content);
    await failsOn(one);
    await expect.poll(suspects).toHaveLength(1);
    await two.engine.janitor.run();
    expect(events).toMatchObject([{ type: 'quarantined', hash: digest.hash }]);
    expect(await isMissing(two, bytes)).toBe(true);
    expect(await suspects()).toEqual([]);
  });

  test('for the only node is removed by its third look', async () => {
    const [one] = await twoNodes();
    for (const [name, content] of objects.kept) if (name !== canary) flip(content);
    await failsOn(one);
    await expect.poll(suspects).toHaveLength(1);
    await one.engine.janitor.run();
    expect(events).toEqual([]);
    await database.advance(one.engine.clock.ticksFor(FLEET.aloneMs) + 1);
    await one.engine.janitor.run();
    expect(events).toMatchObject([{ type: 'quarantined', hash: digest.hash }]);
  });

  test('is replaced at once by a put at the node that doubts it', async () => {
    const [one, two] = await twoNodes();
    for (const [name, content] of objects.kept) if (name !== canary) flip(content);
    await failsOn(one);
    await one.blobs.put(digest, streamOf(bytes));
    for (const store of [one, two]) expect((await readFrom(store, digest))?.equals(bytes)).toBe(true);
    expect(await isMissing(one, bytes)).toBe(false);
  });
});

describe('an inspection', () => {
  test('examines every blob and result, renews no lease, and takes out only what is wrong', async () => {
    const one = await node({ memoMs: 0, lostAfterMs: 20 });
    const [small, rottenRow] = [contentOf('small', SMALL), contentOf('rotten row', SMALL)];
    const [large, rottenObject] = [contentOf('large', LARGE), contentOf('rotten object', LARGE)];
    const missing = contentOf('without an object', LARGE);
    for (const bytes of [small, large, rottenRow]) await putOne(one, bytes);
    const before = new Set(objects.kept.keys());
    await putOne(one, rottenObject);
    for (const [name, bytes] of objects.kept) if (!before.has(name)) bytes[500] = (bytes[500] ?? 0) ^ 1;
    const known = new Set(objects.kept.keys());
    await putOne(one, missing);
    for (const name of objects.kept.keys()) if (!known.has(name)) objects.kept.delete(name);
    await database.query(`UPDATE assay.content SET bytes = '\\x00' WHERE hash = decode($1, 'hex')`, [
      digestOf(rottenRow).hash,
    ]);
    await one.results.put(addressOf('whole'), resultNaming(digestOf(small)));
    await one.results.put(addressOf('whole'), resultNaming(digestOf(large)));
    await one.results.put(addressOf('not whole'), resultNaming(digestOf(rottenObject)));
    await database.advance(FRESH_TICKS + 1);
    const stamps = () => database.query('SELECT hash, tick FROM assay.presence ORDER BY hash');
    const stamped = await stamps();

    const inspection = await one.engine.inspect();
    const listed = await inspection.blobsAfter(undefined);
    expect(listed.map(({ hash }) => hash)).toEqual(
      [small, large, rottenRow, rottenObject, missing].map((bytes) => digestOf(bytes).hash).toSorted(),
    );
    expect(await stamps()).toEqual(stamped);
    let read = 0;
    const healthOf = (bytes: Buffer) =>
      inspection.examine(digestOf(bytes).hash, async (length) => {
        read += length;
      });
    expect([await healthOf(small), await healthOf(large)]).toEqual(['whole', 'whole']);
    expect(read).toBe(SMALL + LARGE);
    for (const bytes of [rottenRow, rottenObject, missing]) expect(await healthOf(bytes)).toBe('damaged');
    expect(await healthOf(contentOf('never put', SMALL))).toBe('gone');
    await one.engine.lostSettled();
    expect(events.map(({ type }) => type).toSorted()).toEqual([
      'diverged',
      'lost',
      'quarantined',
      'quarantined',
    ]);
    expect((await inspection.blobsAfter(undefined)).length).toBe(2);
    const { results } = await inspection.resultsAfter(undefined);
    expect(results.map(({ address, isReadable, missing: count }) => [address, isReadable, count])).toEqual(
      expect.arrayContaining([
        [addressOf('whole'), true, 0],
        [addressOf('not whole'), true, 1],
        [undefined, true, 0],
      ]),
    );
  });
});

describe('a bucket that is away', () => {
  test('refuses uploads before their first byte, and small blobs and results go on', async () => {
    const one = await node();
    const bytes = contentOf('refused', LARGE);
    objects.isAway = true;
    await expect(one.blobs.put(digestOf(bytes), streamOf(bytes))).rejects.toMatchObject({
      code: 'ASSAY_BUCKET_AWAY',
    });
    let asked = 0;
    async function* counted(): AsyncGenerator<Buffer> {
      asked++;
      yield bytes;
    }
    await expect(one.blobs.put(digestOf(bytes), counted())).rejects.toMatchObject({
      code: 'ASSAY_BUCKET_AWAY',
    });
    expect(asked).toBe(0);
    expect(await one.engine.parts()).toEqual({ index: 'ok', blobs: 'the bucket can’t be read' });
    const small = await putOne(one, contentOf('small', SMALL));
    expect(await one.results.put(addressOf('key'), resultNaming(small))).toBe('stored');
    objects.isAway = false;
    const put = () => one.blobs.put(digestOf(bytes), streamOf(bytes)).catch(() => undefined);
    await expect.poll(put).toEqual(digestOf(bytes));
  });

  test('is back as soon as the canary can be read, whoever reads it', async () => {
    const one = await node();
    const probe = objects.probe.bind(objects);
    const bytes = contentOf('large', LARGE);
    objects.isAway = true;
    await expect(putOne(one, bytes)).rejects.toMatchObject({ code: 'ASSAY_BUCKET_AWAY' });
    // The bucket never answers the next probe of this node.
    let probes = 0;
    objects.probe = async (name, length) => (++probes === 1 ? new Promise(() => {}) : probe(name, length));
    await expect.poll(() => probes).toBe(1);
    objects.isAway = false;
    expect((await one.engine.parts()).blobs).toBe('ok');
    await putOne(one, bytes);
  });
});

describe('the janitor', () => {
  const ticksFor = (store: Node, milliseconds: number) => store.engine.clock.ticksFor(milliseconds) + 1;

  test('deletes a condemned object an hour later, and not earlier', async () => {
    const one = await node();
    const bytes = contentOf('condemned', LARGE);
    await one.blobs.put(digestOf(bytes), streamOf(bytes));
    await expect(one.blobs.put(digestOf(bytes), streamOf(contentOf('wrong', LARGE)))).rejects.toThrow(
      /MISMATCH/,
    );
    const wrong = contentOf('other', LARGE);
    await expect(one.blobs.put(digestOf(wrong), streamOf(contentOf('wrong', LARGE)))).rejects.toThrow(
      /MISMATCH/,
    );
    expect(await statesOf()).toEqual([STORED, CONDEMNED]);
    await one.engine.janitor.run();
    expect(objects.deleted).toEqual([]);
    expect(one.engine.space.figures).toMatchObject({ bucket: LARGE, condemned: 1, uploads: 0 });
    await database.advance(ticksFor(one, FLEET.condemnedMs));
    await Promise.all([one.engine.janitor.run(), (await node()).engine.janitor.run()]);
    expect(await statesOf()).toEqual([STORED]);
    expect(new Set(objects.deleted).size).toBe(1);
    expect(events).toContainEqual(cleaned({ deleted: 1 }));
    expect((await readFrom(one, digestOf(bytes)))?.equals(bytes)).toBe(true);
  });

  test('condemns what a dead node was uploading, and that node can’t make it visible any more', async () => {
    const [one, two] = [await node(), await node()];
    const bytes = contentOf('stopped', LARGE);
    const goesOn = Promise.withResolvers<void>();
    async function* stopped(): AsyncGenerator<Buffer> {
      yield bytes.subarray(0, 100_000);
      await goesOn.promise;
      yield bytes.subarray(100_000);
    }
    const put = one.blobs.put(digestOf(bytes), stopped()).catch((error: unknown) => error);
    while (objects.puts < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    await database.advance(ticksFor(one, FLEET.idleObjectMs));
    await two.engine.janitor.run();
    expect(events).toContainEqual(cleaned({ condemned: 1 }));
    goesOn.resolve();
    expect(await put).toMatchObject({ code: 'ASSAY_STORE_FAULT' });
    expect(await isMissing(two, bytes)).toBe(true);
    expect(await statesOf()).toEqual([CONDEMNED]);
  });

  test('drops an upload that nobody continues for a day, with its objects', async () => {
    const one = await node();
    const bytes = contentOf('abandoned', LARGE);
    await one.uploads.append('id', {
      expected: digestOf(bytes),
      offset: 0,
      content: bytes.subarray(0, 500_000),
      isLast: false,
    });
    await one.engine.janitor.run();
    expect(await one.uploads.status('id')).toBeDefined();
    await database.advance(ticksFor(one, STORE.abandonedUploadMs));
    await one.engine.janitor.run();
    expect(events).toContainEqual(cleaned({ condemned: 1 }));
    expect(await one.uploads.status('id')).toBeUndefined();
    expect(await statesOf()).toEqual([CONDEMNED]);
  });

  test('removes old objects that no row names, and nothing else', async () => {
    const one = await node();
    const bytes = contentOf('named', LARGE);
    await one.blobs.put(digestOf(bytes), streamOf(bytes));
    const [orphan, young] = [crypto.randomUUID(), crypto.randomUUID()];
    for (const name of [orphan, young, 'of somebody else']) objects.kept.set(name, Buffer.alloc(1));
    for (const name of objects.kept.keys()) objects.agesMs.set(name, FLEET.orphanMs);
    objects.agesMs.set(young, FLEET.orphanMs - 1);
    for (let page = 0; page < 4; page++) await one.engine.janitor.run();
    expect(events).toEqual([cleaned({ orphans: 1 })]);
    expect(objects.deleted).toEqual([]);
    await database.advance(ticksFor(one, FLEET.condemnedMs));
    await one.engine.janitor.run();
    expect(objects.deleted).toEqual([orphan]);
  });
});
