// The limits of a fleet: what counts, what is evicted, and when a write is refused.
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../../../core/digest.ts';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../../../../core/namespace.ts';
import { STORE } from '../../../../../store/limits.ts';
import { addressOf, contentOf, putOne, resultNaming, streamOf } from '../../../../../test/store/content.ts';
import { BLOB_LEASE_TICKS, FRESH_TICKS, RESULT_LEASE_TICKS } from '../../../engine/index/logical-clock.ts';
import { FleetEviction } from '../../../engine/janitor/eviction.ts';
import { FLEET } from '../../../limits.ts';
import { TestFleet, type TestNode } from '../nodes.ts';

const SMALL = 1000;
const LARGE = 40_000;
/** A small blob with its rows. */
const SMALL_HELD = SMALL + 8 + 500;

const fleet = new TestFleet();
/** Statements that wait for a lock of another one. */
const WAITING =
  "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
const isMissing = async (store: TestNode, bytes: Buffer) =>
  (await store.blobs.missing([digestOf(bytes)])).length === 1;

/** Adds up all rows, as the count must have them. */
async function rowsHeld(): Promise<{ bucket: number; index: number }> {
  const [row] = await fleet.database.query(`
    SELECT
      (SELECT coalesce(sum(l), 0) FROM assay.content k, unnest(k.lengths) AS l)::float8
        + (SELECT coalesce(sum(committed), 0) FROM assay.upload)::float8 AS bucket,
      (SELECT coalesce(sum(coalesce(octet_length(bytes), 0) + octet_length(checksums) + 500), 0)
        FROM assay.content)::float8
      + (SELECT coalesce(sum(octet_length(bytes) + 48 * cardinality(hashes) + 400), 0) FROM assay.result)::float8
      + (SELECT coalesce(sum(octet_length(label) + octet_length(namespace) + 200), 0) FROM assay.label)::float8
        AS index`);
  return { bucket: Number(row?.bucket), index: Number(row?.index) };
}

async function expectCounted(node: TestNode): Promise<void> {
  await node.engine.janitor.run();
  expect(node.engine.space.figures).toMatchObject(await rowsHeld());
}

const allLeasesEnd = () => fleet.database.advance(RESULT_LEASE_TICKS + BLOB_LEASE_TICKS + 2);

async function putResult(node: TestNode, key: string, blob = contentOf(key, SMALL)): Promise<void> {
  await node.results.put(addressOf(key), resultNaming(await putOne(node, blob)));
}

