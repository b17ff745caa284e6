// `assay login --oidc` as a process, against a real server, a real issuer, and GitHub's endpoint for tokens.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { parseDocument } from '../../../core/config/document.ts';
import { Identities } from '../../../server/access/identities.ts';
import { ShortTokens } from '../../../server/access/short-tokens.ts';
import { type Ran, Workshop } from '../../../test/rig/assay.ts';
import { OidcIssuer } from '../../../test/rig/oidc/issuer.ts';
import { ask, type TestServer, testServer } from '../../../test/server/rig.ts';
import { parseIssuers } from '../issuers/config.ts';
import { OidcIssuers } from '../issuers/issuers.ts';

const JOB = {
  repository: 'acme/app',
  repository_id: '74',
  repository_owner_id: '65',
  ref: 'refs/pull/5/merge',
  base_ref: 'main',
  event_name: 'pull_request',
  run_id: '900',
};

const AUDIENCE = 'https://cache.example';

let shop: Workshop;
let issuer: OidcIssuer;
let server: TestServer;
let githubEnv: string;
let env: Record<string, string>;

beforeEach(async () => {
  shop = new Workshop();
  onTestFinished(() => shop.remove());
  issuer = await OidcIssuer.start();
  await issuer.setJob(JOB);
  const issuers = new OidcIssuers([]);
  const shortTokens = new ShortTokens(() => Buffer.alloc(32, 9));
  const identities = new Identities({ own: [], issuers, shortTokens });
  server = await testServer({ identities, tokenExchange: identities });
  const repositories = [{ id: 74, owner: 65, namespace: 'acme/app' }];
  const config = [{ issuer: issuer.url, kind: 'github', audience: [AUDIENCE, server.url], repositories }];
  issuers.configure(parseIssuers(parseDocument({ file: 'c', text: JSON.stringify(config) })));
  githubEnv = join(shop.folder, 'github-env');
  writeFileSync(githubEnv, 'EARLIER=1\n');
  env = {
    ASSAY_REMOTE: `${server.url}/some/prefix`,
    GITHUB_ACTIONS: 'true',
    GITHUB_ENV: githubEnv,
    ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer.url}/id-token?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job',
  };
});

function login(args: readonly string[] = [], variables: Record<string, string> = env): Promise<Ran> {
  return shop.assay(['login', '--oidc', ...args], { env: variables });
}

function variablesIn(text: string): Record<string, string> {
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => {
        const [, name = '', value = ''] = /^(?:export )?(\w+)=(.*)$/.exec(line) ?? [];
        return [name, value.replace(/^'(.*)'$/, '$1')];
      }),
  );
}

async function statusWith(token: string | undefined): Promise<number> {
  const { status } = await ask(`${server.url}/cas/${'0'.repeat(64)}`, 'GET', {
    headers: { authorization: `Bearer ${token}` },
  });
  return status;
}

