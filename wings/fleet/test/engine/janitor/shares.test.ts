// Quotas and floors of namespaces in a fleet: H1 to H5 of wings/fleet/engine/accounts/accounts.ts.
import { describe, expect, test, vi } from 'vitest';
import { type Digest, digestOf } from '../../../../../core/digest.ts';
import { type Namespace, parseNamespace } from '../../../../../core/namespace.ts';
import type { AccountSettings } from '../../../../../store/accounts.ts';
import { STORE } from '../../../../../store/limits.ts';
import { Random } from '../../../../../test/rig/random.ts';
import { addressOf, contentOf, putOne, resultNaming, streamOf } from '../../../../../test/store/content.ts';
import { BLOB_LEASE_TICKS, FRESH_TICKS, RESULT_LEASE_TICKS } from '../../../engine/index/logical-clock.ts';
import type { HeldBytes } from '../../../engine/space.ts';
import { FLEET } from '../../../limits.ts';
import { TestFleet, type TestNode } from '../nodes.ts';

const SMALL = 1000;
const LARGE = 40_000;
/** A small blob with its rows, and a result that names it. */
const HELD = SMALL + 8 + 500 + 600;

const MAIN = parseNamespace('acme/main');
const PR = parseNamespace('acme/pr/7');
const OTHER = parseNamespace('globex/main');

const fleet = new TestFleet();
const account = (name: string, sizes: Pick<AccountSettings, 'quota' | 'floor'>): AccountSettings => ({
  name,
  namespaces: [name],
  ...sizes,
});
/** Fills above the quota, as many nodes at once would within a round. */
const filler = () => fleet.node({ accounts: [account('acme/pr', {})], memoMs: 0 });
const full = { code: 'ASSAY_STORE_FULL' };
const allLeasesEnd = () => fleet.database.advance(RESULT_LEASE_TICKS + BLOB_LEASE_TICKS + 2);

async function put(node: TestNode, namespace: Namespace, name: string, size = SMALL): Promise<Digest> {
  const view = node.tenant(namespace);
  const digest = await putOne(view, contentOf(name, size));
  await view.results.put(addressOf(name, namespace), resultNaming(digest));
  return digest;
}

async function fill(node: TestNode, namespace: Namespace, count: number, size = SMALL): Promise<void> {
  for (let at = 0; at < count; at++) await put(node, namespace, `${namespace} ${at}`, size);
}

async function hits(node: TestNode, namespace: Namespace, count: number): Promise<number> {
  const found = Array.from({ length: count }, (_, at) =>
    node.tenant(namespace).results.get(addressOf(`${namespace} ${at}`, namespace)),
  );
  return (await Promise.all(found)).filter(Boolean).length;
}

function held(node: TestNode, name: string): HeldBytes {
  const found = node.engine.accounts.all.find((one) => one.name === name);
  return found ? found.held : { bucket: Number.NaN, index: Number.NaN };
}

/** Adds up all rows, as the count must have them. */
async function rowsHeld(node: TestNode): Promise<Record<string, HeldBytes>> {
  const names = await fleet.database.query(`SELECT name, number FROM assay.tenant WHERE name LIKE '/%'`);
  const byNumber = node.engine.accounts.accountsByNumber(
    names.map(({ name, number }) => ({ name: String(name), number: Number(number) })),
  );
  const rows = await fleet.database.query(`
    SELECT p.tenants AS list, coalesce((SELECT sum(l) FROM unnest(k.lengths) AS l), 0)::float8 AS bucket,
      (coalesce(octet_length(k.bytes), 0) + octet_length(k.checksums) + 500)::float8 AS index
    FROM assay.content k JOIN assay.presence p USING (hash)
    UNION ALL
    SELECT ARRAY[coalesce(u.holder, 0)], u.committed::float8, 0 FROM assay.upload u
    UNION ALL
    SELECT ARRAY[coalesce(l.holder, 0)], 0, (octet_length(l.label) + octet_length(l.namespace) + 200)::float8
    FROM assay.label l
    UNION ALL
    SELECT ARRAY[coalesce(r.holder, 0)], 0, (octet_length(r.bytes) + 48 * cardinality(r.hashes) + 400)::float8
    FROM assay.result r`);
  const sums: Record<string, HeldBytes> = Object.fromEntries(
    node.engine.accounts.all.map(({ name }) => [name, { bucket: 0, index: 0 }]),
  );
  for (const { list, bucket, index } of rows)
    for (const { name } of byNumber.accountsOf(Array.isArray(list) ? list.map(Number) : [])) {
      const sum = sums[name] ?? { bucket: 0, index: 0 };
      sums[name] = { bucket: sum.bucket + Number(bucket), index: sum.index + Number(index) };
    }
  return sums;
}

