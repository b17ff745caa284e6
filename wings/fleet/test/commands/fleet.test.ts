// Servers of a fleet as processes, on a real PostgreSQL and a real bucket: what one stores, the others serve.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { openDiskStore } from '../../../../store/open.ts';
import { baseEnvironment, FORMS, runProcess } from '../../../../test/rig/assay.ts';
import { OidcIssuer } from '../../../../test/rig/oidc/issuer.ts';
import { folder, INSTALLED, Serve } from '../../../../test/server/commands/serve-process.ts';
import { ask, pathOf } from '../../../../test/server/rig.ts';
import { addressOf, contentOf, putOne, readFrom, resultNaming } from '../../../../test/store/content.ts';
import { migrateCommand, verifyFleetCommand } from '../../commands/store.ts';
import { SCHEMA_VERSION } from '../../engine/index/schema.ts';
import { S3Proxy } from '../rig/s3-proxy.ts';
import { freshFleet } from '../rig/services.ts';
import { TcpProxy } from '../rig/tcp-proxy.ts';

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
    stdout: `The tables have version ${SCHEMA_VERSION} now (before: 0).\n`,
  });
  expect(await migrate(env)).toMatchObject({
    code: 0,
    stdout: `The tables have version ${SCHEMA_VERSION} already.\n`,
  });

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
    .poll(async () => ((await ask(large)).status === 200 ? metrics() : ''))
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

test('a server of a fleet keeps shares: it refuses what is above a quota, and shows all', async () => {
  const env = { ...(await freshFleet()), ASSAY_TOKEN: 'whole-server' };
  expect((await migrate(env)).code).toBe(0);
  const limits = ['--max-size', '1GB', '--max-index-size', '100MB'];
  const tokens = join(folder(), 'tokens.json');
  writeFileSync(tokens, '{"tokens": []}', { mode: 0o600 });
  const refused = new Serve(['--port', '0', ...limits, '--floor', 'acme/main=95%'], env);
  expect(await refused.ended()).toBe(2);
  expect(refused.stderr).toContain('90 % of --max-size');

  const server = new Serve(
    ['--port', '0', '--tokens', tokens, ...limits, '--quota', 'acme/pr=1MiB', '--floor', 'acme/main=50%'],
    env,
  );
  const url = await server.url();
  const bytes = contentOf('too large for the quota', 2 * MIB);
  const put = async (namespace: string) => {
    const named = ['--namespace', namespace, '--tokens', tokens];
    const { stdout } = await runProcess([...FORMS.source, 'token', 'create', 'ci', ...named], {
      cwd: tmpdir(),
      env: baseEnvironment(),
    });
    const authorization = `Bearer ${stdout.trim()}`;
    const send = () => ask(url + pathOf(digestOf(bytes)), 'PUT', { body: bytes, headers: { authorization } });
    // The server reads the file again within seconds.
    await expect.poll(async () => (await send()).status, { timeout: 60_000 }).not.toBe(401);
    return (await send()).status;
  };
  expect(await put('acme/pr')).toBe(507);
  expect(await put('acme/main')).toBe(200);
  const headers = { authorization: 'Bearer whole-server' };
  const page = (await ask(`${url}/metrics`, 'GET', { headers })).body.toString();
  expect(page).toContain('assay_account_quota_bytes{account="acme/pr in the bucket"} 1048576\n');
  expect(page).toContain('assay_account_floor_bytes{account="acme/main in PostgreSQL"} 50000000\n');
  server.child.kill('SIGTERM');
  expect(await server.ended()).toBe(0);
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
  [
    { AWS_SECRET_ACCESS_KEY: 'HIDDEN' },
    'SignatureDoesNotMatch: the secret key does not belong to the access key',
  ],
  [{ ASSAY_BLOBS: 's3://absent/x' }, 'NoSuchBucket: there is no bucket absent at 127.0.0.1'],
  [
    { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SHARED_CREDENTIALS_FILE: '/nowhere/keys' },
    '/nowhere/keys can’t be read: ENOENT',
  ],
])('a server with a wrong set-up does not start, and says why: %j', async (changed, why) => {
  const env = { ...(await freshFleet()), ...changed };
  await migrate(env);
  const serve = new Serve(['--port', '0'], env);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain(why);
  expect(serve.stderr).not.toContain('HIDDEN');
});

