// S3 as sccache 0.17 uses it. A second signer (s3-signer.ts) makes the signatures. It is checked
// against the specification's own example.
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { accessControl } from '../../../server/access/access-control.ts';
import { signatureCheck } from '../../../server/access/aws-signature.ts';
import { ROOT_IDENTITY } from '../../../server/access/identity.ts';
import { contentOf } from '../../store/content.ts';
import { type Answer, ask, type Method, testServer } from '../rig.ts';
import { describeOpaque } from './contract.ts';
import { type S3Signing, signedForS3 } from './s3-signer.ts';

const PATH = `/s3/bucket/prefix/a/8/d/a8d${'0'.repeat(61)}`;
const KEYS = { accessKey: 'AKIDEXAMPLE', secretKey: 'a-secret-key-0123456789' };

describeOpaque({
  name: 's3',
  path: PATH,
  elsewhere: PATH.replace('bucket', 'other'),
  other: PATH.replace('a8d', 'a8e'),
  astray: [
    '/s3/',
    '/s3/bucket',
    '/s3/bucket/',
    `${PATH}?uploads=`,
    `${PATH}?partNumber=1&uploadId=2`,
    `${PATH}?acl`,
  ],
  stored: 200,
  second: { status: 200, stays: 'second' },
});

/** Signs by AWS Signature Version 4. */
function signed(method: Method, url: string, signing: Partial<S3Signing> = {}): Record<string, string> {
  return signedForS3(method, url, { keys: KEYS, ...signing });
}

function s3CodeIn({ body }: Answer): string | undefined {
  return /<Code>(\w+)<\/Code>/.exec(body.toString())?.[1];
}

