// Servers of a fleet as processes, on a real PostgreSQL and a real bucket: what one stores, the others serve.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { baseEnvironment, FORMS, runProcess } from '../../rig/assay.ts';
import { freshFleet } from '../../rig/fleet/services.ts';
import { contentOf } from '../../store/content.ts';
import { ask, pathOf } from '../rig.ts';
import { folder, Serve } from './serve-process.ts';

const MIB = 1024 * 1024;

const migrate = (env: Readonly<Record<string, string>>) =>
  runProcess([...FORMS.source, 'db', 'migrate'], { cwd: tmpdir(), env: { ...baseEnvironment(), ...env } });

test('a server starts after `assay db migrate`, says which part is away, and serves what another one stored', async () => {
  const env = { ...(await freshFleet()) };
  const early = new Serve(['--port', '0'], env);
  expect(await early.ended()).toBe(2);
  expect(early.stderr).toContain('ASSAY_INDEX_VERSION');

  expect(await migrate(env)).toMatchObject({
    code: 0,
    stdout: 'The tables have version 1 now (before: 0).\n',
  });
  expect(await migrate(env)).toMatchObject({ code: 0, stdout: 'The tables have version 1 already.\n' });

  const one = new Serve(['--port', '0', '--tier', join(folder(), 'tier'), '--tier-size', '1GB'], env);
  const two = new Serve(['--port', '0'], env);
  const [first, second] = [await one.url(), await two.url()];
  expect(one.stdout).toContain(env.ASSAY_BLOBS);
  expect(one.stdout).not.toContain(new URL(env.ASSAY_INDEX).password);
  for (const url of [first, second])
    expect(JSON.parse((await ask(`${url}/readyz`)).body.toString())).toEqual({
      status: 'ok',
      parts: { index: 'ok', blobs: 'ok' },
    });

  for (const size of [1000, 3 * MIB]) {
    const bytes = contentOf('shared', size);
    expect(await ask(first + pathOf(digestOf(bytes)), 'PUT', { body: bytes })).toMatchObject({ status: 200 });
    for (const url of [second, first, first])
      expect((await ask(url + pathOf(digestOf(bytes)))).body.equals(bytes)).toBe(true);
  }
  const metrics = async () => (await ask(`${first}/metrics`)).body.toString();
  const large = first + pathOf(digestOf(contentOf('shared', 3 * MIB)));
  // The copy in the tier is complete some time after the first read.
  await expect
    .poll(async () => ((await ask(large)).status === 200 ? metrics() : ''), { timeout: 30_000 })
    .toMatch(/assay_tier_reads_total\{outcome="hit"\} [1-9]/);
  const page = await metrics();
  expect(page).toMatch(/assay_tier_reads_total\{outcome="miss"\} [1-9]/);
  expect(page).toContain('assay_part_away{part="index"} 0\n');
  expect(page).toMatch(/assay_index_duration_seconds_count\{statement="blob"\} [1-9]/);
  expect(page).toMatch(/assay_bucket_duration_seconds_count\{request="PUT"\} [1-9]/);
  one.child.kill('SIGKILL');
  await one.ended();
  expect((await ask(second + pathOf(digestOf(contentOf('shared', 3 * MIB))))).status).toBe(200);
  two.child.kill('SIGTERM');
  expect(await two.ended()).toBe(0);
});

test('a server whose bucket is away is alive and not ready', async () => {
  const env = { ...(await freshFleet()) };
  await migrate(env);
  const first = new Serve(['--port', '0'], env);
  await first.url();
  const alone = new Serve(['--port', '0'], { ...env, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' });
  const url = await alone.url();
  expect((await ask(`${url}/healthz`)).status).toBe(200);
  const ready = await ask(`${url}/readyz`);
  expect(ready.status).toBe(503);
  expect(JSON.parse(ready.body.toString())).toEqual({
    status: 'fault',
    reason: 'the bucket can’t be read',
    parts: { index: 'ok', blobs: 'the bucket can’t be read' },
  });
});

test.each([
  [['--index', 'postgres://x/y'], 'a fleet needs both'],
  [['--tier', '/tmp/x'], '--tier and --tier-size need --index and --blobs'],
  [['--index', 'mysql://x', '--blobs', 's3://b/p'], '--index takes postgres://'],
  [['--index', 'postgres://x/y', '--blobs', 's3://b/p', '--store', '/tmp/x'], 'not both'],
  [['--index', 'postgres://x/y', '--blobs', 's3://b/p', '--max-size', '50%'], 'a number of bytes'],
])('%j is refused', async (args, why) => {
  const serve = new Serve(['--port', '0', ...args]);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain(why);
});
