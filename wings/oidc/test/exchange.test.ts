// POST /auth/token: a token of an issuer becomes one that every tool can hold. The issuer is a real one, as a
// process of its own.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { parseDocument } from '../../../core/config/document.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { Identities } from '../../../server/access/identities.ts';
import type { Identity, IdentitySource } from '../../../server/access/identity.ts';
import { ShortTokens } from '../../../server/access/short-tokens.ts';
import { ACCESS } from '../../../server/limits.ts';
import { FailedExchanges } from '../../../server/protocols/auth/failures.ts';
import { OidcIssuer } from '../../../test/rig/oidc/issuer.ts';
import { signedForS3 } from '../../../test/server/protocols/s3-signer.ts';
import { type Answer, ask, type TestServer, testServer } from '../../../test/server/rig.ts';
import { parseIssuers } from '../issuers/config.ts';
import { OidcIssuers } from '../issuers/issuers.ts';

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const TYPE = 'urn:ietf:params:oauth:token-type:';
const AUDIENCE = 'https://cache.example';

const PULL_REQUEST = {
  aud: AUDIENCE,
  repository: 'acme/app',
  repository_id: '74',
  repository_owner_id: '65',
  ref: 'refs/pull/5/merge',
  base_ref: 'main',
  event_name: 'pull_request',
  run_id: '900',
};

const DEPLOYER: Identity = {
  name: 'deployer',
  rights: new Set(['results:read', 'results:write', 'blobs:read', 'blobs:write']),
  namespace: parseNamespace('acme/deploy'),
  reads: [],
};

const FILE: IdentitySource = {
  identify: (token) => (token === 'from-the-file' ? DEPLOYER : undefined),
  identifyHash: () => DEPLOYER,
};

interface Scene {
  readonly server: TestServer;
  readonly issuer: OidcIssuer;
}

async function scene(): Promise<Scene> {
  const issuer = await OidcIssuer.start();
  const repositories = [{ id: 74, owner: 65, namespace: 'acme/app' }];
  const config = [{ issuer: issuer.url, kind: 'github', audience: AUDIENCE, repositories }];
  const issuers = new OidcIssuers(parseIssuers(parseDocument({ file: 'c', text: JSON.stringify(config) })));
  const identities = new Identities({
    own: [FILE],
    issuers,
    shortTokens: new ShortTokens(() => Buffer.alloc(32, 3)),
  });
  return { issuer, server: await testServer({ identities, tokenExchange: identities }) };
}

/** A server that knows an issuer which it is never asked about: starting one takes half a second. */
function serverAlone(): Promise<TestServer> {
  const identities = new Identities({
    own: [FILE],
    issuers: new OidcIssuers([]),
    shortTokens: new ShortTokens(() => Buffer.alloc(32, 3)),
  });
  return testServer({ identities, tokenExchange: identities });
}

function exchange({ url }: TestServer, fields: Readonly<Record<string, string>>): Promise<Answer> {
  const form = { grant_type: GRANT_TYPE, subject_token_type: `${TYPE}id_token`, ...fields };
  return post(url, new URLSearchParams(form).toString());
}

function post(url: string, body: string, type = 'application/x-www-form-urlencoded'): Promise<Answer> {
  return ask(`${url}/auth/token`, 'POST', { headers: { 'content-type': type }, body: Buffer.from(body) });
}

function jsonOf({ body }: Answer): Record<string, unknown> {
  return JSON.parse(body.toString());
}

const BLOB = Buffer.from('of the pull request');
const BLOB_PATH = `/cas/${createHash('sha256').update(BLOB).digest('hex')}`;

