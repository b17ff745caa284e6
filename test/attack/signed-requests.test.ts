// Signed URLs of GitHub's cache and signatures of S3: what one identity has signed never acts for another one,
// can't be edited, and ends with its credential.
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Identity } from '../../server/access/identity.ts';
import { SERVER } from '../../server/limits.ts';
import { verifiedSubject } from '../../server/protocols/actions/signed-url.ts';
import { EVERYBODY, identity, MAIN, PULL, sourceOf } from '../server/access/identities.ts';
import { signedForS3 } from '../server/protocols/s3-signer.ts';
import { ask, testServer } from '../server/rig.ts';

const SERVICE = '/twirp/github.actions.results.api.v1.CacheService';
const ENTRY = { key: 'deps', version: 'v' };

async function call(url: string, token: string, name: string, message: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = Buffer.from(JSON.stringify({ ...ENTRY, ...message }));
  const answer = await ask(`${url}${SERVICE}/${name}`, 'POST', { headers, body });
  return { status: answer.status, ...JSON.parse(answer.body.toString()) };
}

async function uploadUrl(url: string, token: string, entry: object = {}): Promise<string> {
  return (await call(url, token, 'CreateCacheEntry', entry)).signed_upload_url;
}

/** Returns a signed URL to download it. */
async function save(url: string, token: string, content: string): Promise<string> {
  const body = Buffer.from(content);
  expect(await ask(await uploadUrl(url, token), 'PUT', { body })).toMatchObject({ status: 201 });
  const finished = await call(url, token, 'FinalizeCacheEntryUpload', { size_bytes: String(body.length) });
  expect(finished).toMatchObject({ ok: true });
  return (await call(url, token, 'GetCacheEntryDownloadURL', {})).signed_download_url;
}

test('a signed URL stores for the identity that asked for it, whatever token comes with it', async () => {
  const { url } = await testServer({ identities: EVERYBODY });
  const ofPull = await uploadUrl(url, 'pull');
  const body = Buffer.from('of the pull request');
  const headers = { authorization: 'Bearer main' };
  expect(await ask(ofPull, 'PUT', { body, headers })).toMatchObject({ status: 201 });
  const size = { size_bytes: String(body.length) };
  for (const other of ['main', 'sibling', 'other'])
    expect(await call(url, other, 'FinalizeCacheEntryUpload', size)).toMatchObject({ status: 404 });
  expect(await call(url, 'pull', 'FinalizeCacheEntryUpload', size)).toMatchObject({ ok: true });
  for (const other of ['main', 'sibling', 'other', 'reader'])
    expect(await call(url, other, 'GetCacheEntryDownloadURL', {})).toMatchObject({ ok: false });
});

test('a pull request that reserves an entry, or saves it, does not stop main from saving it', async () => {
  const { url } = await testServer({ identities: EVERYBODY });
  await uploadUrl(url, 'pull');
  const ofMain = await save(url, 'main', 'of main');
  expect((await ask(ofMain)).body.toString()).toBe('of main');
  await save(url, 'sibling', 'of a sibling');
  const found = await call(url, 'pull', 'GetCacheEntryDownloadURL', { restore_keys: ['d'] });
  expect((await ask(found.signed_download_url)).body.toString()).toBe('of main');
});

test('no edit of a signed URL is accepted', async () => {
  const { url } = await testServer({ identities: EVERYBODY });
  const ofMain = new URL(await save(url, 'main', 'of main'));
  const ofPull = new URL(await uploadUrl(url, 'pull', { key: 'another' }));
  expect(await ask(ofMain.href)).toMatchObject({ status: 200 });
  const { pathname, search } = ofMain;
  const [, , kind, hash, credential, time] = pathname.split('/');
  const [, , , entry, id, ofPullToo, timeToo] = ofPull.pathname.split('/');
  const edited = [
    ...[...pathname.slice('/actions/'.length)].map((sign, at) =>
      pathname
        .slice('/actions/'.length)
        .split('')
        .with(at, sign === '0' ? '1' : '0')
        .join(''),
    ),
    `${kind}/${hash}/${ofPullToo}/${time}`,
    `${kind}/${hash}/none/${time}`,
    `${kind}/${hash}/root/${time}`,
    `${kind}/${hash}/${credential}/${Number(time) + 1}`,
    `upload/${entry}/${id}/${credential}/${timeToo}`,
    `${kind}/${hash}/${credential}/${time}/`,
    `${kind}/${hash}//${credential}/${time}`,
  ];
  for (const path of edited)
    for (const query of [search, ofPull.search, '', `${search}0`])
      for (const method of ['GET', 'PUT'] as const) {
        const { status } = await ask(`${url}/actions/${path}${query}`, method);
        expect([401, 403], path).toContain(status);
      }
});