describe('in GitHub Actions', () => {
  test('sets a token that works, masks it, and says what it is for', async () => {
    const ran = await login();
    expect([ran.code, ran.stdout]).toEqual([0, '']);
    const { EARLIER, ASSAY_TOKEN: token = '', ...others } = variablesIn(readFileSync(githubEnv, 'utf8'));
    expect([EARLIER, others]).toEqual(['1', {}]);
    expect(await statusWith(token)).toBe(404);
    expect(await statusWith(`${token}x`)).toBe(401);
    const [, secret = ''] = token.split('.');
    const lines = ran.stderr.trim().split('\n');
    expect(lines.slice(0, 2)).toEqual([`::add-mask::${token}`, `::add-mask::${secret}`]);
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatch(
      /^assay: logged in to http:\/\/127\.0\.0\.1:\d+: writes acme\/app\/pr\/5; reads it, acme\/app\/main; rights read-write; until 20\d\d-\S+Z; ASSAY_TOKEN in \$GITHUB_ENV$/,
    );
    expect(lines[2]).not.toContain(secret);
  });

  test('sets S3’s keys and a tool’s own variable', async () => {
    await login([
      '--s3',
      '--env',
      'TURBO_TOKEN',
      '--env',
      'NX_TOKEN',
      '--audience',
      AUDIENCE,
      '--rights',
      'read',
    ]);
    const set = variablesIn(readFileSync(githubEnv, 'utf8'));
    expect(Object.keys(set)).toEqual([
      'EARLIER',
      'ASSAY_TOKEN',
      'TURBO_TOKEN',
      'NX_TOKEN',
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
    ]);
    expect(set.TURBO_TOKEN).toBe(set.ASSAY_TOKEN);
    expect(set.ASSAY_TOKEN).toBe(`${set.AWS_ACCESS_KEY_ID}.${set.AWS_SECRET_ACCESS_KEY}`);
    expect(
      (
        await ask(`${server.url}/cas/${'0'.repeat(64)}`, 'PUT', {
          headers: { authorization: `Bearer ${set.ASSAY_TOKEN}` },
          body: Buffer.from('x'),
        })
      ).status,
    ).toBe(403);
  });

  test('gives the token the form of a JWT, masked whole and in parts, that works and says what BuildKit reads', async () => {
    const ran = await login(['--jwt', '--env', 'ACTIONS_RUNTIME_TOKEN']);
    const set = variablesIn(readFileSync(githubEnv, 'utf8'));
    const jwt = set.ACTIONS_RUNTIME_TOKEN ?? '';
    expect(set.ASSAY_TOKEN).toBe(jwt);
    const [header = '', claims = '', third = ''] = jwt.split('.');
    const short = Buffer.from(third, 'base64url').toString();
    const masks = [short, short.split('.')[1], jwt, third].map((secret) => `::add-mask::${secret}`);
    expect(ran.stderr.split('\n').slice(0, 4)).toEqual(masks);
    expect(await statusWith(jwt)).toBe(404);
    expect(await statusWith(`${header}.e30.${third}`)).toBe(404);
    expect(await statusWith(`${header}.${claims}.${third}A`)).toBe(401);
    const { ac, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    expect(exp).toBeGreaterThan(Date.now() / 1000);
    expect(JSON.parse(ac)).toContainEqual({ Scope: 'acme/app/pr/5', Permission: 3 });
    expect(JSON.parse(ac)).toContainEqual({ Scope: 'acme/app/main', Permission: 1 });
  });

  test('prints the token alone, still masked', async () => {
    const ran = await login(['--print']);
    expect(await statusWith(ran.stdout.trim())).toBe(404);
    expect(ran.stdout.trim().split('\n')).toHaveLength(1);
    expect(ran.stderr).toContain(`::add-mask::${ran.stdout.trim()}\n`);
    expect(readFileSync(githubEnv, 'utf8')).toBe('EARLIER=1\n');
  });

  test('works again in the same job, because GitHub gives another token each time', async () => {
    expect((await login()).code).toBe(0);
    expect((await login()).code).toBe(0);
  });
});

describe('elsewhere', () => {
  test('GitLab’s token is taken from ASSAY_ID_TOKEN, and the variables go to a private file', async () => {
    const ASSAY_ID_TOKEN = await issuer.sign({ claims: { ...JOB, aud: AUDIENCE } });
    const file = join(shop.folder, 'login.env');
    writeFileSync(file, 'old and readable', { mode: 0o644 });
    const ran = await login(['--file', file, '--s3'], {
      GITLAB_CI: 'true',
      ASSAY_ID_TOKEN,
      ASSAY_REMOTE: server.url,
    });
    expect([ran.code, ran.stdout]).toEqual([0, '']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { ASSAY_TOKEN: token = '', AWS_SECRET_ACCESS_KEY: secret = '' } = variablesIn(
      readFileSync(file, 'utf8'),
    );
    expect(await statusWith(token)).toBe(404);
    expect(ran.stderr).not.toContain(secret);
    expect(ran.stderr).not.toContain('add-mask');
  });

  test('a token comes from a file', async () => {
    const file = join(shop.folder, 'id-token');
    writeFileSync(file, `${await issuer.sign({ claims: { ...JOB, aud: AUDIENCE } })}\n`);
    const ran = await login(
      ['--token-file', file, '--print', '--remote', server.url.replace('http', 'grpc')],
      {},
    );
    expect(await statusWith(ran.stdout.trim())).toBe(404);
  });
});

describe('a failure', () => {
  test.each([
    [
      'a refusal of the server',
      { ...JOB, repository_id: '75' },
      'ASSAY_LOGIN',
      'no rule of this server applies to repository_id="75"',
    ],
  ])('is %s, with the reason', async (_name, claims, code, reason) => {
    await issuer.setJob(claims);
    const ran = await login();
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain(code);
    expect(ran.stderr).toContain(reason);
    expect(readFileSync(githubEnv, 'utf8')).toBe('EARLIER=1\n');
  });

  test('with --optional is a warning, and the job goes on', async () => {
    await issuer.setJob({ ...JOB, repository_id: '75' });
    const ran = await login(['--optional']);
    expect([ran.code, ran.stdout]).toEqual([0, '']);
    expect(ran.stderr).toMatch(/^assay: warning: ASSAY_LOGIN: .*the build goes on without the cache\n$/);
  });

  test('leaves an empty file for the shell, without an earlier token', async () => {
    const file = join(shop.folder, 'login.env');
    writeFileSync(file, 'export ASSAY_TOKEN=earlier\n');
    const gone = { ...env, ASSAY_REMOTE: 'http://127.0.0.1:1' };
    expect(await login(['--optional', '--file', file], gone)).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toBe('');
  });

  test('of a job without permission says which one', async () => {
    const { ACTIONS_ID_TOKEN_REQUEST_URL: _url, ...without } = env;
    const ran = await login([], without);
    expect([ran.code, ran.stderr.includes('id-token: write')]).toEqual([2, true]);
    expect((await login(['--optional'], without)).code).toBe(0);
    expect((await login(['--print'], { GITLAB_CI: 'true', ASSAY_REMOTE: server.url })).stderr).toContain(
      'id_tokens',
    );
  });

  test('of GitHub’s endpoint, and of a server that is gone', async () => {
    expect((await login([], { ...env, ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'wrong' })).stderr).toContain(
      'GitHub answered 401',
    );
    await server.stop();
    const gone = await login(['--optional']);
    expect([gone.code, gone.stderr.includes('gave no answer')]).toEqual([0, true]);
  });

  test('never shows a token, whatever the server answers', async () => {
    let seen = '';
    const hostile = createServer((request, response) => {
      request.on('data', (piece) => {
        seen += piece;
      });
      request.on('end', () => {
        const token = new URLSearchParams(seen).get('subject_token');
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error_description: `bad ${token}\n::set-env name=X::y`, code: 'X' }));
      });
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void hostile.close());
    await new Promise((resolve) => hostile.once('listening', resolve));
    const { port } = hostile.address() as AddressInfo;
    const ran = await login(['--remote', `http://127.0.0.1:${port}`]);
    const token = new URLSearchParams(seen).get('subject_token') ?? 'none';
    expect(token.split('.')).toHaveLength(3);
    expect(ran.stderr).not.toContain(token);
    expect(ran.stderr.split('\n').filter((line) => line.startsWith('::'))).toEqual([]);
  });

  test.each([
    [['--env', 'A B'], '--env takes the name of a variable'],
    [['--print', '--file', 'x'], 'can’t be combined'],
    [['--print', '--s3'], 'use --file'],
    [['x'], 'takes no arguments'],
  ])('of the arguments %j is refused, also with --optional', async (args, why) => {
    const ran = await login(['--optional', ...args]);
    expect([ran.code, ran.stderr.includes(why)]).toEqual([2, true]);
  });

  test('without a place for the token, or without a remote, is refused', async () => {
    expect((await login([], { ASSAY_REMOTE: server.url })).stderr).toContain('say where the token goes');
    expect((await login(['--print'], {})).stderr).toContain('--remote or ASSAY_REMOTE');
    expect((await shop.assay(['login'], { env })).stderr).toContain('assay login --oidc');
  });
});
