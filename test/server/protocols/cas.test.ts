// /cas over HTTP: the behaviour that every client of the protocol relies on.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestOf, EMPTY } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { contentOf, streamOf } from '../../store/content.ts';
import {
  ask,
  codeIn,
  pathOf,
  putHead,
  RawConnection,
  storeWith,
  type TestServer,
  testServer,
} from '../rig.ts';

const MIB = 1024 * 1024;

const STORES = {
  memory: async () => openMemoryStore(),
  disk: async () => {
    const directory = mkdtempSync(join(tmpdir(), 'assay-server-'));
    onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
    return openDiskStore({ directory });
  },
} as const;

describe.each(['memory', 'disk'] as const)('on a %s store', (kind) => {
  const start = (): Promise<TestServer> => testServer({ store: STORES[kind] });

  test.each([
    ['small', 5],
    ['of just one string', 8 * 1024],
    ['inline', 60_000],
    ['large', 3 * MIB + 7],
  ])('GET returns what PUT stored, %s', async (name, size) => {
    const server = await start();
    const bytes = contentOf(name, size);
    const url = server.url + pathOf(digestOf(bytes), '/any/prefix');
    const put = await ask(url, 'PUT', { body: bytes });
    expect(put).toMatchObject({ status: 200, headers: { 'content-length': '0' } });
    const got = await ask(url);
    expect(got).toMatchObject({
      status: 200,
      headers: { 'content-length': String(size), 'content-type': 'application/octet-stream' },
    });
    expect(got.body.equals(bytes)).toBe(true);
  });

  test('a chunked body without a length is accepted', async () => {
    const server = await start();
    const bytes = contentOf('chunked', 2 * MIB + 1);
    const url = server.url + pathOf(digestOf(bytes));
    expect(await ask(url, 'PUT', { body: Readable.from(streamOf(bytes)) })).toMatchObject({ status: 200 });
    expect((await ask(url)).body.equals(bytes)).toBe(true);
  });

  test('content with another digest is refused and not stored', async () => {
    const server = await start();
    for (const size of [100, MIB]) {
      const announced = digestOf(contentOf('announced', size));
      const url = server.url + pathOf(announced);
      const answer = await ask(url, 'PUT', { body: contentOf('other', size) });
      expect([answer.status, codeIn(answer)]).toEqual([400, 'ASSAY_DIGEST_MISMATCH']);
      expect(await ask(url)).toMatchObject({ status: 404 });
    }
  });

  test('a Range request gets that part', async () => {
    const server = await start();
    for (const size of [1000, 2 * MIB]) {
      const bytes = contentOf('ranges', size);
      await server.store.blobs.put(digestOf(bytes), bytes);
      const url = server.url + pathOf(digestOf(bytes));
      const part = async (range: string) => ask(url, 'GET', { headers: { range } });
      const middle = await part('bytes=10-19');
      expect(middle).toMatchObject({
        status: 206,
        headers: { 'content-range': `bytes 10-19/${size}`, 'content-length': '10' },
      });
      expect(middle.body.equals(bytes.subarray(10, 20))).toBe(true);
      expect((await part(`bytes=${size - 5}-`)).body.equals(bytes.subarray(size - 5))).toBe(true);
      expect((await part('bytes=-7')).body.equals(bytes.subarray(size - 7))).toBe(true);
      expect((await part(`bytes=${size / 2}-${size * 2}`)).body.equals(bytes.subarray(size / 2))).toBe(true);
      const beyond = await part(`bytes=${size}-`);
      expect(beyond).toMatchObject({ status: 416, headers: { 'content-range': `bytes */${size}` } });
      expect(codeIn(beyond)).toBe('ASSAY_BAD_RANGE');
      expect((await part('bytes=0-1,4-5')).body.length).toBe(size);
    }
  });
});

test('HEAD returns the length and no body, for small and large blobs', async () => {
  const large = { size: 5_000_000_000, chunks: neverRead };
  const small = contentOf('small', 10);
  const server = await testServer();
  await server.store.blobs.put(digestOf(small), small);
  expect(await ask(server.url + pathOf(digestOf(small)), 'HEAD')).toMatchObject({
    status: 200,
    headers: { 'content-length': '10' },
    body: Buffer.alloc(0),
  });
  const other = await testServer({ store: storeWith({ get: async () => large }) });
  expect(await ask(other.url + pathOf(digestOf(small)), 'HEAD')).toMatchObject({
    status: 200,
    headers: { 'content-length': '5000000000' },
  });
});

async function* neverRead(): AsyncGenerator<Buffer> {
  yield await Promise.reject(new Error('HEAD reads no content'));
}