test('a server starts while PostgreSQL is away, serves its tier, and works when PostgreSQL is back', async () => {
  const env = { ...(await freshFleet()) };
  await migrate(env);
  const index = new URL(env.ASSAY_INDEX);
  const proxy = await TcpProxy.start(index.hostname, Number(index.port));
  onTestFinished(() => proxy.stop());
  index.port = String(proxy.port);
  const flags = ['--port', '0', '--tier', join(folder(), 'tier'), '--tier-size', '1GB'];
  const start = () => new Serve(flags, { ...env, ASSAY_INDEX: index.href });
  const bytes = contentOf('kept', 2 * MIB);
  const path = pathOf(digestOf(bytes));

  const first = start();
  const url = await first.url();
  expect((await ask(url + path, 'PUT', { body: bytes })).status).toBe(200);
  expect((await ask(url + path)).body.equals(bytes)).toBe(true);
  proxy.link = 'away';
  // The copy in the tier is complete a moment after the first read.
  await expect.poll(async () => (await ask(url + path)).status, { timeout: 60_000 }).toBe(200);
  first.child.kill('SIGTERM');
  expect(await first.ended()).toBe(0);

  const second = await start().url();
  expect((await ask(`${second}/healthz`)).status).toBe(200);
  const ready = await ask(`${second}/readyz`);
  expect(ready.status).toBe(503);
  expect(JSON.parse(ready.body.toString())).toMatchObject({ reason: 'PostgreSQL can’t be reached' });
  expect((await ask(second + path)).body.equals(bytes)).toBe(true);
  const small = contentOf('small', 100);
  const put = async () => (await ask(second + pathOf(digestOf(small)), 'PUT', { body: small })).status;
  expect(await put()).toBe(503);
  proxy.link = 'open';
  await expect.poll(put, { timeout: 60_000 }).toBe(200);
  await expect.poll(async () => (await ask(`${second}/readyz`)).status, { timeout: 60_000 }).toBe(200);
});

test('a login at one server is a login at all, and so is its end, also for a copy of the cookie', async () => {
  const env = { ...(await freshFleet()), ASSAY_TOKEN: 'the-token' };
  await migrate(env);
  const servers = [new Serve(['--port', '0'], env), new Serve(['--port', '0'], env)];
  const [first = '', second = ''] = await Promise.all(servers.map((server) => server.url()));
  const html = { accept: 'text/html' };
  const login = await ask(`${first}/login`, 'POST', {
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' },
    body: Buffer.from('token=the-token&next=/runs'),
  });
  const cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
  for (const url of [first, second])
    expect((await ask(`${url}/runs`, 'GET', { headers: { ...html, cookie } })).body.toString()).toContain(
      'Log out',
    );
  const logout = await ask(`${second}/logout`, 'POST', { headers: { ...html, cookie } });
  expect(logout.status).toBe(303);
  for (const url of [first, second])
    expect((await ask(`${url}/runs`, 'GET', { headers: { ...html, cookie } })).status).not.toBe(200);
});

test('a CI token that was exchanged at one server is refused at the others, at once and after a restart', async () => {
  const env = { ...(await freshFleet()), ASSAY_TOKEN: 'the-token' };
  await migrate(env);
  const issuer = await OidcIssuer.start();
  const audience = 'https://cache.example';
  const repositories = [{ id: 74, owner: 65, namespace: 'acme/app' }];
  const config = join(folder(), 'server.json');
  writeFileSync(
    config,
    JSON.stringify({ issuers: [{ issuer: issuer.url, kind: 'github', audience, repositories }] }),
  );
  const start = () => new Serve(['--port', '0', '--config', config], env);
  const urls = await Promise.all([start(), start(), start()].map((server) => server.url()));
  const claims = {
    aud: audience,
    repository: 'acme/app',
    repository_id: '74',
    repository_owner_id: '65',
    ref: 'refs/heads/main',
    event_name: 'push',
    run_id: '900',
  };
  const type = 'urn:ietf:params:oauth:';
  const exchange = async (url: string, token: string) =>
    (
      await ask(`${url}/auth/token`, 'POST', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: Buffer.from(
          `grant_type=${type}grant-type:token-exchange&subject_token=${token}&subject_token_type=${type}token-type:jwt`,
        ),
      })
    ).status;
  const token = await issuer.sign({ claims });
  const statuses = await Promise.all([...urls, ...urls].map((url) => exchange(url, token)));
  expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  for (const url of [...urls, await start().url()]) expect(await exchange(url, token)).not.toBe(200);
  expect(await exchange(urls[1] ?? '', await issuer.sign({ claims: { ...claims, run_id: '901' } }))).toBe(
    200,
  );
});

