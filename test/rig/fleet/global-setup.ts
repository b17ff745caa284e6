// The global set-up of vitest for services.ts: names the folder of the shared PostgreSQL and radosgw, and
// stops and removes them after the run. It starts nothing: a run without a test of the fleet costs nothing.
// With ASSAY_TEST_FLEET=DIR set, the run uses what scripts/fleet-up.sh started there, and leaves it running: for a long
// soak in several parts.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'assay-test-fleet-';
const DOWN = join(import.meta.dirname, '../../../scripts/fleet-down.sh');

export default function setUp(): () => void {
  if (process.env.ASSAY_TEST_FLEET !== undefined) return () => {};
  removeLeftovers();
  const folder = join(tmpdir(), `${PREFIX}${process.pid}`);
  process.env.ASSAY_TEST_FLEET = folder;
  return () => remove(folder);
}

/** A run that was killed left its fleet running. */
function removeLeftovers(): void {
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(PREFIX) && !existsSync(`/proc/${name.slice(PREFIX.length)}`))
      remove(join(tmpdir(), name));
}

function remove(folder: string): void {
  if (!existsSync(folder)) return;
  execFileSync(DOWN, [folder], { stdio: 'inherit' });
  rmSync(folder, { recursive: true, force: true });
}
