// Copies of a whole PostgreSQL, which have the same system identifier: a standby that is promoted goes on, and of two copies
// that are both in use, one stops.
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../../../core/digest.ts';
import { readFrom } from '../../../../../test/store/content.ts';
import { OwnPostgres } from '../../rig/own-postgres.ts';
import { createDatabase, type TestDatabase } from '../index-database.ts';
import { MemoryObjects } from '../memory-objects.ts';
import { alarmsOf, blobs, evictAll, putAll, rounds, sideOf } from './two-databases.ts';

const MINUTE = 60_000;
const ROUNDS = 5;

async function databaseOf(url: string): Promise<TestDatabase> {
  const database = await createDatabase(undefined, url);
  onTestFinished(() => database.close());
  return database;
}

/** Both are primaries afterwards. */
async function primaryAndCopy() {
  const primary = await OwnPostgres.start();
  onTestFinished(() => primary.stop());
  const objects = new MemoryObjects();
  const one = await sideOf(await databaseOf(primary.url), objects);
  await rounds(one, objects, 2);
  const shared = blobs('shared', 4);
  await putAll(one, shared);
  const copied = await OwnPostgres.startStandby(primary, primary.port);
  onTestFinished(() => copied.stop());
  const promote = async () => {
    await copied.promote();
    return sideOf(await databaseOf(copied.url), objects);
  };
  return { primary, objects, one, shared, promote };
}

test('a standby that is promoted goes on, also without the last round (O6)', {
  timeout: 3 * MINUTE,
}, async () => {
  const { primary, objects, one, shared, promote } = await primaryAndCopy();
  await primary.crash();
  const two = await promote();
  expect(two.engine.ownership.isOwner).toBe(true);
  await evictAll(two);
  await rounds(two, objects, 2);
  expect(new Set(objects.deleted).size).toBe(shared.length);
  expect([alarmsOf(one), alarmsOf(two)]).toEqual([[], []]);
});

test('of two copies that both go on, one deletes nothing from the third round on', {
  timeout: 3 * MINUTE,
}, async () => {
  const { objects, one, shared, promote } = await primaryAndCopy();
  const two = await promote();
  const own = blobs('of the first', 3);
  await putAll(one, own);
  for (let round = 0; round < 2; round++) {
    await rounds(one, objects, 1);
    await rounds(two, objects, 1);
  }
  expect([one.engine.ownership.isOwner, two.engine.ownership.isOwner]).toEqual([true, false]);
  expect(alarmsOf(two)).toEqual([expect.stringContaining('another copy of this database is in use')]);
  await evictAll(two);
  await putAll(two, blobs('of the second', 3));
  for (let round = 0; round < ROUNDS; round++) {
    await rounds(two, objects, 1);
    await rounds(one, objects, 1);
  }
  expect(objects.deleted).toEqual([]);
  for (const bytes of [...shared, ...own])
    expect((await readFrom(one.store, digestOf(bytes)))?.equals(bytes)).toBe(true);
});