describe('the count', () => {
  test('has bytes in the bucket and in PostgreSQL apart, and every row once, whatever happens to it', async () => {
    const one = await fleet.node({ memoMs: 0 });
    for (const key of ['a', 'b', 'c']) await putResult(one, key);
    await putOne(one, contentOf('large', LARGE));
    const label = { namespace: DEFAULT_NAMESPACE, label: 'branch' };
    await one.labels.put(label, addressOf('a').key);
    await expectCounted(one);
    expect(one.engine.space.figures?.bucket).toBe(LARGE);
    // All of it lies in ticks that are over, and is in the sums from now on.
    await fleet.database.advance(one.engine.clock.ticksFor(FLEET.indexAnswerMs) + 1);
    await expectCounted(one);
    expect(await fleet.database.query('SELECT bucket::int FROM assay.held')).toEqual([{ bucket: LARGE }]);
    // Removed, replaced, repaired and labelled anew.
    const found = await one.engine.records.get(addressOf('b'));
    expect(found && (await one.engine.records.remove(addressOf('b'), found))).toBe(true);
    const changed = resultNaming(digestOf(contentOf('a', SMALL)), digestOf(contentOf('c', SMALL)));
    await one.results.update(addressOf('a'), () => changed);
    await one.blobs.put(digestOf(contentOf('large', LARGE)), streamOf(contentOf('large', LARGE)));
    const [stored] = await fleet.database.query(
      'SELECT objects[1]::text AS name FROM assay.content WHERE objects IS NOT NULL',
    );
    fleet.objects.kept.delete(String(stored?.name));
    await one.blobs.put(digestOf(contentOf('large', LARGE)), streamOf(contentOf('large', LARGE)));
    expect(await one.engine.labels.remove(label, addressOf('a').key)).toBe(true);
    await one.labels.put({ ...label, label: 'other' }, addressOf('c').key);
    await one.uploads.append('id', {
      expected: digestOf(contentOf('part', LARGE)),
      offset: 0,
      content: contentOf('part', LARGE).subarray(0, 20_000),
      isLast: false,
    });
    await expectCounted(one);
    await fleet.database.advance(one.engine.clock.ticksFor(FLEET.indexAnswerMs) + 1);
    await expectCounted(one);
    await one.engine.blobs.put(digestOf(contentOf('later', SMALL)), contentOf('later', SMALL));
    await expectCounted(one);
  });

  test('has a result once that is replaced while an eviction moves its age', async () => {
    const one = await fleet.node({ memoMs: 0 });
    await putResult(one, 'a');
    const other = await putOne(one, contentOf('b', SMALL));
    await fleet.database.advance(one.engine.clock.ticksFor(FLEET.indexAnswerMs) + FRESH_TICKS + 1);
    await expectCounted(one);
    // It is used, so the eviction gives it a later age, which no count has passed.
    await one.results.get(addressOf('a'));
    const evicting = new pg.Client(fleet.database.url);
    await evicting.connect();
    try {
      await evicting.query('BEGIN');
      await new FleetEviction({
        query: async (statement, values = []) =>
          (await evicting.query({ ...statement, values: [...values] })).rows,
      }).step({ bucket: 0, index: 1 });
      const replaced = one.results.update(addressOf('a'), () => resultNaming(other));
      await expect.poll(() => fleet.database.query(WAITING)).toHaveLength(1);
      await evicting.query('COMMIT');
      await replaced;
    } finally {
      await evicting.end();
    }
    await expectCounted(one);
  });

  test('is right while entries are put, used, evicted and counted at once', async () => {
    const options = { maxBytes: 20 * LARGE, maxIndexBytes: 60 * SMALL_HELD, memoMs: 0 };
    const [one, two] = [await fleet.node(options), await fleet.node({ memoMs: 0 })];
    for (let round = 0; round < 6; round++) {
      const puts = Array.from({ length: 12 }, async (_, at) => {
        const name = `${round}-${at}`;
        await putResult(two, name, contentOf(name, at % 3 === 0 ? LARGE : SMALL));
        await two.results.get(addressOf(`${round - 1}-${at}`));
        await two.labels.put({ namespace: DEFAULT_NAMESPACE, label: name }, addressOf(name).key);
      });
      await Promise.all([...puts, one.engine.janitor.run(), one.engine.janitor.run()]);
      await fleet.database.advance(Math.ceil(RESULT_LEASE_TICKS / 2));
    }
    await expectCounted(one);
    await allLeasesEnd();
    await one.engine.janitor.run();
    await expectCounted(one);
  });

  test('is made anew once a day, and mends what it did not see', async () => {
    let now = 0;
    const one = await fleet.node({ now: () => now });
    for (const key of ['a', 'b', 'c']) await putResult(one, key);
    await fleet.database.advance(one.engine.clock.ticksFor(FLEET.indexAnswerMs) + 1);
    await expectCounted(one);
    await fleet.database.query("DELETE FROM assay.result WHERE key = decode($1, 'hex')", [
      addressOf('b').key,
    ]);
    await one.engine.janitor.run();
    const { index } = await rowsHeld();
    expect(one.engine.space.figures?.index).toBeGreaterThan(index);
    now += FLEET.countAnewMs;
    await one.engine.janitor.run();
    await expectCounted(one);
  });

  test('is read by every node', async () => {
    const [one, two] = [await fleet.node(), await fleet.node()];
    await putOne(two, contentOf('large', LARGE));
    await one.engine.janitor.run();
    await two.engine.janitor.run();
    expect(two.engine.space.figures).toEqual(one.engine.space.figures);
    expect(two.engine.space.figures?.bucket).toBe(LARGE);
  });
});