test('a signed URL ends with its token, and has no right that the token lost', async () => {
  let now: Identity | undefined = MAIN;
  const { url } = await testServer({ identities: { identify: () => now } });
  const download = await save(url, 'main', 'of main');
  const upload = await uploadUrl(url, 'main', { key: 'another' });
  const put = () => ask(upload, 'PUT', { body: Buffer.from('more') });
  expect([(await ask(download)).status, (await put()).status]).toEqual([200, 201]);
  now = identity('main', { namespace: MAIN.namespace, rights: 'read' });
  expect([(await ask(download)).status, (await put()).status]).toEqual([200, 403]);
  now = identity('main', { namespace: MAIN.namespace, rights: 'write' });
  expect([(await ask(download)).status, (await put()).status]).toEqual([403, 201]);
  now = identity('main', { namespace: 'rival/app' });
  expect([(await ask(download)).status, (await put()).status]).toEqual([404, 201]);
  for (const ended of [{ ...MAIN, expiresAt: Date.now() - 1 }, undefined]) {
    now = ended;
    expect([(await ask(download)).status, (await put()).status]).toEqual([401, 401]);
  }
  const { pathname, searchParams } = new URL(download);
  const path = pathname.slice('/actions/'.length);
  expect(verifiedSubject(path, searchParams).authorization).toBe('Bearer main');
  const later = Date.now() + SERVER.signedUrlMs + 1;
  expect(() => verifiedSubject(path, searchParams, later)).toThrow(/ASSAY_BAD_TICKET/);
});

test('a signed URL does not contain its token', async () => {
  const token = randomUUID();
  const { url } = await testServer({ identities: { identify: () => MAIN } });
  const signed = `${await save(url, token, 'x')} ${await uploadUrl(url, token, { key: 'another' })}`;
  for (const encoding of ['utf8', 'hex', 'base64url'] as const)
    expect(signed).not.toContain(Buffer.from(token).toString(encoding).slice(0, 24));
});

test('an S3 signature acts for the owner of its key alone', async () => {
  const { url } = await testServer({ identities: sourceOf(MAIN, PULL) });
  const object = `${url}/s3/bucket/object`;
  const keysOf = (name: string, secretOf = name) => ({
    keys: { accessKey: name, secretKey: `secret-of-${secretOf}` },
  });
  const put = (headers: Record<string, string>, body: string, target = object) =>
    ask(target, 'PUT', { headers, body: Buffer.from(body) });
  const get = (name: string) => ask(object, 'GET', { headers: signedForS3('GET', object, keysOf(name)) });
  expect(await put(signedForS3('PUT', object, keysOf('main')), 'of main')).toMatchObject({ status: 200 });
  expect((await get('pull')).body.toString()).toBe('of main');
  expect(await put(signedForS3('PUT', object, keysOf('pull')), 'of pull')).toMatchObject({ status: 200 });
  expect((await get('main')).body.toString()).toBe('of main');
  expect((await get('pull')).body.toString()).toBe('of pull');
  const forged = [
    signedForS3('PUT', object, keysOf('main', 'pull')),
    signedForS3('GET', object, keysOf('main')),
    signedForS3('PUT', `${url}/s3/bucket/other`, keysOf('main')),
    signedForS3('PUT', object, {
      ...keysOf('main'),
      time: new Date(Date.now() - 2 * SERVER.signatureSkewMs),
    }),
    signedForS3('PUT', object, keysOf('nobody')),
  ];
  const ofPull = signedForS3('PUT', object, keysOf('pull'));
  const renamed = String(ofPull.authorization).replace('Credential=pull/', 'Credential=main/');
  for (const headers of [...forged, { ...ofPull, authorization: renamed }])
    expect(await put(headers, 'forged')).toMatchObject({ status: 401 });
  expect((await get('main')).body.toString()).toBe('of main');
});
