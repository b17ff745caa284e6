// `assay serve` with tokens and a configuration file: what it accepts, and what SIGHUP changes.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { baseEnvironment, runProcess } from '../../rig/assay.ts';
import { OidcIssuer } from '../../rig/oidc/issuer.ts';
import { contentOf } from '../../store/content.ts';
import { ask, pathOf } from '../rig.ts';
import { folder, INSTALLED, Serve } from './serve-process.ts';

let place = '';
let tokens = '';
let config = '';
beforeEach(() => {
  place = folder();
  tokens = join(place, 'tokens.json');
  config = join(place, 'server.json');
});

async function token(...args: string[]): Promise<string> {
  const command = [...INSTALLED, 'token', ...args, '--tokens', tokens];
  const ran = await runProcess(command, { cwd: place, env: baseEnvironment() });
  expect(ran).toMatchObject({ code: 0 });
  return ran.stdout.trim();
}

const BYTES = contentOf('blob', 100);

function bearer(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

async function get(url: string, token?: string): Promise<number> {
  return (await ask(url + pathOf(digestOf(BYTES)), 'GET', { headers: bearer(token) })).status;
}

async function put(url: string, token?: string): Promise<number> {
  return (await ask(url + pathOf(digestOf(BYTES)), 'PUT', { headers: bearer(token), body: BYTES })).status;
}

function startWith(args: readonly string[], env: Record<string, string> = {}): Serve {
  return new Serve(['--port', '0', '--store', join(place, 'store'), ...args], env);
}

/** The lines of the log that say this. */
function linesWith(serve: Serve, msg: string): Record<string, unknown>[] {
  return serve.stderr
    .split('\n')
    .filter((line) => line.includes(msg))
    .map((line) => JSON.parse(line));
}

test('tokens of a file open a server on all addresses, and ASSAY_TOKEN stays beside them', async () => {
  const both = await token('create', 'main', '--namespace', 'acme/main');
  const reader = await token('create', 'reader', '--namespace', 'acme/main', '--rights', 'read');
  const writer = await token('create', 'writer', '--namespace', 'acme/main', '--rights', 'write');
  const other = await token('create', 'other', '--namespace', 'umbrella/main');
  const expired = await token('create', 'gone', '--namespace', 'acme/main', '--expires', '0.001s');
  const serve = startWith(['--host', '0.0.0.0', '--tokens', tokens], { ASSAY_TOKEN: 'the-root' });
  const url = (await serve.url()).replace('0.0.0.0', '127.0.0.1');
  for (const nobody of [undefined, '', `${both}x`, both.slice(6), expired]) {
    expect([nobody, await get(url, nobody)]).toEqual([nobody, 401]);
    expect([nobody, await put(url, nobody)]).toEqual([nobody, 401]);
  }
  expect([await put(url, reader), await get(url, reader), await put(url, writer)]).toEqual([403, 404, 200]);
  expect([await get(url, both), await get(url, reader), await get(url, writer)]).toEqual([200, 200, 403]);
  expect(await get(url, other)).toBe(404);
  expect([await get(url, 'the-root'), await put(url, 'the-root')]).toEqual([200, 200]);
  serve.child.kill('SIGTERM');
  expect(await serve.ended()).toBe(0);
  for (const secret of [both, reader, writer, other, expired])
    expect(serve.stdout + serve.stderr).not.toContain(secret.slice(6, 30));
});

test('a running server accepts a new token and refuses a revoked one', async () => {
  const first = await token('create', 'ci', '--namespace', 'acme/main');
  const serve = startWith(['--tokens', tokens]);
  const url = await serve.url();
  expect(await put(url, first)).toBe(200);
  const second = await token('create', 'ci', '--namespace', 'acme/main');
  while ((await get(url, second)) !== 200) await new Promise(setImmediate);
  expect(await get(url, first)).toBe(200);
  await token('revoke', 'ci');
  while ((await get(url, first)) !== 401) await new Promise(setImmediate);
  expect(await get(url, second)).toBe(401);
});

test('with --tokens, SIGHUP reloads and does not stop; a bad file leaves the tokens as they are', async () => {
  const first = await token('create', 'ci', '--namespace', 'acme/main');
  const serve = startWith(['--tokens', tokens]);
  const url = await serve.url();
  expect(await put(url, first)).toBe(200);
  writeFileSync(tokens, '{"tokens": [');
  serve.child.kill('SIGHUP');
  await serve.said('reloaded the configuration');
  expect(linesWith(serve, 'keeps the old tokens')).toMatchObject([{ level: 40, code: 'ASSAY_TOKENS_FILE' }]);
  expect(await get(url, first)).toBe(200);
  rmSync(tokens);
  execFileSync('mkfifo', [tokens]);
  await serve.said(`${tokens}: this is not a regular file`);
  expect(await get(url, first)).toBe(200);
  serve.child.kill('SIGTERM');
  expect(await serve.ended()).toBe(0);
});

test('a configuration is reloaded on SIGHUP: tokens, anonymous requests and the log level', async () => {
  const first = await token('create', 'main', '--namespace', 'acme/main');
  const written = {
    listen: { host: '0.0.0.0', port: 0 },
    store: { folder: 'store' },
    tokens: 'tokens.json',
    logLevel: 'info',
  };
  writeFileSync(config, JSON.stringify(written));
  const serve = new Serve(['--config', config]);
  const url = (await serve.url()).replace('0.0.0.0', '127.0.0.1');
  expect(serve.stdout).toContain(`The store is in ${join(place, 'store')}\n`);
  expect([await put(url, first), await get(url)]).toEqual([200, 401]);
  tokens = join(place, 'other.json');
  const second = await token('create', 'main', '--namespace', 'acme/main');
  const anonymous = { namespace: 'acme/main', rights: 'read' };
  writeFileSync(
    config,
    `// new\n${JSON.stringify({ ...written, tokens: 'other.json', anonymous, logLevel: 'debug' })}`,
  );
  serve.child.kill('SIGHUP');
  await serve.said('reloaded the configuration');
  expect([await get(url, first), await get(url, second), await get(url), await put(url)]).toEqual([
    401, 200, 200, 403,
  ]);
  // The server follows the new tokens file now.
  await token('revoke', 'main');
  while ((await get(url, second)) !== 401) await new Promise(setImmediate);
});

async function exchange(url: string, token: string, type: 'id_token' | 'access_token') {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: token,
    subject_token_type: `urn:ietf:params:oauth:token-type:${type}`,
  });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, body } = await ask(`${url}/auth/token`, 'POST', {
    headers,
    body: Buffer.from(String(form)),
  });
  return { status, token: String(JSON.parse(body.toString()).access_token) };
}

