// Action leases in PostgreSQL: the contract, several nodes, and what begins a later epoch.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { compareFences } from '../../../../core/action-lease.ts';
import { addLayers } from '../../../../store/open.ts';
import { describeActionLeases } from '../../../../test/store/contract-action-leases.ts';
import { FleetActionLeases } from '../../engine/action-leases.ts';
import { type FleetEngine, openFleetEngine } from '../../engine/engine.ts';
import { createDatabase, type TestDatabase } from './index-database.ts';
import { MemoryObjects } from './memory-objects.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.close());

const openNode = (): Promise<FleetEngine> =>
  openFleetEngine({ index: database.url, objects: new MemoryObjects(), onEvent: () => {} });

describeActionLeases({
  name: 'the fleet store',
  async open() {
    await database.clear();
    const store = addLayers(await openNode(), () => {});
    return {
      store,
      async passTime(milliseconds) {
        await database.query(`
          UPDATE assay.action_lease SET until = until - ${milliseconds}, record = jsonb_set(jsonb_set(record::jsonb,
            '{until}', to_jsonb((record::jsonb->'until')::bigint - ${milliseconds})),
            '{since}', to_jsonb((record::jsonb->'since')::bigint - ${milliseconds}))`);
      },
      dispose: () => store.close(),
    };
  },
});

test('fences grow over all nodes, and in a database that was restored from a dump they have a later epoch', async () => {
  await database.clear();
  const [one, two] = [await openNode(), await openNode()];
  const fences = [];
  for (const { leases } of [one, two, one, two]) fences.push(await leases.nextFence());
  await database.query(`UPDATE assay.action_fence SET here = 'another database'`);
  fences.push(await two.leases.nextFence(), await one.leases.nextFence());
  expect(fences.toSorted(compareFences)).toEqual(fences);
  const epochs = fences.map(({ epoch }) => epoch);
  expect(new Set(epochs.slice(0, 4)).size).toBe(1);
  expect(epochs[4]).toBeGreaterThan(epochs[3] ?? 0);
  expect(epochs[5]).toBe(epochs[4]);
  expect(one.leases).toBeInstanceOf(FleetActionLeases);
  await Promise.all([one.close(), two.close()]);
});