async function expectCounted(node: TestNode): Promise<void> {
  await node.engine.janitor.run();
  const counted = node.engine.accounts.all.map((one) => [one.name, one.held]);
  expect(Object.fromEntries(counted)).toEqual(await rowsHeld(node));
}

/** Each such statement of its janitor takes so long. Returns how many there were. */
function slow({ engine: { election } }: TestNode, name: string, clock: { ms: number }, ms: number) {
  const mandate = election.mandate.bind(election);
  let count = 0;
  vi.spyOn(election, 'mandate').mockImplementation(async () => {
    const real = await mandate();
    if (!real) return undefined;
    const query: typeof real.query = (statement, values) => {
      if (statement.name === name) {
        count++;
        clock.ms += ms;
      }
      return real.query(statement, values);
    };
    return { ...real, query };
  });
  return () => count;
}

describe('a quota', () => {
  const quota = { bytes: 10 * HELD };
  const options = { accounts: [account('acme/pr', { quota })], memoMs: 0 };

  test('H3: what is above it is evicted of the namespace itself, and nothing of others', async () => {
    const node = await fleet.node(options);
    await fill(node, MAIN, 12);
    await fill(node, OTHER, 12);
    await allLeasesEnd();
    await fill(await filler(), PR, 15);
    await allLeasesEnd();
    await node.engine.janitor.run();
    expect(held(node, 'acme/pr').index).toBeLessThanOrEqual(quota.bytes * STORE.evictTo);
    expect(held(node, 'acme/pr').index).toBeGreaterThan(quota.bytes * STORE.evictTo - 2 * HELD);
    expect(await hits(node, MAIN, 12)).toBe(12);
    expect(await hits(node, OTHER, 12)).toBe(12);
    expect(await hits(node, PR, 15)).toBeLessThan(11);
    await expectCounted(node);
  });

  test('holds for the bucket too, whatever lies between the entries of the account', async () => {
    const node = await fleet.node({ accounts: [account('acme/pr', { quota: { bytes: 4 * LARGE } })] });
    const other = await filler();
    for (let round = 0; round < 6; round++) {
      await put(other, PR, `${PR} ${round}`, LARGE);
      for (let at = 0; at < 20; at++) await put(node, MAIN, `${MAIN} ${20 * round + at}`);
      await fleet.database.advance(2 * FRESH_TICKS);
    }
    await allLeasesEnd();
    await node.engine.janitor.run();
    expect(held(node, 'acme/pr').bucket).toBe(3 * LARGE);
    expect(await hits(node, MAIN, 120)).toBe(120);
    expect(await hits(node, PR, 6)).toBe(3);
  });

  test('H3: a blob that others hold too stays, and the account gives it up', async () => {
    const node = await fleet.node(options);
    const shared = await put(node, PR, 'shared');
    // Main never sends it: the client asks first, and names it in its result.
    await node.tenant(MAIN).results.put(addressOf('of main', MAIN), resultNaming(shared));
    await allLeasesEnd();
    await fill(await filler(), PR, 15);
    await allLeasesEnd();
    await expectCounted(node);
    expect(await node.tenant(MAIN).results.get(addressOf('of main', MAIN))).toBeDefined();
    expect(await node.tenant(PR).results.get(addressOf('shared', PR))).toBeUndefined();
    const [row] = await fleet.database.query(
      `SELECT tenants FROM assay.presence WHERE hash = decode($1, 'hex')`,
      [shared.hash],
    );
    const [own] = await fleet.database.query(`SELECT number FROM assay.tenant WHERE name = '/acme/pr'`);
    expect(row?.tenants).not.toContain(-1 - Number(own?.number));
  });

  test('if all of it is leased, only its own writes are refused, at every node', async () => {
    const [one, two] = [await fleet.node(options), await fleet.node(options)];
    await fill(await filler(), PR, 15);
    await one.engine.janitor.run();
    await two.engine.janitor.run();
    for (const node of [one, two]) {
      await expect(put(node, PR, 'more')).rejects.toMatchObject(full);
      await expect(put(node, PR, 'more')).rejects.toThrow('the quota of acme/pr');
      const large = contentOf('large', LARGE);
      await expect(node.tenant(PR).blobs.put(digestOf(large), streamOf(large))).rejects.toMatchObject(full);
      const part = { expected: digestOf(large), offset: 0, content: large, isLast: true };
      await expect(node.tenant(PR).uploads.append('id', part)).rejects.toMatchObject(full);
      const result = resultNaming(digestOf(contentOf(`${PR} 1`, SMALL)));
      await expect(node.tenant(PR).results.put(addressOf('x', PR), result)).rejects.toMatchObject(full);
      await put(node, MAIN, 'more');
    }
    await allLeasesEnd();
    await one.engine.janitor.run();
    await two.engine.janitor.run();
    await put(two, PR, 'more');
  });

  test('if all of it is leased behind very many entries, the janitor looks seldom, and has time for others', async () => {
    const clock = { ms: 0 };
    const node = await fleet.node({ ...options, now: () => clock.ms, electionIdleMs: 3_600_000 });
    await fill(await filler(), PR, 15);
    const looks = slow(node, 'evict find blobs', clock, 5000);
    await node.engine.janitor.run();
    const first = looks();
    expect(first).toBeGreaterThan(0);
    for (let round = 0; round < 5; round++) await node.engine.janitor.run();
    expect(looks()).toBe(first);
    await allLeasesEnd();
    clock.ms += FLEET.passPauseFactor * (first + 1) * 5000;
    await node.engine.janitor.run();
    expect(held(node, 'acme/pr').index).toBeLessThanOrEqual(quota.bytes * STORE.evictTo);
  });

  test('that is full lets the janitor look at a part of all labels in each round, and at all in the end', async () => {
    const clock = { ms: 0 };
    const node = await fleet.node({ ...options, now: () => clock.ms, electionIdleMs: 3_600_000 });
    await fill(await filler(), PR, 15);
    await fill(node, MAIN, 1);
    await expectCounted(node);
    await fleet.database.query(
      `INSERT INTO assay.label SELECT namespace, convert_to(to_char(n, 'FM00000'), 'UTF8'), key, n
       FROM generate_series(1, 3500) AS n, assay.result WHERE namespace = $1`,
      [MAIN],
    );
    await node.labels.put({ namespace: MAIN, label: 'dead' }, addressOf('nowhere').key);
    const pages = slow(node, 'dead labels', clock, FLEET.deadLabelsMs);
    for (let round = 1; round <= 4; round++) {
      expect(await fleet.database.query("SELECT FROM assay.label WHERE label = 'dead'")).toHaveLength(1);
      await node.engine.janitor.run();
      expect(pages()).toBeLessThanOrEqual(round + 1);
    }
    expect(await fleet.database.query("SELECT FROM assay.label WHERE label = 'dead'")).toEqual([]);
    expect(await fleet.database.query('SELECT FROM assay.label')).toHaveLength(3500);
  });

  test('labels count for it, and a flood of them evicts nothing of others', async () => {
    const node = await fleet.node({ ...options, maxIndexBytes: 60 * HELD });
    await fill(node, MAIN, 12);
    await allLeasesEnd();
    await put(node, PR, 'one');
    let puts = 0;
    const flood = async () => {
      for (; puts < 1000; puts++)
        await node.labels.put({ namespace: PR, label: `${puts}`.padEnd(500, '.') }, addressOf('one', PR).key);
    };
    await expect(flood()).rejects.toMatchObject(full);
    expect(puts).toBeGreaterThan(20);
    await node.engine.janitor.run();
    await expect(flood()).rejects.toMatchObject(full);
    await allLeasesEnd();
    await expectCounted(node);
    expect(await hits(node, MAIN, 12)).toBe(12);
    expect(await fleet.database.query('SELECT FROM assay.label')).toEqual([]);
    expect(
      await node.labels.put({ namespace: MAIN, label: 'branch' }, addressOf(`${MAIN} 1`, MAIN).key),
    ).toBe('stored');
  });

  test('unfinished uploads count for it, and leave others what they have', async () => {
    const node = await fleet.node({
      maxBytes: 20 * LARGE,
      accounts: [account('acme/pr', { quota: { share: 0.25 } })],
      memoMs: 0,
    });
    for (let at = 0; at < 12; at++) await put(node, MAIN, `${MAIN} ${at}`, LARGE);
    await allLeasesEnd();
    let begun = 0;
    const flood = async () => {
      for (; begun < 20; begun++) {
        const bytes = contentOf(`upload ${begun}`, 2 * LARGE);
        const content = bytes.subarray(0, LARGE);
        const part = { expected: digestOf(bytes), offset: 0, content, isLast: false };
        await node.tenant(PR).uploads.append(`${begun}`, part);
        if (begun % 2 === 0) await expectCounted(node);
      }
    };
    await expect(flood()).rejects.toMatchObject(full);
    expect(held(node, 'acme/pr').bucket).toBeGreaterThanOrEqual(3 * LARGE);
    await expect(flood()).rejects.toMatchObject(full);
    await expectCounted(node);
    expect(await hits(node, MAIN, 12)).toBe(12);
  });

  test('of a share is that share of each limit', async () => {
    const node = await fleet.node({
      maxBytes: 40 * LARGE,
      maxIndexBytes: 40 * HELD,
      accounts: [account('acme/pr', { quota: { share: 0.25 } })],
    });
    expect(node.engine.accounts.all[0]?.quota).toEqual({ bucket: 10 * LARGE, index: 10 * HELD });
  });
});

