// Two databases on one prefix never delete each other's objects, and a database deletes none unless it owns them.
// The invariants are those of wings/fleet/engine/ownership/ownership.ts.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../../../core/digest.ts';
import { AssayError } from '../../../../../core/errors.ts';
import { readFrom } from '../../../../../test/store/content.ts';
import { decode } from '../../../engine/ownership/fleet-object.ts';
import { FLEET } from '../../../limits.ts';
import { Dump } from '../../rig/dump.ts';
import { MemoryObjects } from '../memory-objects.ts';
import {
  adopt,
  alarmsOf,
  blobs,
  copyOf,
  evictAll,
  LARGE,
  newDatabase,
  putAll,
  rounds,
  type Side,
  sideOf,
} from './two-databases.ts';

/** Enough for a whole pass over the listing, which has pages of two. */
const ROUNDS = 12;

let objects: MemoryObjects;
beforeEach(() => {
  objects = new MemoryObjects();
});

const fleet = async () => sideOf(await newDatabase(), objects);
const ownerOf = () => decode(objects.fleet?.toString() ?? '');

async function expectReadable({ store }: Side, contents: readonly Buffer[]): Promise<void> {
  for (const bytes of contents) expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
}

describe('a second database on the prefix of a fleet', () => {
  test('is refused, and deletes nothing', async () => {
    const one = await fleet();
    const contents = blobs('first', 5);
    await putAll(one, contents);
    const second = await newDatabase();
    await expect(sideOf(second, objects)).rejects.toMatchObject({ code: 'ASSAY_FLEET_MISMATCH' });
    expect(objects.deleted).toEqual([]);
    // Nor does it leave anything there.
    expect(objects.kept.size).toBe(contents.length + 1);
  });

  test('is refused also if it was a fleet of its own before', async () => {
    await fleet();
    const elsewhere = await newDatabase();
    await sideOf(elsewhere, new MemoryObjects());
    await expect(sideOf(elsewhere, objects)).rejects.toMatchObject({ code: 'ASSAY_FLEET_MISMATCH' });
  });

  test('may adopt the objects, and still deletes none of the other’s, old or new (O5)', async () => {
    const one = await fleet();
    const old = blobs('old', 6);
    await putAll(one, old);
    const second = await newDatabase();
    await adopt(second, objects);
    const two = await sideOf(second, objects);
    const own = blobs('own', 3);
    await putAll(two, own);
    const fresh = blobs('written before the first knows', 3);
    await putAll(one, fresh);
    await rounds(one, objects, 1);
    const late = blobs('written when the first knows', 3);
    await putAll(one, late);
    await evictAll(one);
    for (let round = 0; round < ROUNDS; round++) {
      await rounds(one, objects, 1);
      await rounds(two, objects, 1);
    }
    expect(objects.deleted).toEqual([]);
    expect(alarmsOf(one)).toEqual([expect.stringContaining('has adopted the objects')]);
    expect(alarmsOf(two)).toEqual([]);
    await expectReadable(two, own);
    await evictAll(two);
    await rounds(two, objects, 2);
    expect(objects.deleted).toHaveLength(own.length);
  });
});

