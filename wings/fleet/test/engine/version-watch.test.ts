// The version of the tables while a node runs: one that no longer fits them stops, says why, and does not crash.
import { expect, it } from 'vitest';
import { contentOf, putOne } from '../../../../test/store/content.ts';
import { SCHEMA_VERSION } from '../../engine/index/schema.ts';
import { TestFleet } from './nodes.ts';

const fleet = new TestFleet();

it('assay db migrate leaves the tables to nodes of version 3, which run until they are replaced', async () => {
  const [row] = await fleet.database.query('SELECT max(oldest_reader) AS oldest FROM assay.version');
  expect(row).toEqual({ oldest: 3 });
});

it('a node that finds tables for later versions takes no more requests, and works when they fit again', async () => {
  const node = await fleet.node({ versionMs: 20 });
  await putOne(node, contentOf('before', 100));
  const newer = SCHEMA_VERSION + 1;
  await fleet.database.query('INSERT INTO assay.version VALUES ($1, $2)', [newer, SCHEMA_VERSION]);
  await new Promise((resolve) => setTimeout(resolve, 100));
  await putOne(node, contentOf('a version that still fits', 100));

  await fleet.database.query('UPDATE assay.version SET oldest_reader = $1 WHERE version = $1', [newer]);
  await expect
    .poll(() => putOne(node, contentOf('after', 100)).catch(String), { timeout: 20_000 })
    .toContain('its tables do not fit');
  expect((await node.engine.parts()).index).toBe('the tables in PostgreSQL have another version');

  await fleet.database.query('DELETE FROM assay.version WHERE version = $1', [newer]);
  await expect
    .poll(() => putOne(node, contentOf('again', 100)).then(() => 'stored', String), { timeout: 20_000 })
    .toBe('stored');
});