test('a revoked token takes the short ones with it that were made from it', async () => {
  const long = await token('create', 'ci', '--namespace', 'acme/main');
  const serve = startWith(['--tokens', tokens]);
  const url = await serve.url();
  const short = await exchange(url, long, 'access_token');
  expect(short.status).toBe(200);
  expect([await put(url, short.token), await get(url, short.token)]).toEqual([200, 200]);
  await token('revoke', 'ci');
  while ((await get(url, long)) !== 401) await new Promise(setImmediate);
  expect(await get(url, short.token)).toBe(401);
});

test('issuers of the configuration are trusted until a reload removes them', async () => {
  const issuer = await OidcIssuer.start();
  const sign = () =>
    issuer.sign({
      claims: {
        aud: 'cache',
        repository: 'acme/app',
        repository_id: '74',
        repository_owner_id: '65',
        ref: 'refs/heads/main',
        ref_type: 'branch',
        event_name: 'push',
        run_id: '900',
        jti: randomUUID(),
      },
    });
  const repositories = [{ id: 74, owner: 65, namespace: 'acme/app' }];
  const anonymous = { namespace: 'acme/app/main', rights: 'read' };
  const written = { listen: { port: 0 }, store: { folder: 'store' }, anonymous };
  const issuers = [{ issuer: issuer.url, kind: 'github', audience: 'cache', repositories }];
  writeFileSync(config, JSON.stringify({ ...written, issuers }));
  const serve = new Serve(['--config', config]);
  const url = await serve.url();
  const short = await exchange(url, await sign(), 'id_token');
  expect(short.status).toBe(200);
  expect([await put(url, short.token), await get(url), await put(url)]).toEqual([200, 200, 403]);
  writeFileSync(config, JSON.stringify(written));
  serve.child.kill('SIGHUP');
  await serve.said('reloaded the configuration');
  expect((await exchange(url, await sign(), 'id_token')).status).not.toBe(200);
  writeFileSync(config, JSON.stringify({ ...written, issuers: [{ ...issuers[0], kind: 'gitlub' }] }));
  serve.child.kill('SIGHUP');
  await serve.said('refused the new configuration');
  expect(linesWith(serve, 'refused the new')).toMatchObject([
    { why: expect.stringContaining('one of github') },
  ]);
});

