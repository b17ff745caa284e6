// PostgreSQL and radosgw for the tests: one pair for a whole run of vitest, started by the first test that asks.
// Each test takes a database and a prefix of its own. wings/fleet/test/rig/global-setup.ts stops the pair after the run.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const SCRIPTS = join(import.meta.dirname, '../../../../scripts');

/** What scripts/fleet-up.sh prints, by the names that `assay serve` reads. */
export interface FleetEnvironment {
  readonly ASSAY_INDEX: string;
  readonly ASSAY_BLOBS: string;
  readonly AWS_ENDPOINT_URL: string;
  readonly AWS_ACCESS_KEY_ID: string;
  readonly AWS_SECRET_ACCESS_KEY: string;
  readonly AWS_REGION: string;
}

/** Starts what does not run in that folder. */
export async function fleetUp(folder: string): Promise<FleetEnvironment> {
  const { stdout } = await run(join(SCRIPTS, 'fleet-up.sh'), [folder]);
  const values = new Map<string, string>();
  for (const [, name = '', value = ''] of stdout.matchAll(/^export (\w+)=(.*)$/gmu)) values.set(name, value);
  const variable = (name: keyof FleetEnvironment): string => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`fleet-up.sh printed no ${name}`);
    return value;
  };
  return {
    ASSAY_INDEX: variable('ASSAY_INDEX'),
    ASSAY_BLOBS: variable('ASSAY_BLOBS'),
    AWS_ENDPOINT_URL: variable('AWS_ENDPOINT_URL'),
    AWS_ACCESS_KEY_ID: variable('AWS_ACCESS_KEY_ID'),
    AWS_SECRET_ACCESS_KEY: variable('AWS_SECRET_ACCESS_KEY'),
    AWS_REGION: variable('AWS_REGION'),
  };
}

export async function fleetDown(folder: string): Promise<void> {
  await run(join(SCRIPTS, 'fleet-down.sh'), [folder]);
}

/** An empty database and an empty prefix on the shared PostgreSQL and radosgw. */
export async function freshFleet(): Promise<FleetEnvironment> {
  const folder = process.env.ASSAY_TEST_FLEET;
  if (folder === undefined)
    throw new Error('ASSAY_TEST_FLEET is set by wings/fleet/test/rig/global-setup.ts: start vitest');
  const shared = await fleetUp(folder);
  const name = `test_${randomBytes(8).toString('hex')}`;
  await run('psql', [shared.ASSAY_INDEX, '--quiet', '--no-psqlrc', '--command', `CREATE DATABASE ${name}`]);
  const index = new URL(shared.ASSAY_INDEX);
  index.pathname = `/${name}`;
  return { ...shared, ASSAY_INDEX: index.href, ASSAY_BLOBS: `s3://assay/${name}` };
}