describe('an exchange', () => {
  test('gives a token that works, and says what it is for', async () => {
    const { server, issuer } = await scene();
    const answer = await exchange(server, { subject_token: await issuer.sign({ claims: PULL_REQUEST }) });
    expect(answer.status).toBe(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    const {
      access_token: token,
      expires_in: seconds,
      s3_access_key: key,
      s3_secret_key: secret,
      ...said
    } = jsonOf(answer);
    expect(said).toEqual({
      issued_token_type: `${TYPE}access_token`,
      token_type: 'Bearer',
      scope: 'results:read blobs:read stats results:write blobs:write labels:write runs:write leases',
      namespace: 'acme/app/pr/5',
      reads: ['acme/app/main'],
    });
    expect(token).toBe(`${key}.${secret}`);
    expect(seconds).toBeGreaterThan(3500);
    expect(seconds).toBeLessThanOrEqual(3600);
    const headers = { authorization: `Bearer ${token}` };
    expect((await ask(server.url + BLOB_PATH, 'PUT', { headers, body: BLOB })).status).toBe(200);
    expect((await ask(server.url + BLOB_PATH, 'GET', { headers })).body).toEqual(BLOB);
    expect(
      (await ask(server.url + BLOB_PATH, 'GET', { headers: { authorization: `Bearer ${token}x` } })).status,
    ).toBe(401);
  });

  test('takes the type jwt too, an audience and a scope', async () => {
    const { server, issuer } = await scene();
    const subject_token = await issuer.sign({ claims: PULL_REQUEST });
    const answer = await exchange(server, {
      subject_token,
      subject_token_type: `${TYPE}jwt`,
      audience: AUDIENCE,
      scope: 'read labels:write',
      requested_token_type: `${TYPE}access_token`,
    });
    expect(jsonOf(answer).scope).toBe('results:read blobs:read stats labels:write');
  });

  test('takes a token of the tokens file as access token, and only as that', async () => {
    const server = await serverAlone();
    const subject_token = 'from-the-file';
    const answer = await exchange(server, {
      subject_token,
      subject_token_type: `${TYPE}access_token`,
      scope: 'read',
    });
    expect(jsonOf(answer)).toMatchObject({ namespace: 'acme/deploy', scope: 'results:read blobs:read' });
    expect((await exchange(server, { subject_token })).status).toBe(400);
  });

  test('gives a pair of S3 keys, which signs requests of the same identity', async () => {
    const { server, issuer } = await scene();
    const pairOf = async (claims: Record<string, unknown>) => {
      const answer = jsonOf(await exchange(server, { subject_token: await issuer.sign({ claims }) }));
      return { accessKey: String(answer.s3_access_key), secretKey: String(answer.s3_secret_key) };
    };
    const url = `${server.url}/s3/bucket/object`;
    const send = (method: 'GET' | 'PUT', keys: { accessKey: string; secretKey: string }, body?: Buffer) =>
      ask(url, method, { headers: signedForS3(method, url, { keys }), ...(body && { body }) });
    const main = await pairOf({ ...PULL_REQUEST, event_name: 'push', ref: 'refs/heads/main', base_ref: '' });
    const pull = await pairOf(PULL_REQUEST);
    expect((await send('PUT', pull, BLOB)).status).toBe(200);
    expect((await send('GET', pull)).body).toEqual(BLOB);
    expect((await send('GET', main)).status).toBe(404);
    expect((await send('PUT', main, Buffer.from('of main'))).status).toBe(200);
    expect((await send('GET', main)).body.toString()).toBe('of main');
    expect((await send('GET', pull)).body).toEqual(BLOB);
    const mixed = { accessKey: main.accessKey, secretKey: pull.secretKey };
    expect((await send('PUT', mixed, BLOB)).status).toBe(401);
  });

  test('of the same token again is refused', async () => {
    const { server, issuer } = await scene();
    const subject_token = await issuer.sign({ claims: { ...PULL_REQUEST, jti: 'once' } });
    expect((await exchange(server, { subject_token })).status).toBe(200);
    const again = await exchange(server, { subject_token });
    expect([again.status, jsonOf(again).error, jsonOf(again).code]).toEqual([
      400,
      'invalid_request',
      'ASSAY_TOKEN_REFUSED',
    ]);
  });
});

describe('a refusal', () => {
  const good = { subject_token: 'from-the-file', subject_token_type: `${TYPE}access_token` };

  test.each([
    ['another grant', { ...good, grant_type: 'password' }, 'unsupported_grant_type', 'ASSAY_GRANT_TYPE'],
    ['no grant', { ...good, grant_type: '' }, 'invalid_request', 'ASSAY_BAD_MESSAGE'],
    ['no token', { ...good, subject_token: '' }, 'invalid_request', 'ASSAY_BAD_MESSAGE'],
    ['another type', { ...good, subject_token_type: `${TYPE}saml2` }, 'invalid_request', 'ASSAY_BAD_MESSAGE'],
    [
      'another requested type',
      { ...good, requested_token_type: `${TYPE}jwt` },
      'invalid_request',
      'ASSAY_BAD_MESSAGE',
    ],
    ['an actor', { ...good, actor_token: 'x' }, 'invalid_request', 'ASSAY_BAD_MESSAGE'],
    ['an unknown scope', { ...good, scope: 'everything' }, 'invalid_scope', 'ASSAY_TOKEN_SCOPE'],
    ['a scope that it has not', { ...good, scope: 'admin' }, 'invalid_scope', 'ASSAY_TOKEN_SCOPE'],
    ['an unknown token', { ...good, subject_token: 'another' }, 'invalid_request', 'ASSAY_TOKEN_REFUSED'],
    ['no JWT', { subject_token: 'x.y.z' }, 'invalid_request', 'ASSAY_TOKEN_REFUSED'],
  ])('of %s has OAuth’s name and ours', async (_name, fields, error, code) => {
    const server = await serverAlone();
    const answer = await exchange(server, fields);
    expect([answer.status, jsonOf(answer).error, jsonOf(answer).code]).toEqual([400, error, code]);
    expect(answer.headers['content-type']).toBe('application/json');
  });

  test('of another audience is invalid_target', async () => {
    const { server, issuer } = await scene();
    const subject_token = await issuer.sign({ claims: PULL_REQUEST });
    const answer = await exchange(server, { subject_token, audience: 'https://other.example' });
    expect([answer.status, jsonOf(answer).error]).toEqual([400, 'invalid_target']);
  });

  test('of a body that is no form', async () => {
    const server = await serverAlone();
    const twice = `grant_type=${GRANT_TYPE}&subject_token=a&subject_token=b&subject_token_type=${TYPE}jwt`;
    for (const answer of [
      await post(server.url, '{}', 'application/json'),
      await post(server.url, ''),
      await post(server.url, twice),
      await ask(`${server.url}/auth/token`, 'POST'),
    ])
      expect([answer.status, jsonOf(answer).error]).toEqual([400, 'invalid_request']);
    expect((await post(server.url, 'x'.repeat(ACCESS.maxExchangeBytes + 1))).status).toBe(413);
    expect((await ask(`${server.url}/auth/token`)).status).toBe(405);
  });

  test('because the issuer is down is the server’s fault, and is not counted', async () => {
    const { server, issuer } = await scene();
    const subject_token = await issuer.sign({ claims: PULL_REQUEST });
    await issuer.stop();
    for (let attempt = 0; attempt <= ACCESS.maxFailedExchanges; attempt++) {
      const answer = await exchange(server, { subject_token });
      expect([answer.status, jsonOf(answer).error]).toEqual([503, 'temporarily_unavailable']);
    }
  });

  test('leaves nothing of the token in the answer or the log', async () => {
    const { server, issuer } = await scene();
    const right = await issuer.sign({ claims: PULL_REQUEST });
    const wrong = await issuer.sign({ claims: { ...PULL_REQUEST, aud: 'other' } });
    const taken = jsonOf(await exchange(server, { subject_token: right }));
    const refused = await exchange(server, { subject_token: wrong });
    for (const part of [...right.split('.'), ...wrong.split('.'), ...String(taken.access_token).split('.')]) {
      expect(server.logged()).not.toContain(part);
      expect(refused.body.toString()).not.toContain(part);
    }
  });

  test('too often asks for a pause, and refuses no token that is valid', async () => {
    const { server, issuer } = await scene();
    const first = await issuer.sign({ claims: PULL_REQUEST });
    expect((await exchange(server, { subject_token: first })).status).toBe(200);
    for (let attempt = 0; attempt < ACCESS.maxFailedExchanges; attempt++)
      expect((await exchange(server, { ...good, subject_token: `guess-${attempt}` })).status).toBe(400);
    const answer = await exchange(server, { subject_token: first });
    expect([answer.status, jsonOf(answer).error, answer.headers['retry-after']]).toEqual([
      429,
      'slow_down',
      '60',
    ]);
    const fetches = await issuer.fetches();
    const second = await issuer.sign({ claims: PULL_REQUEST });
    expect((await exchange(server, { subject_token: second })).status).toBe(200);
    expect((await exchange(server, good)).status).toBe(200);
    expect(await issuer.fetches()).toBe(fetches);
  });
});

test('a server that exchanges no tokens answers with 404', async () => {
  const server = await testServer({ token: 'secret' });
  const answer = await exchange(server, { subject_token: 'x' });
  expect([answer.status, jsonOf(answer).code]).toEqual([404, 'ASSAY_NOT_FOUND']);
});

describe('failures', () => {
  test('are counted by address, forgotten after a minute, and bounded', () => {
    let now = 0;
    const failures = new FailedExchanges(() => now);
    const fail = (address: string, times: number) => {
      for (let time = 0; time < times; time++) failures.add(address);
    };
    fail('10.0.0.1', ACCESS.maxFailedExchanges);
    expect(() => failures.add('10.0.0.1')).toThrow('ASSAY_TOO_MANY_FAILURES');
    expect(() => failures.add('::ffff:10.0.0.1')).toThrow('ASSAY_TOO_MANY_FAILURES');
    failures.add('10.0.0.2');
    now = ACCESS.failedExchangesMs;
    fail('10.0.0.1', ACCESS.maxFailedExchanges);
    for (let other = 0; other < ACCESS.maxFailingClients; other++) failures.add(`other-${other}`);
    failures.add('10.0.0.1');
  });

  test('are counted by network in IPv6', () => {
    const failures = new FailedExchanges(() => 0);
    const full = ['2001:db8::1', '2001:db8:0:0::2', '2001:db8:0:0:5:6:7:8'];
    for (let time = 0; time < ACCESS.maxFailedExchanges; time++) failures.add(full[time % full.length] ?? '');
    expect(() => failures.add('2001:db8::ffff:1')).toThrow('ASSAY_TOO_MANY_FAILURES');
    failures.add('2001:db8:0:1::1');
    failures.add('::1');
  });
});