describe('a floor', () => {
  const LIMIT = 100 * HELD;
  const options = {
    maxBytes: 1000 * LARGE,
    maxIndexBytes: LIMIT,
    accounts: [account('acme/main', { floor: { bytes: 40 * HELD } })],
    memoMs: 0,
  };

  test('H4: nothing below it is evicted for others, in the index and in the bucket', async () => {
    const inIndex = await fleet.node(options);
    await fill(inIndex, MAIN, 45);
    await allLeasesEnd();
    await fill(inIndex, OTHER, 60);
    await allLeasesEnd();
    await inIndex.engine.janitor.run();
    expect(inIndex.engine.space.figures?.index).toBeLessThanOrEqual(LIMIT * STORE.evictTo);
    expect(held(inIndex, 'acme/main').index).toBeGreaterThanOrEqual(40 * HELD);
    expect(held(inIndex, 'acme/main').index).toBeLessThan(45 * HELD);
    // Its oldest results go first, then the blobs that nothing names.
    expect(await hits(inIndex, MAIN, 45)).toBeGreaterThan(25);
    await expectCounted(inIndex);
    await inIndex.engine.janitor.close();

    const inBucket = await fleet.node({
      ...options,
      maxBytes: 20 * LARGE,
      maxIndexBytes: Number.POSITIVE_INFINITY,
      accounts: [account('acme/main', { floor: { bytes: 8 * LARGE } })],
    });
    await inBucket.engine.janitor.run();
    for (let at = 0; at < 8; at++) await put(inBucket, MAIN, `large ${at}`, LARGE);
    await allLeasesEnd();
    for (let at = 0; at < 13; at++) await put(inBucket, OTHER, `other ${at}`, LARGE);
    await allLeasesEnd();
    await inBucket.engine.janitor.run();
    expect(inBucket.engine.space.figures?.bucket).toBeLessThanOrEqual(20 * LARGE * STORE.evictTo);
    expect(held(inBucket, 'acme/main').bucket).toBe(8 * LARGE);
    for (let at = 0; at < 8; at++)
      expect(await inBucket.tenant(MAIN).results.get(addressOf(`large ${at}`, MAIN)), `${at}`).toBeDefined();
  });

  test('H4: what an account has above its floor is evicted as all else is', async () => {
    const node = await fleet.node(options);
    await fill(node, MAIN, 100);
    await allLeasesEnd();
    await node.engine.janitor.run();
    expect(node.engine.space.figures?.index).toBeLessThanOrEqual(LIMIT * STORE.evictTo);
    expect(held(node, 'acme/main').index).toBeGreaterThan(LIMIT * STORE.evictTo - 2 * HELD);
  });

  test('until all is counted nothing is evicted', async () => {
    const before = await fleet.node({ memoMs: 0 });
    await fill(before, MAIN, 45);
    await fill(before, OTHER, 60);
    await allLeasesEnd();
    let now = 0;
    // Each question is half a minute later: the first count of the new accounts takes several rounds.
    const node = await fleet.node({ ...options, now: () => (now += 30_000) });
    await node.engine.janitor.run();
    expect(await hits(before, MAIN, 45)).toBe(45);
    await allLeasesEnd();
    for (let round = 0; round < 20; round++) await node.engine.janitor.run();
    expect(node.engine.space.figures?.index).toBeLessThanOrEqual(LIMIT * STORE.evictTo);
    expect(held(node, 'acme/main').index).toBeGreaterThanOrEqual(40 * HELD);
    await expectCounted(node);
  });
});