describe('an eviction', () => {
  const target = (limit: number, held: number | undefined, largest: number) => {
    expect(held).toBeLessThanOrEqual(limit * STORE.evictTo);
    expect(held).toBeGreaterThan(limit * STORE.evictTo - largest);
  };

  test('keeps the bucket within its limit, and removes what was not used', async () => {
    const one = await fleet.node({
      maxBytes: 50 * LARGE,
      maxIndexBytes: Number.POSITIVE_INFINITY,
      memoMs: 0,
    });
    const filler = await fleet.node();
    for (let number = 0; number < 60; number++) await putOne(filler, contentOf(`blob ${number}`, LARGE));
    await one.engine.janitor.run();
    expect(fleet.events).toEqual([]);
    await fleet.database.advance(BLOB_LEASE_TICKS + 1);
    expect(await isMissing(one, contentOf('blob 3', LARGE))).toBe(false);
    await one.engine.janitor.run();
    target(50 * LARGE, one.engine.space.figures?.bucket, LARGE + 1);
    expect(await isMissing(one, contentOf('blob 3', LARGE))).toBe(false);
    const { tickMs } = one.engine.clock;
    const ages = fleet.events.flatMap((event) =>
      event.type === 'cleaned' ? (event.unusedMs ?? 0) / tickMs : [],
    );
    expect(ages).toHaveLength(1);
    expect(ages[0]).toBeGreaterThanOrEqual(BLOB_LEASE_TICKS + 1);
  });

  test('of results and inline blobs keeps PostgreSQL within its limit, with a bucket without one', async () => {
    const limit = 100 * SMALL_HELD;
    const one = await fleet.node({ maxIndexBytes: limit, memoMs: 0 });
    const filler = await fleet.node();
    for (let number = 0; number < 80; number++) await putResult(filler, `${number}`);
    const label = { namespace: DEFAULT_NAMESPACE, label: 'of the first' };
    await filler.labels.put(label, addressOf('0').key);
    await allLeasesEnd();
    await one.engine.janitor.run();
    target(limit, one.engine.space.figures?.index, SMALL_HELD + 1);
    expect(await fleet.database.query('SELECT FROM assay.label')).toEqual([]);
    await expectCounted(one);
  });

  test('that another janitor may have begun is finished by the next one', async () => {
    const limit = 100 * SMALL_HELD;
    const [one, two] = [
      await fleet.node({ maxIndexBytes: limit }),
      await fleet.node({ maxIndexBytes: limit }),
    ];
    const fill = async (first: number, last: number) => {
      for (let at = first; at < last; at++) await putOne(two, contentOf(`blob ${at}`, SMALL));
      await allLeasesEnd();
    };
    await fill(0, 93);
    await one.engine.janitor.run();
    target(limit, one.engine.space.figures?.index, SMALL_HELD + 1);
    // It knows now that no eviction is unfinished, and begins at 95 %.
    await fill(93, 96);
    await one.engine.janitor.run();
    expect(one.engine.space.figures?.index).toBe(93 * SMALL_HELD);
    await one.engine.janitor.close();
    await two.engine.janitor.run();
    target(limit, two.engine.space.figures?.index, SMALL_HELD + 1);
  });

  test('of results alone ends at its target: each names one small blob', async () => {
    const limit = 50_000;
    const one = await fleet.node({ maxIndexBytes: limit, memoMs: 0 });
    const filler = await fleet.node();
    for (let number = 0; number < 120; number++)
      await putResult(filler, `${number}`, contentOf('same', SMALL));
    await allLeasesEnd();
    await one.engine.janitor.run();
    target(limit, one.engine.space.figures?.index, 600);
  });
});

test('the figures do not wait for a count of condemned objects that takes long', async () => {
  const one = await fleet.node({ memoMs: 0, answerMs: 4000 });
  await putResult(one, '1');
  await fleet.database.query('BEGIN');
  onTestFinished(async () => void (await fleet.database.query('COMMIT')));
  await fleet.database.query('LOCK TABLE assay.object IN ACCESS EXCLUSIVE MODE');
  await one.engine.janitor.run().catch(() => {});
  await expect.poll(() => one.engine.space.figures?.index, { timeout: 10_000 }).toBeGreaterThan(SMALL);
});