test('a miss is 404 with a message for people, and without a body for HEAD', async () => {
  const server = await testServer();
  const url = server.url + pathOf(digestOf(contentOf('nowhere', 1)));
  const miss = await ask(url);
  expect(miss.status).toBe(404);
  expect(JSON.parse(miss.body.toString())).toEqual({
    code: 'ASSAY_NOT_FOUND',
    message: expect.any(String),
    wayOut: expect.any(String),
  });
  expect(await ask(url, 'HEAD')).toMatchObject({ status: 404, body: Buffer.alloc(0) });
});

test('a blob has an ETag, is immutable, and is not sent again for If-None-Match', async () => {
  const server = await testServer();
  const bytes = contentOf('tagged', 100);
  const digest = await server.store.blobs.put(digestOf(bytes), bytes);
  const url = server.url + pathOf(digest);
  const { headers } = await ask(url);
  expect(headers).toMatchObject({
    etag: `"${digest.hash}"`,
    'cache-control': expect.stringContaining('immutable'),
  });
  for (const known of [`"${digest.hash}"`, `W/"${digest.hash}"`, `"a", "${digest.hash}"`, '*']) {
    const answer = await ask(url, 'GET', { headers: { 'if-none-match': known } });
    expect([known, answer.status, answer.body.length]).toEqual([known, 304, 0]);
  }
  expect(await ask(url, 'GET', { headers: { 'if-none-match': '"other"' } })).toMatchObject({ status: 200 });
  const elsewhere = server.url + pathOf(digestOf(contentOf('nowhere', 1)));
  expect(await ask(elsewhere, 'GET', { headers: { 'if-none-match': '*' } })).toMatchObject({ status: 404 });
});

test('a range with another If-Range gets the whole blob', async () => {
  const server = await testServer();
  const bytes = contentOf('if-range', 100);
  const { hash } = await server.store.blobs.put(digestOf(bytes), bytes);
  const url = `${server.url}/cas/${hash}`;
  const part = async (tag: string) => ask(url, 'GET', { headers: { range: 'bytes=0-0', 'if-range': tag } });
  expect(await part(`"${hash}"`)).toMatchObject({ status: 206 });
  expect(await part('"other"')).toMatchObject({ status: 200 });
});

test('the empty blob always exists, and can be put without a body', async () => {
  const server = await testServer();
  const url = server.url + pathOf(EMPTY);
  expect(await ask(url)).toMatchObject({ status: 200, headers: { 'content-length': '0' } });
  expect(await ask(url, 'PUT')).toMatchObject({ status: 200 });
});

test('a request without body headers has no body, and the connection stays open', async () => {
  const server = await testServer();
  const raw = await RawConnection.to(server);
  raw.send(putHead(pathOf(EMPTY)));
  await raw.until('HTTP/1.1 200');
  raw.send(putHead(pathOf(digestOf(contentOf('not empty', 10)))));
  await raw.until('ASSAY_DIGEST_MISMATCH');
  raw.send(putHead(pathOf(EMPTY), 'expect: 100-continue', 'connection: close'));
  expect(await raw.untilClosed()).toMatch(/HTTP\/1.1 200 .*HTTP\/1.1 400 .*HTTP\/1.1 200 /s);
});

test('blobs are shared by all namespaces', async () => {
  const server = await testServer();
  const bytes = contentOf('shared', 10);
  await ask(server.url + pathOf(digestOf(bytes), '/one'), 'PUT', { body: bytes });
  expect(await ask(server.url + pathOf(digestOf(bytes), '/two/three'))).toMatchObject({ status: 200 });
});

test('other methods are refused, with an Allow header', async () => {
  const server = await testServer();
  const url = server.url + pathOf(EMPTY);
  for (const method of ['POST', 'DELETE'] as const) {
    const answer = await ask(url, method, { headers: { 'content-type': 'no/such;;type' } });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, PUT' } });
    expect(codeIn(answer)).toBe('ASSAY_METHOD_NOT_ALLOWED');
  }
});

test('an invalid content type does not prevent an upload', async () => {
  const server = await testServer();
  const bytes = contentOf('typed', 10);
  const headers = { 'content-type': ';;;' };
  expect(await ask(server.url + pathOf(digestOf(bytes)), 'PUT', { headers, body: bytes })).toMatchObject({
    status: 200,
  });
});

test('an error of the store is reported without its paths', async () => {
  const failing = async () => {
    throw new Error('EIO: /secret/folder');
  };
  const server = await testServer({ store: storeWith({ get: failing }) });
  const answer = await ask(server.url + pathOf(EMPTY));
  expect([answer.status, codeIn(answer)]).toEqual([500, 'ASSAY_INTERNAL']);
  expect(answer.body.toString()).not.toContain('/secret');
  expect(server.logged()).toContain('/secret/folder');
});
