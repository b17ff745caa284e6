// Two databases on one prefix of a real bucket: all that the first has written stays, whoever owns it.
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../../../core/digest.ts';
import { readFrom } from '../../../../../test/store/content.ts';
import type { Objects } from '../../../engine/objects.ts';
import { openS3Objects } from '../../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../../engine/s3/settings.ts';
import { FLEET } from '../../../limits.ts';
import { adopt, alarmsOf, blobs, evictAll, newDatabase, putAll, type Side, sideOf } from './two-databases.ts';

test('two databases on one prefix never delete each other’s objects', async () => {
  const database = await newDatabase();
  const settings = readS3Settings(database.environment.ASSAY_BLOBS, { ...database.environment });
  const open = async (): Promise<Objects> => {
    const objects = await openS3Objects(settings);
    onTestFinished(() => objects.close());
    const list = objects.list.bind(objects);
    // As if all of them were two days old.
    objects.list = async (after) => {
      const page = await list(after);
      const old = page.objects.map((object) => ({ ...object, ageMs: object.ageMs + 2 * FLEET.orphanMs }));
      return { ...page, objects: old };
    };
    return objects;
  };
  const direct = await open();
  const names = async () => (await direct.list(undefined)).objects.map(({ name }) => name);
  const round = async (side: Side) => {
    await side.database.advance(side.engine.clock.ticksFor(FLEET.condemnedMs) + 1);
    await side.engine.janitor.run();
  };

  const one = await sideOf(database, await open());
  const first = blobs('first', 20);
  await putAll(one, first);
  const second = await newDatabase();
  await expect(sideOf(second, await open())).rejects.toMatchObject({ code: 'ASSAY_FLEET_MISMATCH' });
  await adopt(second, direct);
  const two = await sideOf(second, await open());
  const own = await putAll(two, blobs('second', 5));
  const before = await names();
  await evictAll(one);
  for (let number = 0; number < 3; number++) for (const side of [one, two]) await round(side);
  expect(await names()).toEqual(before);
  expect([one.engine.ownership.isOwner, two.engine.ownership.isOwner]).toEqual([false, true]);

  await evictAll(two);
  for (let number = 0; number < 3; number++) for (const side of [one, two]) await round(side);
  expect(await names()).toEqual(before.filter((name) => !own.includes(name)));
  expect(alarmsOf(two)).toEqual([]);

  // Back to the first: it goes on with what it has condemned.
  await adopt(database, direct);
  const again = blobs('again', 2);
  await putAll(one, again);
  for (let number = 0; number < 2; number++) for (const side of [one, two]) await round(side);
  for (const bytes of again) expect((await readFrom(one.store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  expect(alarmsOf(two)).toHaveLength(1);
});