test('who has the most unfinished uploads loses the oldest, before others find no place', async () => {
  const one = await fleet.node({ memoMs: 0 });
  const bytes = contentOf('large', LARGE);
  const part = { expected: digestOf(bytes), offset: 0, content: bytes.subarray(0, 20_000), isLast: false };
  const main = one.tenant(parseNamespace('acme'));
  await main.uploads.append('of main', part);
  await fleet.database.query(
    `INSERT INTO assay.upload (tenant, id, owner, committed, tick)
     SELECT 7000, n::text, 1, 0, n + 10 FROM generate_series(1, $1) AS n`,
    [FLEET.maxUploads],
  );
  await one.engine.janitor.run();
  const rest = { ...part, offset: 20_000, content: bytes.subarray(20_000), isLast: true };
  expect(await main.uploads.append('of main', rest)).toMatchObject({ isFinished: true });
  await main.uploads.append('another one', part);
  const [left] = await fleet.database.query(
    'SELECT count(*)::int AS count, min(tick)::int AS oldest FROM assay.upload WHERE tenant = 7000',
  );
  expect(left).toEqual({ count: FLEET.maxUploads / 2 - 1, oldest: FLEET.maxUploads / 2 + 12 });
  expect(one.engine.space.figures?.uploads).toBe(FLEET.maxUploads / 2);
});

test('labels without a result go before anything that can be a hit, and never fill the index', async () => {
  const one = await fleet.node({ maxIndexBytes: 60 * SMALL_HELD, memoMs: 0 });
  for (let number = 0; number < 20; number++) await putResult(one, `${number}`);
  const live = { namespace: DEFAULT_NAMESPACE, label: 'live' };
  await one.labels.put(live, addressOf('1').key);
  await allLeasesEnd();
  let puts = 0;
  const flood = async () => {
    for (; puts < 2000; puts++) {
      const label = `${puts}`.padEnd(500, '.');
      await one.labels.put({ namespace: DEFAULT_NAMESPACE, label }, addressOf('nowhere').key);
      if (puts % 50 === 49) await one.engine.janitor.run();
    }
  };
  await flood().catch((error) => expect(error).toMatchObject({ code: 'ASSAY_STORE_FULL' }));
  await one.engine.janitor.run();
  for (let number = 0; number < 20; number++)
    expect(await one.results.get(addressOf(`${number}`)), `${number}`).toBeDefined();
  expect((await one.labels.newest(DEFAULT_NAMESPACE, [], 'live'))?.key).toBe(addressOf('1').key);
  await putResult(one, 'later');
  await expectCounted(one);
});

