// Details of HTTP: the Host, the form of a target, conditional requests, encodings, ranges.
import { randomBytes } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { acceptsZstd } from '../../../server/protocols/shared/accept-encoding.ts';
import { STORE } from '../../../store/limits.ts';
import type { Store } from '../../../store/store.ts';
import { addressOf, contentOf, putOne, resultNaming } from '../../store/content.ts';
import { ask, codeIn, largeBlob, pathOf, RawConnection, storeWith, testServer } from '../rig.ts';

const BYTES = contentOf('a blob', 100);
const { hash: HASH } = digestOf(BYTES);
const TAG = `"${HASH}"`;
const CAS = `/cas/${HASH}`;
const { key: KEY } = addressOf('an action');

async function raw(server: { readonly port: number }, ...lines: string[]): Promise<string> {
  const connection = await RawConnection.to(server);
  connection.send(`${[...lines, 'connection: close', '', ''].join('\r\n')}`);
  return connection.untilClosed();
}

async function usedServer(options: Parameters<typeof testServer>[0] = {}) {
  const server = await testServer(options);
  await putOne(server.store, BYTES);
  return server;
}

describe('an HTTP request', () => {
  test.each([CAS, '/healthz', '/gradle/0123456789abcdef', '/uploads/x'])(
    'of HTTP/1.1 for %s without a Host is refused with a message',
    async (path) => {
      const answer = await raw(await usedServer({ readOnly: true }), `GET ${path} HTTP/1.1`);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('the request has no Host header');
    },
  );

  test('of HTTP/1.0 needs no Host', async () => {
    expect(await raw(await usedServer(), `GET ${CAS} HTTP/1.0`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([CAS, '/healthz', '/status?x=1', '/team/cas/0', '?x=1', ''])(
    'for http://HOST%s is a request for that path',
    async (path) => {
      const server = await usedServer();
      const asked = path.startsWith('/') ? path : `/${path}`;
      const answers = await Promise.all(
        [asked, `http://localhost:${server.port}${path}`, `HTTP://127.0.0.1${path}`].map(
          async (target) =>
            (await raw(server, `GET ${target} HTTP/1.1`, 'host: localhost')).split('\r\n', 1)[0],
        ),
      );
      expect(new Set(answers).size).toBe(1);
    },
  );

  test('is checked by the host in its target, not by its Host header', async () => {
    const server = await usedServer();
    const rebound = await raw(server, `GET http://example.org${CAS} HTTP/1.1`, 'host: localhost');
    expect(rebound).toContain('ASSAY_FOREIGN_HOST');
    const own = await raw(server, `GET http://localhost${CAS} HTTP/1.1`, 'host: example.org');
    expect(own).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each(['gzip', 'zstd', 'br, gzip'])(
    'with a body encoded as %s is refused with 415',
    async (encoding) => {
      const server = await usedServer();
      const headers = { 'content-encoding': encoding };
      for (const path of [CAS, `/ac/${KEY}`]) {
        const answer = await ask(server.url + path, 'PUT', { headers, body: BYTES });
        expect([answer.status, codeIn(answer)]).toEqual([415, 'ASSAY_BAD_ENCODING']);
        expect(answer.headers['accept-encoding']).toBe('identity');
      }
      const resumed = { ...headers, 'upload-complete': '?1' };
      expect(await ask(server.url + CAS, 'PUT', { headers: resumed, body: BYTES })).toMatchObject({
        status: 415,
      });
      const plain = { 'content-encoding': 'identity' };
      expect(await ask(server.url + CAS, 'PUT', { headers: plain, body: BYTES })).toMatchObject({
        status: 200,
      });
    },
  );
});

describe('a blob over HTTP', () => {
  test('announces that it supports ranges', async () => {
    const server = await usedServer();
    expect((await ask(server.url + CAS)).headers['accept-ranges']).toBe('bytes');
    expect((await ask(server.url + CAS, 'HEAD')).headers['accept-ranges']).toBe('bytes');
  });

  test.each<[string, number]>([
    [TAG, 200],
    ['*', 200],
    [`"other", ${TAG}`, 200],
    ['"other"', 412],
    [`W/${TAG}`, 412],
  ])('with If-Match: %s gets the status %i', async (tag, status) => {
    const server = await usedServer();
    for (const method of ['GET', 'HEAD'] as const) {
      const answer = await ask(server.url + CAS, method, { headers: { 'if-match': tag } });
      expect(answer).toMatchObject({ status });
    }
  });

  test('is stored subject to If-Match and If-None-Match', async () => {
    const server = await testServer();
    const put = async (headers: Record<string, string>) =>
      (await ask(server.url + CAS, 'PUT', { headers, body: BYTES })).status;
    expect(await put({ 'if-match': '*' })).toBe(412);
    expect(await put({ 'if-none-match': '*' })).toBe(200);
    expect(await put({ 'if-none-match': '*' })).toBe(412);
    expect(await put({ 'if-none-match': '*', 'upload-complete': '?1' })).toBe(412);
    expect(await put({ 'if-match': TAG })).toBe(200);
  });
});

describe('a result over HTTP', () => {
  test('has an ETag for each of its forms', async () => {
    const server = await usedServer();
    const url = `${server.url}/ac/${KEY}`;
    await ask(url, 'PUT', { body: resultNaming(digestOf(BYTES)) });
    const [plain, json] = [
      await ask(url),
      await ask(url, 'GET', { headers: { accept: 'application/json' } }),
    ];
    const [tag, jsonTag] = [String(plain.headers.etag), String(json.headers.etag)];
    expect(tag).toMatch(/^"[0-9a-f]{64}"$/);
    expect(jsonTag).not.toBe(tag);
    const statusFor = async (headers: Record<string, string>) => (await ask(url, 'GET', { headers })).status;
    expect(await statusFor({ 'if-none-match': tag })).toBe(304);
    expect(await statusFor({ 'if-none-match': jsonTag })).toBe(200);
    expect(await statusFor({ 'if-none-match': jsonTag, accept: 'application/json' })).toBe(304);
    expect(await statusFor({ 'if-match': tag })).toBe(200);
    expect(await statusFor({ 'if-match': '"other"' })).toBe(412);
    const replaced = await ask(url, 'PUT', {
      headers: { 'if-none-match': '*' },
      body: resultNaming(digestOf(BYTES)),
    });
    expect(replaced.status).toBe(412);
  });
});

describe('Accept-Encoding', () => {
  test.each(['zstd', 'gzip, zstd', 'ZSTD;q=0.5', 'br;q=1.0, zstd ; q=0.001', 'zstd, identity;q=1'])(
    '%s asks for zstd',
    (header) => expect(acceptsZstd(header)).toBe(true),
  );

  test.each([
    undefined,
    '',
    'gzip',
    '*',
    'zstd;q=0',
    'zstd;q=0.0',
    'identity, zstd;q=0.5',
    'x-zstd',
    'zstd-x',
  ])('%s does not ask for zstd', (header) => expect(acceptsZstd(header)).toBe(false));

  const SMALL = Buffer.alloc(5000, 'some words ');
  const LARGE = Buffer.concat([contentOf('x', 10), Buffer.alloc(3 * STORE.chunkBytes + 7, 'many words ')]);
  const ZSTD = { 'accept-encoding': 'zstd' };

  /** As a disk store returns them: small blobs whole, large ones in chunks. */
  function storeOf(bytes: Buffer): Store {
    if (bytes.length <= STORE.inlineBytes)
      return storeWith({ get: async () => ({ size: bytes.length, bytes }) });
    return storeWith({
      get: async () => largeBlob(bytes.length, (offset, length) => inChunks(bytes, offset, length)),
    });
  }

  async function* inChunks(
    bytes: Buffer,
    offset = 0,
    length = bytes.length - offset,
  ): AsyncGenerator<Buffer> {
    for (let at = offset; at < offset + length; at += STORE.chunkBytes) {
      yield bytes.subarray(at, Math.min(at + STORE.chunkBytes, offset + length));
    }
  }

  test.each([SMALL, LARGE])('zstd is sent if it is accepted, with its own ETag (%#)', async (bytes) => {
    const server = await testServer({ store: storeOf(bytes) });
    const url = server.url + pathOf(digestOf(bytes));
    const plain = await ask(url);
    const compressed = await ask(url, 'GET', { headers: ZSTD });
    expect([plain.status, plain.headers['content-encoding'], plain.headers.vary]).toEqual([
      200,
      undefined,
      'accept-encoding',
    ]);
    expect(compressed).toMatchObject({
      status: 200,
      headers: { 'content-encoding': 'zstd', vary: 'accept-encoding' },
    });
    expect(zstdDecompressSync(compressed.body).equals(bytes)).toBe(true);
    expect(compressed.body.length).toBeLessThan(bytes.length / 10);
    expect(compressed.headers.etag).not.toBe(plain.headers.etag);
    const known = { ...ZSTD, 'if-none-match': String(compressed.headers.etag) };
    expect(await ask(url, 'GET', { headers: known })).toMatchObject({ status: 304 });
    const head = await ask(url, 'HEAD', { headers: ZSTD });
    expect(head).toMatchObject({ status: 200, headers: { 'content-encoding': 'zstd' } });
  });

  test('ranges and conditional requests get the content uncompressed', async () => {
    const server = await testServer({ store: storeOf(LARGE) });
    const digest = digestOf(LARGE);
    const url = server.url + pathOf(digest);
    const part = await ask(url, 'GET', { headers: { ...ZSTD, range: 'bytes=5-104' } });
    expect([part.status, part.body.equals(LARGE.subarray(5, 105))]).toEqual([206, true]);
    expect(part.headers['content-encoding']).toBeUndefined();
    const tagged = await ask(url, 'GET', { headers: { ...ZSTD, 'if-match': `"${digest.hash}"` } });
    expect([tagged.status, tagged.body.equals(LARGE)]).toEqual([200, true]);
  });

  test('incompressible content, and HTTP/1.0 requests, are answered uncompressed', async () => {
    const random = randomBytes(5000);
    const one = await testServer({ store: storeOf(random) });
    const answer = await ask(one.url + CAS, 'GET', { headers: ZSTD });
    expect([answer.headers['content-encoding'], answer.body.equals(random)]).toEqual([undefined, true]);
    const two = await testServer({ store: storeOf(LARGE) });
    const old = await raw(two, `GET ${CAS} HTTP/1.0`, 'accept-encoding: zstd');
    expect(old).toContain(`content-length: ${LARGE.length}`);
  });

  test('a compressed download of a blob that ends early is cut off', async () => {
    const server = await testServer({
      store: storeWith({
        get: async () =>
          largeBlob(LARGE.length, async function* () {
            yield LARGE.subarray(0, 2 * STORE.chunkBytes);
          }),
      }),
    });
    await expect(ask(server.url + CAS, 'GET', { headers: ZSTD })).rejects.toThrow();
  });

  test('downloads beyond the limit of concurrent compressions are sent uncompressed', async () => {
    const server = await testServer({ store: storeOf(LARGE), limits: { maxCompressions: 0 } });
    const answer = await ask(server.url + CAS, 'GET', { headers: ZSTD });
    expect([answer.headers['content-encoding'], answer.body.equals(LARGE)]).toEqual([undefined, true]);
  });
});

test('no browser guesses the type of stored bytes', async () => {
  const server = await testServer();
  const page = Buffer.from(`<script>alert(1)</script>${' '.repeat(20_000)}`);
  const digest = await putOne(server.store, page);
  await server.store.results.put(addressOf('an action'), resultNaming(digest));
  const cas = server.url + pathOf(digest);
  for (const [url, headers] of [
    [cas, {}],
    [cas, { range: 'bytes=0-99' }],
    [cas, { 'accept-encoding': 'zstd' }],
    [`${server.url}/ac/${KEY}`, {}],
    [`${server.url}/ac/${KEY}`, { accept: 'application/json' }],
  ] as const)
    expect((await ask(url, 'GET', { headers })).headers).toMatchObject({
      'x-content-type-options': 'nosniff',
    });
});