describe('the count of accounts', () => {
  const accounts = [
    account('acme', { quota: { bytes: 30 * HELD } }),
    account('acme/pr', { quota: { bytes: 8 * HELD } }),
    account('globex', { floor: { bytes: 5 * HELD } }),
  ];

  test('begins with what is stored already', async () => {
    const before = await fleet.node({ memoMs: 0 });
    for (const namespace of [MAIN, PR, OTHER]) {
      await fill(before, namespace, 5);
      await before.labels.put({ namespace, label: 'branch' }, addressOf(`${namespace} 1`, namespace).key);
    }
    await fleet.database.advance(before.engine.clock.ticksFor(FLEET.indexAnswerMs) + 1);
    await before.engine.janitor.run();
    await before.engine.janitor.close();
    const node = await fleet.node({ accounts, memoMs: 0 });
    await node.engine.janitor.run();
    await expectCounted(node);
    expect(held(node, 'acme').index).toBeGreaterThan(9 * HELD);
    expect(held(node, 'acme/pr').index).toBeGreaterThan(4 * HELD);
  });

  test('is right whatever is put, shared, used, replaced and evicted, and no namespace leaves its share', async () => {
    const random = new Random(20261119);
    const below = (end: number) => random.below(end);
    const node = await fleet.node({ accounts, maxIndexBytes: 40 * HELD, maxBytes: 12 * LARGE, memoMs: 0 });
    for (let round = 0; round < 8; round++) {
      for (let at = 0; at < 8; at++) {
        const namespace = [MAIN, PR, OTHER][below(3)] ?? MAIN;
        const name = `${below(20)}`;
        await put(node, namespace, name, below(6) === 0 ? LARGE : SMALL).catch((error) =>
          expect(error).toMatchObject(full),
        );
        await node.tenant(namespace).results.get(addressOf(`${below(20)}`, namespace));
        const { key } = addressOf(name, namespace);
        await node.labels
          .put({ namespace, label: `${below(30)}` }, key)
          .catch((error) => expect(error).toMatchObject(full));
      }
      await fleet.database.advance(below(RESULT_LEASE_TICKS));
      await expectCounted(node);
      // Each hit is whole.
      for (let name = 0; name < 20; name++)
        for (const namespace of [MAIN, PR, OTHER]) {
          const hit = await node.engine.records.get(addressOf(`${name}`, namespace));
          const missing = await node.engine.blobs.missing(hit?.references ?? []);
          expect(missing, `${namespace} ${name}`).toEqual([]);
        }
    }
    await allLeasesEnd();
    await node.engine.janitor.run();
    expect(held(node, 'acme').index).toBeLessThanOrEqual(30 * HELD * STORE.evictFrom);
    expect(held(node, 'acme/pr').index).toBeLessThanOrEqual(8 * HELD * STORE.evictFrom);
    await expectCounted(node);
  });
});