describe('a dump that was restored into another database', () => {
  test('serves and writes, deletes nothing, not even what is condemned, and alarms', async () => {
    const one = await fleet();
    const contents = blobs('shared', 4);
    await putAll(one, contents);
    const two = await sideOf(await copyOf(one.database), objects);
    expect([one.engine.ownership.isOwner, two.engine.ownership.isOwner]).toEqual([true, false]);
    await expectReadable(two, contents);
    const staged = blobs('staged', 4);
    await putAll(two, staged);
    await expectReadable(two, staged);
    await evictAll(two);
    await rounds(two, objects, ROUNDS);
    expect(objects.deleted).toEqual([]);
    // One alarm, not one a minute.
    expect(alarmsOf(two)).toEqual([expect.stringMatching(/is a copy of another one.*assay db adopt/)]);
    await expectReadable(one, contents);
    // The objects of the copy are no orphans of the first.
    await rounds(one, objects, ROUNDS);
    expect(objects.deleted).toEqual([]);
    await evictAll(one);
    await rounds(one, objects, 1);
    expect(objects.deleted).toHaveLength(contents.length);
  });

  test('that adopts deletes, and the first deletes nothing from then on; and back again', async () => {
    const one = await fleet();
    const contents = blobs('shared', 4);
    await putAll(one, contents);
    const copy = await copyOf(one.database);
    const two = await sideOf(copy, objects);
    const after = blobs('after the dump', 4);
    await putAll(one, after);
    const before = ownerOf();
    await adopt(copy, objects);
    expect(ownerOf()).toMatchObject({ fleet: before?.fleet });
    expect(ownerOf()?.epoch).not.toBe(before?.epoch);
    await evictAll(one);
    await rounds(one, objects, ROUNDS);
    await rounds(two, objects, ROUNDS);
    expect(objects.deleted).toEqual([]);
    expect(one.engine.ownership.isOwner).toBe(false);
    await expectReadable(two, contents);

    const own = blobs('own', 2);
    await putAll(two, own);
    await adopt(one.database, objects);
    await rounds(one, objects, 1);
    expect(one.events).toContainEqual({ type: 'owner' });
    // It had condemned what both knew, and what only it had written.
    expect(objects.deleted).toHaveLength(contents.length + after.length);
    objects.deleted.length = 0;
    await evictAll(two);
    await rounds(two, objects, ROUNDS);
    await rounds(one, objects, ROUNDS);
    expect(objects.deleted).toEqual([]);
  });

  test('stops a janitor in the middle of its round when it adopts (O1)', async () => {
    const one = await fleet();
    const copy = await copyOf(one.database);
    await one.database.query(
      `INSERT INTO assay.object SELECT gen_random_uuid(), 3, 0 FROM generate_series(1, ${3 * FLEET.janitorRows})`,
    );
    const remove = objects.delete.bind(objects);
    objects.delete = async (names) => {
      if (objects.deleted.length === 0) await adopt(copy, objects);
      return remove(names);
    };
    await one.database.advance(one.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
    await expect(one.engine.janitor.run()).rejects.toMatchObject({ code: 'ASSAY_FLEET_NOT_OWNER' });
    // The request that was on its way, and no other.
    expect(objects.deleted).toHaveLength(FLEET.janitorRows);
    await rounds(one, objects, 2);
    expect(objects.deleted).toHaveLength(FLEET.janitorRows);
  });
});

test('a dump that is restored under running nodes stops their deletions in the same round', async () => {
  const one = await fleet();
  const contents = blobs('kept', 4);
  await putAll(one, contents);
  const dump = await Dump.of(one.database.url);
  onTestFinished(() => dump.remove());
  await rounds(one, objects, 3);
  const later = blobs('later', 4);
  await putAll(one, later);
  await dump.restoreInto(one.database.url);
  await rounds(one, objects, ROUNDS);
  expect(objects.deleted).toEqual([]);
  expect(alarmsOf(one)).toEqual([expect.stringContaining('rounds behind the object')]);
  await expectReadable(one, contents);
  await adopt(one.database, objects);
  await rounds(one, objects, ROUNDS);
  expect(one.engine.ownership.isOwner).toBe(true);
  // What was written after the dump has the tag of the epoch before: only an operator deletes it.
  expect(objects.deleted).toEqual([]);
});

describe('a late PUT that brings the object back', () => {
  test('does not give a database the right again that has seen the new epoch (O3)', async () => {
    const one = await fleet();
    await putAll(one, blobs('condemned', 3));
    const copy = await copyOf(one.database);
    const old = objects.fleet;
    await adopt(copy, objects);
    await one.engine.janitor.run();
    objects.fleet = old;
    await evictAll(one);
    await rounds(one, objects, 3);
    expect(objects.deleted).toEqual([]);
  });

  test('is overwritten by the owner, which deletes nothing in that round (O4)', async () => {
    const one = await fleet();
    await putAll(one, blobs('shared', 3));
    const copy = await copyOf(one.database);
    const old = objects.fleet;
    await adopt(copy, objects);
    const adopted = ownerOf();
    const two = await sideOf(copy, objects);
    objects.fleet = old;
    await evictAll(two);
    await rounds(two, objects, 1);
    expect(objects.deleted).toEqual([]);
    expect(ownerOf()).toMatchObject({ epoch: adopted?.epoch });
    await rounds(two, objects, 1);
    expect(objects.deleted).toHaveLength(3);
    expect(alarmsOf(two)).toEqual([]);
  });

  test('of an earlier round changes nothing', async () => {
    const one = await fleet();
    await rounds(one, objects, 2);
    const old = objects.fleet;
    await rounds(one, objects, 20);
    objects.fleet = old;
    await putAll(one, blobs('condemned', 2));
    await evictAll(one);
    await rounds(one, objects, 1);
    expect(objects.deleted).toHaveLength(2);
  });
});

test('a PUT whose answer is lost delays the deletions to the next round', async () => {
  const one = await fleet();
  await putAll(one, blobs('condemned', 2));
  await evictAll(one);
  const put = objects.put.bind(objects);
  objects.put = async (name, content) => {
    await put(name, content);
    objects.put = put;
    throw new AssayError('ASSAY_BUCKET_AWAY', 'the answer is lost');
  };
  await one.database.advance(one.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
  await expect(one.engine.janitor.run()).rejects.toMatchObject({ code: 'ASSAY_BUCKET_AWAY' });
  expect(objects.deleted).toEqual([]);
  await expect.poll(() => one.engine.isAway().blobs).toBe(false);
  await rounds(one, objects, 1);
  expect(objects.deleted).toHaveLength(2);
  expect(alarmsOf(one)).toEqual([]);
});

test.each([
  ['is removed', () => undefined, 'has no object assay-fleet'],
  ['is damaged', (old: Buffer) => old.subarray(0, -1), 'can’t be understood'],
])('nothing is deleted while the object %s, and adopting mends it', async (_, change, alarm) => {
  const one = await fleet();
  await putAll(one, blobs('condemned', 2));
  await rounds(one, objects, 1);
  await evictAll(one);
  const old = objects.fleet ?? Buffer.alloc(0);
  objects.fleet = change(old);
  await rounds(one, objects, 3);
  expect(objects.deleted).toEqual([]);
  expect(alarmsOf(one)).toEqual([expect.stringContaining(alarm)]);
  expect(one.engine.ownership.isOwner).toBe(false);
  // A node that starts meanwhile serves, too.
  expect((await sideOf(one.database, objects)).engine.ownership.isOwner).toBe(false);
  await adopt(one.database, objects);
  await rounds(one, objects, 1);
  expect(objects.deleted).toHaveLength(2);
  expect(one.engine.ownership.isOwner).toBe(true);
});

test('nothing is deleted while the bucket can’t be read', async () => {
  const one = await fleet();
  await putAll(one, blobs('condemned', 2));
  await evictAll(one);
  const get = objects.get.bind(objects);
  objects.get = async () => {
    throw new AssayError('ASSAY_BUCKET_AWAY', 'the test says so');
  };
  await one.database.advance(one.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
  await expect(one.engine.janitor.run()).rejects.toMatchObject({ code: 'ASSAY_BUCKET_AWAY' });
  expect(objects.deleted).toEqual([]);
  expect(alarmsOf(one)).toEqual([]);
  objects.get = get;
  await expect.poll(() => one.engine.isAway().blobs).toBe(false);
  await rounds(one, objects, 1);
  expect(objects.deleted).toHaveLength(2);
});

test('a database that was renamed goes on', async () => {
  const database = await newDatabase();
  await (await sideOf(database, objects)).close();
  const other = await newDatabase();
  const name = new URL(database.url).pathname.slice(1);
  const rename = async (from: string, to: string) => {
    await other.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [from]);
    await other.query(`ALTER DATABASE ${from} RENAME TO ${to}`);
  };
  await rename(name, `${name}_renamed`);
  const renamed = await sideOf({ ...database, url: `${database.url}_renamed` }, objects);
  expect(renamed.engine.ownership.isOwner).toBe(true);
  await renamed.engine.janitor.run();
  expect(renamed.engine.ownership.isOwner).toBe(true);
  expect(alarmsOf(renamed)).toEqual([]);
});

describe('the first node of this version', () => {
  /** As an earlier version has left it. */
  async function forgetIdentity(side: Side): Promise<void> {
    await side.close();
    await side.database.query('DELETE FROM assay.fleet');
    objects.fleet = undefined;
  }

  test('gives an existing fleet its id, and of several that start at once, one does', async () => {
    const earlier = await fleet();
    const contents = blobs('kept', 3);
    await putAll(earlier, contents);
    await forgetIdentity(earlier);
    const nodes = await Promise.all([1, 2, 3].map(() => sideOf(earlier.database, objects)));
    const rows = await earlier.database.query('SELECT fleet::text, epoch::text FROM assay.fleet');
    expect(rows).toEqual([{ fleet: ownerOf()?.fleet, epoch: ownerOf()?.epoch }]);
    for (const node of nodes) {
      expect(node.engine.ownership.isOwner).toBe(true);
      await expectReadable(node, contents);
    }
    await evictAll(earlier);
    for (const node of nodes) await rounds(node, objects, 1);
    expect(objects.deleted).toHaveLength(contents.length);
  });

  test('still deletes orphans that an earlier version has left', async () => {
    const earlier = await fleet();
    await forgetIdentity(earlier);
    const orphan = crypto.randomUUID();
    objects.kept.set(orphan, Buffer.alloc(1));
    const now = await sideOf(earlier.database, objects);
    await rounds(now, objects, 4);
    expect(objects.deleted).toEqual([orphan]);
  });

  test('goes on where one has died between the row and the object', async () => {
    const one = await fleet();
    await one.close();
    objects.fleet = undefined;
    const two = await sideOf(one.database, objects);
    expect(two.engine.ownership.isOwner).toBe(true);
  });

  test('waits until the bucket can be read', async () => {
    objects.isAway = true;
    const one = await fleet();
    expect(one.engine.ownership.isOwner).toBe(undefined);
    expect(await one.database.query('SELECT FROM assay.fleet')).toEqual([]);
    objects.isAway = false;
    await expect.poll(() => one.engine.ownership.isOwner).toBe(true);
  });

  test.each([
    ['objects that no row knows', true, false],
    ['rows of objects, and a prefix without them', false, true],
  ])('refuses %s', async (_, hasObjects, hasRows) => {
    const database = await newDatabase();
    if (hasObjects) objects.kept.set(crypto.randomUUID(), Buffer.alloc(LARGE));
    if (hasRows) await database.query('INSERT INTO assay.canary (name) VALUES (gen_random_uuid())');
    await expect(sideOf(database, objects)).rejects.toMatchObject({ code: 'ASSAY_FLEET_MISMATCH' });
    expect(objects.fleet).toBe(undefined);
    expect(await database.query('SELECT FROM assay.fleet')).toEqual([]);
  });
});