test.each([
  [
    'a mistake',
    (good: object) => ({ ...good, logLevl: 'info', readOnly: 'no' }),
    /:1:\d+: there is no field "logLevl" here; did you mean logLevel\?\n.*true or false/,
  ],
  [
    'another address',
    (good: object) => ({ ...good, listen: { port: 0, host: '127.0.0.2' } }),
    /needs a restart to change: listen/,
  ],
  [
    'another store',
    (good: object) => ({ ...good, store: { folder: 'elsewhere' } }),
    /needs a restart to change: store/,
  ],
  [
    'no tokens any more',
    ({ tokens: _, ...good }: { tokens?: string }) => good,
    /needs a restart to change: the first of tokens/,
  ],
  [
    'a missing tokens file',
    (good: object) => ({
      ...good,
      tokens: 'none.json',
      anonymous: { namespace: 'acme/main', rights: 'read' },
    }),
    /none\.json: there is no such file/,
  ],
  [
    'a pipe as its tokens file',
    (good: object) => {
      execFileSync('mkfifo', [join(place, 'pipe')]);
      return { ...good, tokens: 'pipe' };
    },
    /pipe: this is not a regular file/,
  ],
])('a reload with %s is refused whole, and the log says why', async (_, spoil, why) => {
  const first = await token('create', 'main', '--namespace', 'acme/main');
  const good = { listen: { port: 0 }, store: { folder: 'store' }, tokens: 'tokens.json' };
  writeFileSync(config, JSON.stringify(good));
  const serve = new Serve(['--config', config]);
  const url = await serve.url();
  writeFileSync(config, JSON.stringify(spoil(good)));
  serve.child.kill('SIGHUP');
  await serve.said('refused the new configuration');
  expect(linesWith(serve, 'refused the new configuration')).toMatchObject([
    {
      level: 50,
      why: expect.stringMatching(why),
      code: expect.stringMatching(/^ASSAY_(SERVER_CONFIG|TOKENS_FILE)$/),
    },
  ]);
  expect([await put(url, first), await get(url)]).toEqual([200, 401]);
  rmSync(config);
  serve.child.kill('SIGHUP');
  await serve.said('ENOENT');
  execFileSync('mkfifo', [config]);
  serve.child.kill('SIGHUP');
  await serve.said(`${config}: this is not a regular file`);
  expect(await get(url, first)).toBe(200);
  rmSync(config);
  writeFileSync(config, JSON.stringify(good));
  serve.child.kill('SIGHUP');
  await serve.said('reloaded the configuration');
});

test('a configuration with mistakes does not start, and each is named', async () => {
  writeFileSync(config, '{\n  "listen": { "prt": 1 },\n  "readOnly": 1\n}\n');
  const serve = new Serve(['--config', config]);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain(
    `ASSAY_SERVER_CONFIG: ${config}:2:15: there is no field "prt" here; did you mean port?`,
  );
  expect(serve.stderr).toContain(`${config}:3:15: true or false is expected here`);
});

test.each([
  [['--tokens', 'none.json'], 'ASSAY_TOKENS_FILE', 'there is no such file'],
  [['--config', 'none.json'], 'ASSAY_SERVER_CONFIG', 'ENOENT'],
])('serve %j does not start', async (args, code, why) => {
  const serve = startWith(args);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain(`assay: ${code}: `);
  expect(serve.stderr).toContain(why);
});

test('a setting in the file and on the command line is refused, with both places', async () => {
  writeFileSync(config, '{ "listen": { "port": 0 } }');
  const serve = startWith(['--config', config]);
  expect(await serve.ended()).toBe(2);
  expect(serve.stderr).toContain(`${config}:1:23: this setting is also given by --port; give it once`);
});

test('the help says what SIGHUP does', async () => {
  const { stdout } = await runProcess([...INSTALLED, 'serve', '--help'], {
    cwd: '/',
    env: baseEnvironment(),
  });
  expect(stdout).toContain('With --config or --tokens, SIGHUP reads these files again');
  expect(stdout).toContain('Without them, SIGHUP stops the server');
});