test('no secret is in an answer, in /metrics or in the log at its most talkative, whatever fails', async () => {
  const fleet = await freshFleet();
  await migrate({ ...fleet });
  const index = new URL(fleet.ASSAY_INDEX);
  const postgres = await TcpProxy.start(index.hostname, Number(index.port));
  const s3 = await S3Proxy.start(fleet.AWS_ENDPOINT_URL);
  onTestFinished(() => Promise.all([postgres.stop(), s3.stop()]).then(() => {}));
  index.port = String(postgres.port);
  const env = {
    ...fleet,
    ASSAY_INDEX: index.href,
    AWS_ENDPOINT_URL: s3.url,
    ASSAY_TOKEN: 'token-of-all-rights',
  };
  const serve = new Serve(['--port', '0', '--log-level', 'debug'], env);
  const url = await serve.url();
  const headers = { authorization: `Bearer ${env.ASSAY_TOKEN}` };
  const said: string[] = [];
  const put = async () => {
    const bytes = contentOf(crypto.randomUUID(), 1 * MIB);
    for (const [method, path] of [
      ['PUT', pathOf(digestOf(bytes))],
      ['GET', '/metrics'],
      ['GET', '/readyz'],
    ] as const) {
      const answer = await ask(url + path, method, method === 'PUT' ? { headers, body: bytes } : { headers });
      said.push(JSON.stringify(answer.headers), answer.body.toString());
    }
  };
  await put();
  for (const fault of ['expired', 'unavailable', 'cut', 'missing'] as const) {
    s3.fault = () => fault;
    await put();
  }
  postgres.link = 'away';
  await put();
  const all = [...said, serve.stdout, serve.stderr].join('\n');
  expect(all).toContain('ASSAY_BUCKET_AWAY');
  for (const secret of [index.password, env.AWS_SECRET_ACCESS_KEY, env.ASSAY_TOKEN])
    expect(all.includes(secret)).toBe(false);
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

test('`assay store migrate` goes on after a SIGKILL, `assay store verify` finds everything whole, and the way back works', async () => {
  const env = { ...(await freshFleet()) };
  await migrate(env);
  const [source, target] = [folder(), folder()];
  const contents = Array.from({ length: 1200 }, (_, at) => contentOf(`blob ${at}`, 100));
  contents.push(contentOf('large', 3 * MIB));
  const digests = contents.map(digestOf);
  const address = addressOf('result');
  const filled = await openDiskStore({ directory: source });
  await Promise.all(contents.map((bytes) => putOne(filled, bytes)));
  await filled.results.put(address, resultNaming(...digests));
  await filled.close();

  const store = (...args: readonly string[]) =>
    runProcess([...INSTALLED, 'store', ...args, '--json'], {
      cwd: tmpdir(),
      env: { ...baseEnvironment(), ...env },
    });
  const there = ['migrate', '--from', source, '--to', 'fleet'];
  const [program, ...before] = INSTALLED;
  const killed = spawn(program, [...before, 'store', ...there, '--json'], {
    env: { ...baseEnvironment(), ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onTestFinished(() => void killed.kill('SIGKILL'));
  const [line] = await once(killed.stderr, 'data');
  killed.kill('SIGKILL');
  expect(JSON.parse(String(line).split('\n', 1)[0] ?? '')).toMatchObject({ pass: 1, doing: 'blobs' });

  const copied = await store(...there);
  expect(copied.code).toBe(0);
  expect(JSON.parse(copied.stdout)).toMatchObject({
    isComplete: true,
    unreadable: 0,
    seen: { blobs: contents.length, results: 1 },
  });
  const verified = await store('verify', '--progress', target);
  expect(verified.code).toBe(0);
  expect(JSON.parse(verified.stdout)).toMatchObject({
    blobs: contents.length,
    damaged: 0,
    results: 1,
    unusableResults: 0,
  });
  expect(await store('migrate', '--from', 'fleet', '--to', target)).toMatchObject({ code: 0 });
  const returned = await openDiskStore({ directory: target });
  expect(await returned.results.get(address)).toBeDefined();
  expect(await returned.blobs.missing(digests)).toEqual([]);
  expect((await readFrom(returned, digestOf(contentOf('large', 3 * MIB))))?.length).toBe(3 * MIB);
  await returned.close();
});

test.each([
  [migrateCommand, ['--from', '/tmp/x'], 'give --from DIR --to fleet, or --from fleet --to DIR'],
  [
    migrateCommand,
    ['--from', 'fleet', '--to', 'fleet'],
    'give --from DIR --to fleet, or --from fleet --to DIR',
  ],
  [migrateCommand, ['--from', '/nowhere', '--to', 'fleet'], 'holds no store'],
  [migrateCommand, ['--from', 'fleet', '--to', '/tmp/x', '--rate', '1'], 'unknown flag --rate'],
  [migrateCommand, ['fleet'], 'takes no argument "fleet"'],
  [verifyFleetCommand, [], 'name the fleet by --index'],
])('%o refuses %j', async (command, args, why) => {
  await expect(command.main(args)).rejects.toThrow(why);
});
