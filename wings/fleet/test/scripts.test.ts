// scripts/fleet-up.sh and scripts/fleet-down.sh: what they start answers, survives, and is gone afterwards.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type FleetEnvironment, fleetDown, fleetUp } from './rig/services.ts';

it('starts PostgreSQL and S3 on loopback, again what has died, and leaves no process', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-test-'));
  onTestFinished(async () => {
    await fleetDown(folder);
    rmSync(folder, { recursive: true, force: true });
  });
  // Two callers at once get the same fleet.
  const [environment, same] = await Promise.all([fleetUp(folder), fleetUp(folder)]);
  expect(same).toEqual(environment);
  sql(environment, 'CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)');
  expect(s3(environment, ['--request', 'PUT', '--data-binary', 'x'], 'kept')).toBe('200');
  expect(processesOf(folder)).toHaveLength(4);

  for (const process of processesOf(folder)) globalThis.process.kill(process, 'SIGKILL');
  await vi.waitUntil(() => processesOf(folder).length === 0, { timeout: 90_000 });
  expect(await fleetUp(folder)).toEqual(environment);
  expect(sql(environment, 'SELECT n FROM kept')).toBe('42');
  expect(s3(environment, [], 'kept')).toBe('200');
  expect(s3(environment, [], 'absent')).toBe('404');

  await fleetDown(folder);
  expect(processesOf(folder)).toEqual([]);
  await fleetDown(folder);
});

it('says what is wrong', async () => {
  await expect(fleetUp('/proc/fleet')).rejects.toThrow('cannot create /proc/fleet');
  await expect(fleetDown('/nowhere/fleet')).rejects.toThrow('/nowhere/fleet is not a folder');
});

function sql({ ASSAY_INDEX }: FleetEnvironment, command: string): string {
  const options = ['--quiet', '--no-psqlrc', '--tuples-only', '--no-align', '--command', command];
  return execFileSync('psql', [ASSAY_INDEX, ...options], { encoding: 'utf8' }).trim();
}

/** The status of one signed request. */
function s3(environment: FleetEnvironment, options: readonly string[], key: string): string {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL } = environment;
  const signed = [
    '--header',
    'x-amz-content-sha256: UNSIGNED-PAYLOAD',
    '--aws-sigv4',
    'aws:amz:us-east-1:s3',
  ];
  const answer = ['--silent', '--output', '/dev/null', '--write-out', '%{http_code}'];
  const user = ['--user', `${AWS_ACCESS_KEY_ID}:${AWS_SECRET_ACCESS_KEY}`];
  const url = `${AWS_ENDPOINT_URL}/assay/${key}`;
  return execFileSync('curl', [...signed, ...answer, ...user, ...options, url], { encoding: 'utf8' });
}

/** The daemons that have a path of this folder as an argument. */
function processesOf(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/u.test(name))
    .filter((name) => commandLineOf(name).some((argument) => argument.startsWith(`${folder}/`)))
    .map(Number);
}

function commandLineOf(process: string): string[] {
  try {
    return readFileSync(`/proc/${process}/cmdline`, 'utf8').split('\0');
  } catch {
    return [];
  }
}
