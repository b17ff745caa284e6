// Orphans are deleted, but not if they are so many that rows must have been lost: then an operator decides.
import { beforeEach, describe, expect, test } from 'vitest';
import { Adoption } from '../../../engine/ownership/adoption.ts';
import { isOwnName, newName, UUID } from '../../../engine/ownership/object-names.ts';
import { FLEET } from '../../../limits.ts';
import { MemoryObjects } from '../memory-objects.ts';
import { newDatabase, rounds, type Side, sideOf } from './two-databases.ts';

let objects: MemoryObjects;
beforeEach(() => {
  objects = new MemoryObjects();
  // Pages as those of S3.
  objects.pageSize = 1000;
});

/** Objects without a row, as the nodes of this side would name them. */
async function addOrphans({ database }: Side, count: number): Promise<string[]> {
  const [row] = await database.query('SELECT epoch::text FROM assay.fleet');
  const names = Array.from({ length: count }, () => newName(String(row?.epoch)));
  for (const name of names) objects.kept.set(name, Buffer.alloc(1));
  return names;
}

/** Objects with a row. */
async function addNamed({ database }: Side, count: number): Promise<void> {
  const rows = await database.query(
    'INSERT INTO assay.object SELECT gen_random_uuid(), 2, 1 FROM generate_series(1, $1::int) RETURNING name::text',
    [count],
  );
  for (const { name } of rows) objects.kept.set(String(name), Buffer.alloc(1));
}

const tooMany = ({ events }: Side) => events.filter(({ type }) => type === 'too-many-orphans');

describe('a pass over the bucket', () => {
  test('deletes 1,000 orphans, whatever their share', async () => {
    const one = await sideOf(await newDatabase(), objects);
    const orphans = await addOrphans(one, FLEET.maxOrphans);
    await rounds(one, objects, 3);
    expect(new Set(objects.deleted)).toEqual(new Set(orphans));
    expect(tooMany(one)).toEqual([]);
  });

  test('deletes more than 1,000 if they are at most a tenth', async () => {
    const one = await sideOf(await newDatabase(), objects);
    await addNamed(one, 9 * (FLEET.maxOrphans + 50));
    const orphans = await addOrphans(one, FLEET.maxOrphans + 50);
    await rounds(one, objects, 13);
    expect(new Set(objects.deleted)).toEqual(new Set(orphans));
    expect(tooMany(one)).toEqual([]);
  });

  test('deletes none of more than 1,000 and more than a tenth, and alarms, until an operator decides', async () => {
    const one = await sideOf(await newDatabase(), objects);
    const orphans = await addOrphans(one, FLEET.maxOrphans + 1);
    const [named] = await addOrphans(one, 1);
    await one.database.query('INSERT INTO assay.object VALUES ($1, 2, 1)', [named]);
    // Another node goes on where the first one has stopped.
    await rounds(one, objects, 1);
    await one.close();
    const two = await sideOf(one.database, objects);
    await rounds(two, objects, 5);
    expect(objects.deleted).toEqual([]);
    expect(tooMany(two)[0]).toMatchObject({ orphans: FLEET.maxOrphans + 1 });
    // The row of a node that starts now has it, too.
    const three = await sideOf(two.database, objects);
    expect(three.engine.ownership.waitingOrphans).toBe(FLEET.maxOrphans + 1);

    const { adoption, database } = await Adoption.open(two.database.url, objects);
    expect(await adoption.countOrphans()).toEqual({
      listed: FLEET.maxOrphans + 3,
      orphans: FLEET.maxOrphans + 1,
    });
    expect(objects.deleted).toEqual([]);
    expect(await adoption.condemnOrphans()).toMatchObject({ orphans: FLEET.maxOrphans + 1 });
    await database.close();
    await rounds(two, objects, 2);
    expect(new Set(objects.deleted)).toEqual(new Set(orphans));
    expect(objects.deleted).toHaveLength(orphans.length);
  });

  test('takes no object that has another epoch, or none, for an orphan', async () => {
    const one = await sideOf(await newDatabase(), objects);
    for (const name of [newName(undefined), newName(crypto.randomUUID())])
      objects.kept.set(name, Buffer.alloc(1));
    const [own] = await addOrphans(one, 1);
    await rounds(one, objects, 3);
    expect(objects.deleted).toEqual([own]);
  });
});

test('a name says which epoch wrote it, and is random in all other digits', () => {
  const epoch = crypto.randomUUID();
  const names = Array.from({ length: 1000 }, () => newName(epoch));
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(names.map((name) => name.slice(0, 8))).size).toBeGreaterThan(990);
  const row = {
    fleet: epoch,
    epoch,
    rounds: 0,
    marks: [],
    database: '1/2',
    superseded: [],
    alarm: null,
    isFinal: false,
    orphans: null,
  };
  for (const name of names) {
    expect(name).toMatch(UUID);
    expect(isOwnName(name, row)).toBe(true);
    expect(isOwnName(name, { ...row, epoch: crypto.randomUUID() })).toBe(false);
  }
  const early = crypto.randomUUID();
  expect(isOwnName(early, row)).toBe(true);
  expect(isOwnName(early, { ...row, superseded: [crypto.randomUUID()] })).toBe(false);
  expect(isOwnName('assay-fleet', row)).toBe(false);
});
