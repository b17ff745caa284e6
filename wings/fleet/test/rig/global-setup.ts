// The global set-up of vitest for services.ts: names the folder of the shared PostgreSQL and radosgw, and
// stops and removes them after the run. It starts nothing: a run without a test of the fleet costs nothing.
// With ASSAY_TEST_FLEET=DIR set, the run uses what scripts/fleet-up.sh started there, and leaves it running: for a long
// soak in several parts.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PREFIX = 'assay-test-fleet-';
const DOWN = join(import.meta.dirname, '../../../../scripts/fleet-down.sh');

export default async function setUp(): Promise<() => Promise<void>> {
  if (process.env.ASSAY_TEST_FLEET !== undefined) return async () => {};
  await removeLeftovers();
  const folder = join(tmpdir(), `${PREFIX}${process.pid}`);
  process.env.ASSAY_TEST_FLEET = folder;
  return () => remove(folder);
}

/** A run that was killed left its fleet running. */
async function removeLeftovers(): Promise<void> {
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(PREFIX) && !existsSync(`/proc/${name.slice(PREFIX.length)}`))
      await remove(join(tmpdir(), name));
}

/** vitest ends its workers meanwhile: if this blocked its process, it would take a worker for one that does not end. */
async function remove(folder: string): Promise<void> {
  if (!existsSync(folder)) return;
  await run(DOWN, [folder]);
  await rm(folder, { recursive: true, force: true });
}