describe('an S3 signature', () => {
  /** "GET Object" in Amazon's documentation of Signature Version 4. */
  test('equals the example of the specification', () => {
    const signatures = signatureCheck(
      accessControl({}),
      { accessKey: 'AKIAIOSFODNN7EXAMPLE', secretKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
      () => Date.parse('2013-05-24T00:00:00Z'),
    );
    const headers = {
      host: 'examplebucket.s3.amazonaws.com',
      range: 'bytes=0-9',
      'x-amz-content-sha256': 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      'x-amz-date': '20130524T000000Z',
      authorization:
        'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    };
    const request = (url: string) => ({ method: 'GET', url, headers });
    expect(signatures.identify(request('/test.txt'))).toBe(ROOT_IDENTITY);
    expect(signatures.identify(request('/test.txs'))).toBeUndefined();
  });

  test('is accepted with an unsigned payload or with the signed one', async () => {
    const server = await testServer({ s3Keys: KEYS, token: 'a-token' });
    const bytes = contentOf('object', 100);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const url = server.url + PATH;
    for (const payload of ['UNSIGNED-PAYLOAD', hash]) {
      const headers = signed('PUT', url, { payload });
      expect(await ask(url, 'PUT', { headers, body: bytes })).toMatchObject({ status: 200 });
    }
    expect((await ask(url, 'GET', { headers: signed('GET', url) })).body.equals(bytes)).toBe(true);
    const query = `${url}?x-id=GetObject`;
    expect(await ask(query, 'GET', { headers: signed('GET', query) })).toMatchObject({ status: 200 });
    const headers = { authorization: 'Bearer a-token' };
    expect(await ask(url, 'GET', { headers })).toMatchObject({ status: 200 });
  });

  test('identifies a request as S3 without its base path', async () => {
    const server = await testServer({ s3Keys: KEYS });
    const bytes = contentOf('object', 100);
    const atRoot = `${server.url}/bucket/ac/key`;
    const headers = signed('PUT', atRoot);
    expect(await ask(atRoot, 'PUT', { headers, body: bytes })).toMatchObject({ status: 200 });
    const below = `${server.url}/s3/bucket/ac/key`;
    expect((await ask(below, 'GET', { headers: signed('GET', below) })).body.equals(bytes)).toBe(true);
  });

  test('for another body is refused', async () => {
    const server = await testServer({ s3Keys: KEYS });
    const url = server.url + PATH;
    const headers = signed('PUT', url, { payload: createHash('sha256').update('meant').digest('hex') });
    expect(await ask(url, 'PUT', { headers, body: Buffer.from('other') })).toMatchObject({ status: 400 });
    expect(await ask(url, 'GET', { headers: signed('GET', url) })).toMatchObject({ status: 404 });
  });

  test.each([
    ['in capital letters', createHash('sha256').update('meant').digest('hex').toUpperCase()],
    ['of two bodies', `${'0'.repeat(64)}, ${'1'.repeat(64)}`],
    ['of an unknown kind', 'SOMETHING-NEW'],
  ])('with a payload hash %s is refused', async (_kind, payload) => {
    const server = await testServer({ s3Keys: KEYS });
    const url = server.url + PATH;
    const headers = signed('PUT', url, { payload });
    expect(await ask(url, 'PUT', { headers, body: Buffer.from('other') })).toMatchObject({ status: 400 });
    expect(await ask(url, 'GET', { headers: signed('GET', url) })).toMatchObject({ status: 404 });
  });

  test.each<[string, Partial<S3Signing>]>([
    ['by another secret', { keys: { ...KEYS, secretKey: 'another' } }],
    ['by another key', { keys: { ...KEYS, accessKey: 'ANOTHER' } }],
    ['of an hour ago', { time: new Date(Date.now() - 3_600_000) }],
    ['of another path', { signedPath: '/s3/bucket/other' }],
  ])('%s is refused', async (_kind, signing) => {
    const server = await testServer({ s3Keys: KEYS });
    const url = server.url + PATH;
    const answer = await ask(url, 'GET', { headers: signed('GET', url, signing) });
    expect([answer.status, s3CodeIn(answer)]).toEqual([403, 'SignatureDoesNotMatch']);
  });

  test('is required if the server has keys, even without a token', async () => {
    const server = await testServer({ s3Keys: KEYS });
    expect(await ask(server.url + PATH)).toMatchObject({ status: 403 });
    const url = server.url + PATH;
    const headers = signed('GET', url);
    expect(await ask(url, 'PUT', { headers, body: Buffer.alloc(1) })).toMatchObject({ status: 403 });
  });
});

describe('S3', () => {
  test('answers a miss with S3’s error code', async () => {
    const server = await testServer();
    expect(s3CodeIn(await ask(server.url + PATH))).toBe('NoSuchKey');
  });

  test.each<Record<string, string>>([
    { 'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD' },
    { 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' },
    { 'x-amz-trailer': 'x-amz-checksum-crc32' },
    { 'x-amz-copy-source': '/bucket/other' },
    { 'if-none-match': '"other"' },
  ])('refuses %o as a plain object', async (headers) => {
    const server = await testServer();
    expect(await ask(server.url + PATH, 'PUT', { headers, body: Buffer.alloc(9) })).toMatchObject({
      status: 400,
    });
    expect(await ask(server.url + PATH)).toMatchObject({ status: 404 });
  });

  test('reports an encoded body, or a key that is not free, in S3’s form', async () => {
    const server = await testServer();
    const put = (headers: Record<string, string>) =>
      ask(server.url + PATH, 'PUT', { headers, body: Buffer.alloc(9) });
    expect(await put({ 'content-encoding': 'aws-chunked' })).toMatchObject({ status: 415 });
    expect(await put({ 'if-none-match': '*' })).toMatchObject({ status: 200 });
    const again = await put({ 'if-none-match': '*' });
    expect([again.status, s3CodeIn(again)]).toEqual([412, 'PreconditionFailed']);
  });
});

/** Of "123456789", the standard check value, and of 100,000 times that, which is a stream. */
const KNOWN = {
  crc32: ['y/Q5Jg==', 'QIWqDg=='],
  crc32c: ['4waSgw==', 'HIpP+A=='],
  sha1: ['98O8HYCOBHMq32eZZczDTKeuNEE=', '+46Z41nNB/EvDxU5HS3gi2jTBBU='],
  sha256: ['FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=', 'wcppYjF6UJ0qquhcRvXsJ4GE2Aq15efc0ZPt5/iF+qo='],
} as const;

describe.each(Object.entries(KNOWN))('x-amz-checksum-%s', (algorithm, known) => {
  test.each([
    ['whole', 1, known[0]],
    ['stream', 100_000, known[1]],
  ])('is checked if the body is a %s', async (_kind, times, right) => {
    const server = await testServer();
    const body = Buffer.from('123456789'.repeat(times));
    const put = (checksum: string) =>
      ask(server.url + PATH, 'PUT', { headers: { [`x-amz-checksum-${algorithm}`]: checksum }, body });
    const changed = Buffer.from(right, 'base64').fill(0).toString('base64');
    for (const wrong of [changed, right.toLowerCase(), '']) {
      const answer = await put(wrong);
      expect([answer.status, s3CodeIn(answer)]).toEqual([400, 'BadDigest']);
      expect(await ask(server.url + PATH)).toMatchObject({ status: 404 });
    }
    expect(await put(right)).toMatchObject({ status: 200 });
    expect((await ask(server.url + PATH)).body.equals(body)).toBe(true);
  });
});
