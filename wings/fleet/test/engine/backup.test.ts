// Backup and restore of both halves, by pg_dump and a copy of the bucket, on a real PostgreSQL and a real radosgw.
import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { contentOf, putOne, readFrom } from '../../../../test/store/content.ts';
import { migrate } from '../../engine/index/schema.ts';
import { openS3Objects } from '../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../engine/s3/settings.ts';
import { type FleetStore, openFleetStore } from '../../open-fleet.ts';
import { type FleetEnvironment, freshFleet } from '../rig/services.ts';

const MIB = 1024 * 1024;
const tool = (name: string) => globSync(`/usr/lib/postgresql/*/bin/${name}`).at(-1) ?? name;

async function open(environment: FleetEnvironment): Promise<FleetStore> {
  const { ASSAY_INDEX: index, ASSAY_BLOBS: blobs } = environment;
  const store = await openFleetStore({ index, blobs, environment: { ...environment }, onEvent: () => {} });
  onTestFinished(() => store.close());
  return store;
}

function dump({ ASSAY_INDEX }: FleetEnvironment): string {
  const folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'index.dump');
  execFileSync(tool('pg_dump'), ['--format=custom', '--schema=assay', '--file', file, ASSAY_INDEX]);
  return file;
}

async function copyBucket(from: FleetEnvironment, to: FleetEnvironment): Promise<void> {
  const [source, target] = await Promise.all(
    [from, to].map((one) => openS3Objects(readS3Settings(one.ASSAY_BLOBS, { ...one }))),
  );
  for (const { name, size } of (await source?.list(undefined))?.objects ?? []) {
    const bytes = await source?.probe(name, size);
    if (bytes) await target?.put(name, bytes, size);
  }
  await Promise.all([source?.close(), target?.close()]);
}

function restore(file: string, { ASSAY_INDEX }: FleetEnvironment): void {
  execFileSync(tool('pg_restore'), ['--dbname', ASSAY_INDEX, '--exit-on-error', file]);
}

it('the dump first, then the copy: all that the dump names is there; the other way round, what came between is lost', async () => {
  const [live, good, bad] = await Promise.all([freshFleet(), freshFleet(), freshFleet()]);
  await migrate(live.ASSAY_INDEX);
  const store = await open(live);
  const [before, between, after] = [
    contentOf('1', 2 * MIB),
    contentOf('2', 2 * MIB),
    contentOf('3', 2 * MIB),
  ];
  const small = contentOf('small', 100);
  const first = await putOne(store, before);
  const inRow = await putOne(store, small);
  await copyBucket(live, bad);
  const second = await putOne(store, between);
  const file = dump(live);
  const third = await putOne(store, after);
  await copyBucket(live, good);

  restore(file, good);
  const restored = await open(good);
  for (const [digest, bytes] of [
    [first, before],
    [second, between],
    [inRow, small],
  ] as const)
    expect((await readFrom(restored, digest))?.equals(bytes)).toBe(true);
  expect(await restored.blobs.missing([third])).toEqual([third]);

  restore(file, bad);
  const lossy = await open(bad);
  expect((await readFrom(lossy, first))?.equals(before)).toBe(true);
  await expect(readFrom(lossy, second)).rejects.toThrow('ASSAY_NOT_FOUND');
  // Sent again, it is there again.
  await putOne(lossy, between);
  expect((await readFrom(lossy, second))?.equals(between)).toBe(true);
});
