// BuildKit's cache of type=gha with tokens in the form of a JWT: of a tokens file, and short ones.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { wrapInJwt } from '../../../core/tokens/jwt.ts';
import { Identities } from '../../../server/access/identities.ts';
import { RIGHTS_BY_NAME, type Right } from '../../../server/access/rights.ts';
import { ShortTokens } from '../../../server/access/short-tokens.ts';
import { TokenSource } from '../../../server/access/token-source.ts';
import { makeToken, updateTokens } from '../../../server/access/tokens-file.ts';
import { type Answer, ask, type TestServer, testServer } from '../rig.ts';

const MAIN = parseNamespace('acme/app/main');
const PULL = parseNamespace('acme/app/pr/5');

let server: TestServer;
let source: TokenSource;
let file: string;
const shortTokens = new ShortTokens(() => Buffer.alloc(32, 5));

beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-jwt-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  file = join(folder, 'tokens.json');
  await updateTokens(file, () => []);
  source = new TokenSource({ file, log: pino({ enabled: false }) });
  const identities = new Identities({ own: [source], shortTokens });
  server = await testServer({ identities, tokenExchange: identities });
});

async function tokenOf(
  name: string,
  namespace = MAIN,
  rights: readonly Right[] = RIGHTS_BY_NAME['read-write'],
): Promise<string> {
  const wanted = { name, namespace, reads: namespace === PULL ? [MAIN] : [], rights, expiresAt: undefined };
  const { token, entry } = makeToken(wanted, Date.now(), 'jwt');
  await updateTokens(file, (entries) => [...entries, entry]);
  source.reload();
  return token;
}

function call(token: string, method: string, message: object): Promise<Answer> {
  return ask(`${server.url}/twirp/github.actions.results.api.v1.CacheService/${method}`, 'POST', {
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: Buffer.from(JSON.stringify({ version: 'v', ...message })),
  });
}

function json({ body }: Answer): Record<string, unknown> {
  return JSON.parse(body.toString());
}

async function save(token: string, key: string, text: string): Promise<unknown> {
  const { ok, signed_upload_url: url } = json(await call(token, 'CreateCacheEntry', { key }));
  if (ok !== true) return ok;
  const put = await ask(String(url), 'PUT', {
    headers: { 'x-ms-blob-type': 'BlockBlob' },
    body: Buffer.from(text),
  });
  expect(put.status).toBe(201);
  return json(await call(token, 'FinalizeCacheEntryUpload', { key, size_bytes: text.length })).ok;
}

async function load(token: string, key: string): Promise<string | undefined> {
  const found = json(await call(token, 'GetCacheEntryDownloadURL', { key, restore_keys: [key] }));
  return found.ok === true ? (await ask(String(found.signed_download_url))).body.toString() : undefined;
}

const statusWith = async (token: string) =>
  (await call(token, 'GetCacheEntryDownloadURL', { key: 'k' })).status;

const base64url = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

test('a pull request finds what main saved, and main nothing of the pull request', async () => {
  const [main, pull] = [await tokenOf('main'), await tokenOf('pull', PULL)];
  expect([await save(main, 'layer', 'of main'), await save(pull, 'other', 'of pull')]).toEqual([true, true]);
  expect([await load(pull, 'layer'), await load(main, 'other')]).toEqual(['of main', undefined]);
});

test('a token with any other header, claims or third part is no token', async () => {
  const [main, pull] = [await tokenOf('main'), await tokenOf('pull', PULL)];
  const [header = '', claims = '', third = ''] = main.split('.');
  const [, ofPull = '', thirdOfPull = ''] = pull.split('.');
  expect([await statusWith(main), await statusWith(pull)]).toEqual([200, 200]);
  const forged = [
    `${base64url({ alg: 'none' })}.${claims}.${third}`,
    `${base64url({ alg: 'none' })}.${claims}.`,
    `${header}.${base64url({ ac: '[]', exp: 9e9, nbf: 0, namespace: '', rights: ['admin'] })}.${third}`,
    `${header}.${claims}.${thirdOfPull}`,
    `${header}.${ofPull}.${third}`,
    third,
    `${third}.${third}.${third}`,
    `${main}.`,
    `${header}.${claims}.${'A'.repeat(12_000)}`,
  ];
  for (const other of forged)
    expect([other.slice(-9), await statusWith(other)]).toEqual([other.slice(-9), 401]);
  await expect(statusWith('A'.repeat(20_000))).rejects.toThrow('closed');
});

test('a revoked token is refused at once, and so are its signed URLs and what was exchanged for it', async () => {
  const main = await tokenOf('main');
  await save(main, 'layer', 'of main');
  const { signed_download_url: url } = json(await call(main, 'GetCacheEntryDownloadURL', { key: 'layer' }));
  expect((await ask(String(url))).status).toBe(200);
  await updateTokens(file, (entries) => entries.map((entry) => ({ ...entry, revokedAt: 1 })));
  source.reload();
  expect([await statusWith(main), (await ask(String(url))).status]).toEqual([401, 401]);
});

test('a token that only reads is told that its write is denied, as GitHub tells it', async () => {
  const reader = await tokenOf('reader', MAIN, RIGHTS_BY_NAME.read);
  const answer = await call(reader, 'CreateCacheEntry', { key: 'k' });
  expect([answer.status, json(answer).message]).toEqual([200, expect.stringContaining('cache write denied')]);
});

test('a short token in a JWT saves and loads by signed URLs in its own namespace, whatever its claims say', async () => {
  const main = await tokenOf('main');
  await save(main, 'layer', 'of main');
  const expiresAt = Math.floor(Date.now() / 1000) * 1000 + 600_000;
  const rights = new Set(RIGHTS_BY_NAME['read-write']);
  const { token } = shortTokens.issue({ name: 'job', namespace: PULL, reads: [MAIN], rights, expiresAt });
  const claimed = { namespace: MAIN, reads: [], mayRead: true, mayWrite: true, expiresAt: undefined };
  const jwt = wrapInJwt(token, claimed);
  expect([await save(jwt, 'own', 'of pull'), await load(jwt, 'own')]).toEqual([true, 'of pull']);
  expect([await load(jwt, 'layer'), await load(main, 'own')]).toEqual(['of main', undefined]);
});

test('a token in the form of a JWT is not one of an issuer, and is exchanged as the opaque one that it is', async () => {
  const main = await tokenOf('main');
  const exchange = (type: string, token: string) =>
    ask(`${server.url}/auth/token`, 'POST', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: Buffer.from(
        new URLSearchParams({
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          subject_token: token,
          subject_token_type: `urn:ietf:params:oauth:token-type:${type}`,
        }).toString(),
      ),
    });
  expect((await exchange('access_token', main)).status).toBe(200);
  for (const type of ['jwt', 'id_token']) expect((await exchange(type, main)).status).not.toBe(200);
  expect((await exchange('access_token', `${main.slice(0, -1)}_`)).status).not.toBe(200);
});
