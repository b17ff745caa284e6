// The contract of every protocol with opaque keys, as one suite: an artifact is returned complete or not at
// all, in its own key space, only with permission, and within the limits.
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import type { Store } from '../../../store/store.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { contentOf } from '../../store/content.ts';
import { EVERYBODY } from '../access/identities.ts';
import { ask, largeBlob, putHead, RawConnection, testServer } from '../rig.ts';

export interface OpaqueProtocol {
  /** The name in the metrics. */
  readonly name: string;
  readonly path: string;
  /** The same key in another namespace, and another key in the same namespace. */
  readonly elsewhere: string;
  readonly other: string;
  /** Paths below the protocol's base that are not keys. */
  readonly astray: readonly string[];
  /** The status of a successful PUT. */
  readonly stored: number;
  /** The outcome of a second content under the same key. */
  readonly second: { readonly status: number; readonly stays: 'first' | 'second' };
  /** The status of a PUT that is not allowed, for a tool that fails the build otherwise. By default 403. */
  readonly denied?: number;
}

const TOKEN = 'a-long-token-0123456789';
const WITH_TOKEN = { authorization: `Bearer ${TOKEN}` };
const SIZES = { empty: 0, small: 1000, large: 3 * STORE.chunkBytes + 17 };

export function describeOpaque({
  name,
  path,
  elsewhere,
  other,
  astray,
  stored,
  second,
  denied = 403,
}: OpaqueProtocol): void {
  describe(`an artifact by ${name}`, () => {
    test.each(Object.entries(SIZES))('that is %s is returned', async (kind, size) => {
      const server = await testServer();
      const bytes = contentOf(kind, size);
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
      expect(await ask(server.url + path, 'PUT', { body: bytes })).toMatchObject({ status: stored });
      const nosniff = { 'x-content-type-options': 'nosniff' };
      const head = { status: 200, headers: { 'content-length': String(size), ...nosniff } };
      const got = await ask(server.url + path);
      expect(got).toMatchObject(head);
      expect(got.body.equals(bytes)).toBe(true);
      expect(await ask(server.url + path, 'HEAD')).toMatchObject({ ...head, body: Buffer.alloc(0) });
    });

    describe('that a token’s namespace holds', () => {
      const as = (name: string) => ({ authorization: `Bearer ${name}` });
      const put = (url: string, name: string, body: Buffer) =>
        ask(url + path, 'PUT', { body, headers: as(name) });
      const get = (url: string, name: string) => ask(url + path, 'GET', { headers: as(name) });

      test('is read by a pull request, which is told where it was found', async () => {
        const { url } = await testServer({ identities: EVERYBODY });
        const bytes = contentOf('of main', SIZES.small);
        expect(await put(url, 'main', bytes)).toMatchObject({ status: stored });
        const found = await get(url, 'pull');
        expect(found).toMatchObject({ status: 200, headers: { 'assay-namespace': 'acme/app/main' } });
        expect(found.body.equals(bytes)).toBe(true);
      });

      test('is never written by a pull request', async () => {
        const { url } = await testServer({ identities: EVERYBODY });
        expect(await put(url, 'pull', contentOf('of the pull request', 100))).toMatchObject({
          status: stored,
        });
        expect(await get(url, 'main')).toMatchObject({ status: 404 });
        expect(await get(url, 'sibling')).toMatchObject({ status: 404 });
        const bytes = contentOf('of main', 101);
        expect(await put(url, 'main', bytes)).toMatchObject({ status: stored });
        expect((await get(url, 'main')).body.equals(bytes)).toBe(true);
        expect((await get(url, 'sibling')).body.equals(bytes)).toBe(true);
        const own = await get(url, 'pull');
        expect(own.headers).toMatchObject({ 'assay-namespace': 'acme/app/pr/1' });
        expect(own.body).toHaveLength(100);
      });

      test('is hidden from another tenant', async () => {
        const { url } = await testServer({ identities: EVERYBODY });
        await put(url, 'main', contentOf('of main', SIZES.small));
        expect(await get(url, 'other')).toMatchObject({ status: 404 });
      });

      test('takes what the token’s rights allow, and nothing without a token', async () => {
        const { url } = await testServer({ identities: EVERYBODY });
        const bytes = contentOf('by the writer', SIZES.small);
        expect(await put(url, 'reader', bytes)).toMatchObject({ status: denied });
        expect(await get(url, 'reader')).toMatchObject({ status: 404 });
        expect(await put(url, 'writer', bytes)).toMatchObject({ status: stored });
        expect(await get(url, 'writer')).toMatchObject({ status: 403 });
        expect((await get(url, 'reader')).body.equals(bytes)).toBe(true);
        expect(await get(url, 'nobody')).toMatchObject({ status: 401 });
        expect(await ask(url + path)).toMatchObject({ status: 401 });
      });
    });

    test('is found only under its own key in its own namespace', async () => {
      const server = await testServer();
      await ask(server.url + path, 'PUT', { body: contentOf('one', SIZES.small) });
      expect(await ask(server.url + other)).toMatchObject({ status: 404 });
      expect(await ask(server.url + elsewhere)).toMatchObject({ status: 404 });
    });

    test('may be uploaded in chunks, and downloaded by range', async () => {
      const server = await testServer();
      const bytes = contentOf('chunked', SIZES.large);
      const body = Readable.from([bytes.subarray(0, 100), bytes.subarray(100)]);
      expect(await ask(server.url + path, 'PUT', { body })).toMatchObject({ status: stored });
      const part = await ask(server.url + path, 'GET', { headers: { range: 'bytes=99-200' } });
      expect([part.status, part.body.equals(bytes.subarray(99, 201))]).toEqual([206, true]);
    });

    test('may be sent twice', async () => {
      const server = await testServer();
      const body = contentOf('same', SIZES.small);
      for (const _time of [1, 2]) {
        expect(await ask(server.url + path, 'PUT', { body })).toMatchObject({ status: stored });
      }
      expect(server.logged()).not.toContain('diverged');
    });

    test(`is the ${second.stays} of two contents${second.stays === 'first' ? ', which is an event' : ''}`, async () => {
      const server = await testServer();
      const [one, two] = [contentOf('one', SIZES.small), contentOf('two', SIZES.small)];
      await ask(server.url + path, 'PUT', { body: one });
      expect(await ask(server.url + path, 'PUT', { body: two })).toMatchObject({ status: second.status });
      const got = await ask(server.url + path);
      expect(got.body.equals(second.stays === 'first' ? one : two)).toBe(true);
      expect(server.logged().includes('store: diverged')).toBe(second.stays === 'first');
    });

    test('does not exist if its upload broke off', async () => {
      const server = await testServer();
      for (const size of [1000, SIZES.large]) {
        const connection = await RawConnection.to(server);
        connection.send(putHead(path, `content-length: ${size}`));
        connection.send(Buffer.alloc(size - 1));
        connection.socket.end();
        await connection.untilClosed();
      }
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
    });

    test.each([
      ['gzipped', 'content-encoding: gzip', 415],
      ['gzipped in transit', 'transfer-encoding: gzip, chunked', 400],
      ['only a part', 'content-range: bytes 0-4/10', 400],
      ['conditional on another content', 'if-match: "other"', 412],
      ['conditional on existing content', 'if-match: *', 412],
      ['sent with another MD5', 'content-md5: 1B2M2Y8AsgTpgAmY7PhCfg==', 400],
    ])('is refused if it is %s', async (_kind, header, status) => {
      const server = await testServer();
      const connection = await RawConnection.to(server);
      const isChunked = header.includes('chunked');
      connection.send(
        putHead(path, 'connection: close', header, ...(isChunked ? [] : ['content-length: 5'])),
      );
      connection.send(isChunked ? '5\r\nbytes\r\n0\r\n\r\n' : 'bytes');
      expect(await connection.untilClosed()).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
    });

    test('with If-None-Match: * is stored only for a free key, also concurrently', async () => {
      const server = await testServer();
      const onlyIfFree = (body: Buffer) =>
        ask(server.url + path, 'PUT', { headers: { 'if-none-match': '*' }, body });
      const bodies = [1, 2, 3, 4].map((n) => Buffer.from(`content ${n}`));
      const answers = await Promise.all(bodies.map(onlyIfFree));
      const taken = bodies.filter((_, n) => Number(answers[n]?.status) < 300);
      expect(answers.filter(({ status }) => status === 412)).toHaveLength(3);
      expect([(await ask(server.url + path)).body]).toEqual(taken);
      expect(await onlyIfFree(taken[0] ?? Buffer.alloc(0))).toMatchObject({ status: 412 });
      expect(await onlyIfFree(contentOf('large', SIZES.large))).toMatchObject({ status: 412 });
      expect([(await ask(server.url + path)).body]).toEqual(taken);
    });

    test.each([SIZES.small, SIZES.large])('of %i bytes is checked against its Content-MD5', async (size) => {
      const server = await testServer();
      const [body, other] = [contentOf('right', size), contentOf('other', size)];
      const headers = { 'content-md5': hash('md5', body, 'base64') };
      expect(await ask(server.url + path, 'PUT', { headers, body: other })).toMatchObject({ status: 400 });
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
      expect(await ask(server.url + path, 'PUT', { headers, body })).toMatchObject({ status: stored });
      expect((await ask(server.url + path)).body.equals(body)).toBe(true);
    });

    test.each(['null', 'undefined'])('requires a token even if the token is %j', async (token) => {
      const server = await testServer({ token });
      expect(await ask(server.url + path)).toMatchObject({ status: 401 });
    });

    test('is a miss if its content is gone', async () => {
      const lost: Store = openMemoryStore();
      const server = await testServer({
        store: { ...lost, blobs: { ...lost.blobs, get: async () => undefined } },
      });
      await ask(server.url + path, 'PUT', { body: contentOf('lost', SIZES.small) });
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
    });

    test('that proves damaged half-way is never delivered as complete', async () => {
      const damaged: Store = openMemoryStore();
      const get = async () =>
        largeBlob(2000, async function* () {
          yield Buffer.alloc(1000);
          throw new Error('the rest is not what was stored');
        });
      const server = await testServer({ store: { ...damaged, blobs: { ...damaged.blobs, get } } });
      await ask(server.url + path, 'PUT', { body: Buffer.alloc(2000) });
      const outcome = await ask(server.url + path).then(
        ({ status }) => status,
        () => 'cut off',
      );
      expect(outcome).not.toBe(200);
    });

    test('is neither accepted nor returned without the token', async () => {
      const server = await testServer({ token: TOKEN });
      const body = contentOf('guarded', SIZES.small);
      expect(await ask(server.url + path, 'PUT', { body })).toMatchObject({ status: 401 });
      expect(await server.store.blobs.get(digestOf(body).hash)).toBeUndefined();
      const headers = WITH_TOKEN;
      expect(await ask(server.url + path, 'PUT', { body, headers })).toMatchObject({ status: stored });
      expect(await ask(server.url + path)).toMatchObject({ status: 401 });
      expect(await ask(server.url + path, 'GET', { headers })).toMatchObject({ status: 200 });
    });

    test('is refused by a read-only server', async () => {
      const server = await testServer({ readOnly: true });
      expect(await ask(server.url + path, 'PUT', { body: Buffer.alloc(9) })).toMatchObject({
        status: denied,
      });
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
    });

    test('above the size limit is refused', async () => {
      const server = await testServer({ limits: { maxBlobBytes: 100 } });
      expect(await ask(server.url + path, 'PUT', { body: Buffer.alloc(101) })).toMatchObject({ status: 413 });
      const body = Readable.from([Buffer.alloc(60), Buffer.alloc(60)]);
      expect(await ask(server.url + path, 'PUT', { body })).toMatchObject({ status: 413 });
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
    });

    test('of a client that is too slow is refused', async () => {
      const limits = { noProgressMs: 50, sweepMs: 10, lingerMs: 10 };
      const server = await testServer({ limits });
      const connection = await RawConnection.to(server);
      connection.send(`${putHead(path, 'content-length: 100000')}the beginning`);
      expect(await connection.untilClosed()).toContain('HTTP/1.1 408');
      expect(await ask(server.url + path)).toMatchObject({ status: 404 });
    });

    test.each(astray)('does not exist at the path %s', async (address) => {
      const server = await testServer();
      expect((await ask(server.url + address)).status).toBe(400);
      expect((await ask(server.url + address, 'PUT', { body: Buffer.alloc(9) })).status).toBe(400);
    });

    test('cannot be deleted', async () => {
      const server = await testServer();
      const answer = await ask(server.url + path, 'DELETE');
      expect(answer.status).toBe(405);
      expect(answer.headers.allow).toContain('PUT');
    });

    test('is counted in the metrics', async () => {
      const server = await testServer();
      await ask(server.url + path);
      await ask(server.url + path, 'PUT', { body: Buffer.alloc(9) });
      await ask(server.url + path);
      const metrics = (await ask(`${server.url}/metrics`)).body.toString();
      expect(metrics).toContain(`assay_http_requests_total{route="${name}",method="PUT",status="2xx"} 1`);
      expect(metrics).toContain(`assay_lookups_total{kind="${name}",outcome="hit"} 1`);
      expect(metrics).toContain(`assay_lookups_total{kind="${name}",outcome="miss"} 1`);
    });
  });
}