describe('a write', () => {
  const full = { code: 'ASSAY_STORE_FULL' };

  test('is refused 10 % above the limit of the bucket, also by a node that is not the janitor', async () => {
    const options = { maxBytes: 10 * LARGE, maxIndexBytes: Number.POSITIVE_INFINITY, memoMs: 0 };
    const [one, two] = [await fleet.node(options), await fleet.node(options)];
    for (let number = 0; number < 11; number++) await putOne(one, contentOf(`${number}`, LARGE));
    const more = contentOf('more', LARGE);
    await expect(putOne(one, more)).rejects.toMatchObject(full);
    await one.engine.janitor.run();
    await two.engine.janitor.run();
    for (const node of [one, two]) {
      await expect(node.blobs.put(digestOf(more), streamOf(more))).rejects.toMatchObject(full);
      const part = { expected: digestOf(more), offset: 0, content: more, isLast: true };
      await expect(node.uploads.append('id', part)).rejects.toMatchObject(full);
    }
    // Reads, small blobs and results go on.
    expect(await isMissing(two, contentOf('3', LARGE))).toBe(false);
    await putResult(two, 'small');
    await allLeasesEnd();
    await one.engine.janitor.run();
    await two.engine.janitor.run();
    await putOne(two, more);
  });

  test('is refused 10 % above the limit of PostgreSQL: small blobs, results and labels', async () => {
    const options = { maxIndexBytes: 10 * SMALL_HELD, memoMs: 0 };
    const [one, two] = [await fleet.node(options), await fleet.node(options)];
    for (let number = 0; number < 11; number++) await putOne(one, contentOf(`${number}`, SMALL));
    await one.engine.janitor.run();
    await two.engine.janitor.run();
    for (const node of [one, two]) {
      await expect(putOne(node, contentOf('more', SMALL))).rejects.toMatchObject(full);
      const result = resultNaming(digestOf(contentOf('1', SMALL)));
      await expect(node.results.put(addressOf('key'), result)).rejects.toMatchObject(full);
      const label = { namespace: DEFAULT_NAMESPACE, label: 'any' };
      await expect(node.labels.put(label, addressOf('key').key)).rejects.toMatchObject(full);
    }
    await allLeasesEnd();
    await one.engine.janitor.run();
    await two.engine.janitor.run();
    await putResult(two, 'small');
  });

  test('larger than the limit is refused before its first byte, or as soon as it is too large', async () => {
    const one = await fleet.node({ maxBytes: 2 * LARGE, memoMs: 0 });
    const bytes = contentOf('huge', 5 * LARGE);
    let read = 0;
    async function* counted(): AsyncGenerator<Buffer> {
      for (let at = 0; at < bytes.length; at += 10_000) {
        read += 10_000;
        yield bytes.subarray(at, at + 10_000);
      }
    }
    await expect(one.blobs.put(digestOf(bytes), counted())).rejects.toMatchObject(full);
    expect(read).toBe(0);
    await expect(one.blobs.put({ hash: undefined, size: undefined }, counted())).rejects.toMatchObject(full);
    expect(read).toBeLessThan(3 * LARGE);
    const part = { expected: digestOf(bytes), offset: 0, content: bytes, isLast: true };
    await expect(one.uploads.append('id', part)).rejects.toMatchObject(full);
    expect([...fleet.objects.kept.values()].every(({ length }) => length < LARGE)).toBe(true);
  });

  test.each(['put', 'upload in parts'])(
    '(%s) is refused if it does not fit beside those that arrive',
    async (kind) => {
      const one = await fleet.node({ maxBytes: 10 * LARGE, maxIndexBytes: Number.POSITIVE_INFINITY });
      const { promise: last, resolve: sendLast } = Promise.withResolvers<void>();
      let settled = 0;
      async function* held(bytes: Buffer): AsyncGenerator<Buffer> {
        yield bytes.subarray(0, LARGE - 1);
        settled++;
        await last;
        yield bytes.subarray(LARGE - 1);
      }
      const send = async (number: number) => {
        const bytes = contentOf(`${number}`, LARGE);
        const expected = { hash: digestOf(bytes).hash, size: undefined };
        if (kind === 'put') await one.blobs.put(expected, held(bytes));
        else
          await one.uploads.append(`${number}`, { expected, offset: 0, content: held(bytes), isLast: true });
      };
      const sent = Array.from({ length: 30 }, (_, number) =>
        send(number).catch((error: unknown) => {
          settled++;
          throw error;
        }),
      );
      const outcomes = Promise.allSettled(sent);
      await expect.poll(() => settled).toBe(30);
      sendLast();
      expect((await outcomes).filter(({ status }) => status === 'fulfilled').length).toBe(11);
      for (const outcome of await outcomes)
        if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(full);
    },
  );

  test('tells nobody how much others hold, by what it says or by an announced size', async () => {
    const account = { name: 'acme/pr', namespaces: ['acme/pr'], quota: { bytes: 5 * LARGE } };
    const one = await fleet.node({ maxBytes: 9 * LARGE, accounts: [account], memoMs: 0 });
    /** Announces sizes, sends nothing, and returns what it is told. */
    const probe = async (namespace: string) => {
      await one.engine.janitor.run();
      const told: string[] = [];
      for (let parts = 1; parts <= 12; parts++) {
        const expected = { hash: digestOf(contentOf(`${parts}`, 1)).hash, size: parts * LARGE };
        async function* nothing(): AsyncGenerator<Buffer> {}
        const put = one.tenant(parseNamespace(namespace)).blobs.put(expected, nothing());
        told.push(await put.then(String, String));
      }
      return told;
    };
    const before = [await probe('acme/pr/1'), await probe('globex')];
    expect(before[0]?.[11]).toContain('ASSAY_STORE_FULL');
    for (const namespace of ['acme/pr/2', 'initech', 'globex-2'])
      await putOne(one.tenant(parseNamespace(namespace)), contentOf(namespace, LARGE));
    expect([await probe('acme/pr/1'), await probe('globex')]).toEqual(before);
  });

  test('that is repeated takes no space', async () => {
    const one = await fleet.node({ maxBytes: 2 * LARGE, memoMs: 0 });
    for (let number = 0; number < 20; number++) await putOne(one, contentOf('same', LARGE));
    for (let number = 0; number < 200; number++) await putOne(one, contentOf('same', SMALL));
    await putOne(one, contentOf('more', SMALL));
  });
});
