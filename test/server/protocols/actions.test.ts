// GitHub Actions' cache service, version 2, as @actions/cache 6.3, wireit 0.14 (camelCase, numbers) and
// sccache 0.17 (protobuf) use it; lage's block uploads are the same.
import { describe, expect, test } from 'vitest';
import {
  CreateCacheEntryRequest,
  CreateCacheEntryResponse,
  FinalizeCacheEntryUploadRequest,
  FinalizeCacheEntryUploadResponse,
  GetCacheEntryDownloadURLRequest,
  GetCacheEntryDownloadURLResponse,
} from '../../../core/proto/generated/actions_cache.ts';
import { STORE } from '../../../store/limits.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { contentOf } from '../../store/content.ts';
import { type Answer, ask, putHead, RawConnection, type TestServer, testServer } from '../rig.ts';

const SERVICE = '/twirp/github.actions.results.api.v1.CacheService';
const TOKEN = 'a-long-token-0123456789';
const BLOB = { 'x-ms-blob-type': 'BlockBlob' };

async function call(server: TestServer, method: string, message: object, base = ''): Promise<Answer> {
  return ask(`${server.url}${base}${SERVICE}/${method}`, 'POST', {
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(message)),
  });
}

function json({ body }: Answer): Record<string, unknown> {
  return JSON.parse(body.toString());
}

/** A server that takes an idle job for dead at once. */
const WITHOUT_PATIENCE = { limits: { reservationMs: 0 } };

function reserve(server: TestServer, key: string, version = 'v'): Promise<Answer> {
  return call(server, 'CreateCacheEntry', { key, version });
}

function refused(answer: Answer): unknown[] {
  return [answer.status, json(answer).code];
}

async function uploadUrl(server: TestServer, key: string, version = 'v'): Promise<string> {
  const { signed_upload_url: url } = json(await call(server, 'CreateCacheEntry', { key, version }));
  return String(url);
}

function finalize(server: TestServer, key: string, size: number, version = 'v'): Promise<Answer> {
  return call(server, 'FinalizeCacheEntryUpload', { key, version, size_bytes: String(size) });
}

async function save(server: TestServer, key: string, bytes: Buffer, version = 'v'): Promise<void> {
  const url = await uploadUrl(server, key, version);
  expect(await ask(url, 'PUT', { headers: BLOB, body: bytes })).toMatchObject({ status: 201 });
  expect(json(await finalize(server, key, bytes.length, version))).toMatchObject({ ok: true });
}

interface Found {
  readonly key: unknown;
  readonly bytes: Buffer;
}

async function restore(
  server: TestServer,
  key: string,
  restoreKeys: readonly string[] = [],
  version = 'v',
): Promise<Found | undefined> {
  const message = { key, restore_keys: restoreKeys, version };
  const answer = json(await call(server, 'GetCacheEntryDownloadURL', message));
  if (!answer.ok) return undefined;
  return { key: answer.matched_key, bytes: (await ask(String(answer.signed_download_url))).body };
}

describe('a cache entry', () => {
  test.each([0, 1000, 3 * STORE.chunkBytes])('of %i bytes is returned under its key', async (size) => {
    const server = await testServer();
    const bytes = contentOf('cache', size);
    expect(await restore(server, 'node-1')).toBeUndefined();
    await save(server, 'node-1', bytes);
    const found = await restore(server, 'node-1');
    expect([found?.key, found?.bytes.equals(bytes)]).toEqual(['node-1', true]);
  });

  test('is found by a prefix of its key: the first prefix wins, then the newest entry', async () => {
    const server = await testServer();
    for (const key of ['node-linux-1', 'node-linux-2', 'node-mac-3', 'other-4']) {
      await save(server, key, Buffer.from(key));
    }
    const keyFor = async (key: string, ...prefixes: string[]) => (await restore(server, key, prefixes))?.key;
    expect(await keyFor('node-linux-9', 'node-linux-', 'node-')).toBe('node-linux-2');
    expect(await keyFor('node-bsd-9', 'node-bsd-', 'node-')).toBe('node-mac-3');
    expect(await keyFor('node-linux-1', 'node-')).toBe('node-linux-1');
    expect(await keyFor('node-linux', 'none-')).toBeUndefined();
  });

  test('belongs to one version and one namespace', async () => {
    const server = await testServer();
    await save(server, 'key', Buffer.from('x'), 'version-1');
    expect(await restore(server, 'key', ['k'], 'version-2')).toBeUndefined();
    const elsewhere = await call(
      server,
      'GetCacheEntryDownloadURL',
      { key: 'key', version: 'version-1' },
      '/actions/team',
    );
    expect(json(elsewhere)).toMatchObject({ ok: false });
  });

  test('is not found before it is finalized', async () => {
    const server = await testServer();
    const bytes = contentOf('cache', 1000);
    await ask(await uploadUrl(server, 'key'), 'PUT', { headers: BLOB, body: bytes });
    expect(await restore(server, 'key', ['k'])).toBeUndefined();
    await finalize(server, 'key', bytes.length);
    expect(await restore(server, 'key')).toBeDefined();
  });

  test('is not finalized with a wrong size, or without an upload', async () => {
    const server = await testServer();
    expect(await finalize(server, 'key', 4)).toMatchObject({ status: 404 });
    await ask(await uploadUrl(server, 'key'), 'PUT', { headers: BLOB, body: Buffer.from('four') });
    expect(await finalize(server, 'key', 5)).toMatchObject({ status: 400 });
    expect(await restore(server, 'key')).toBeUndefined();
  });

  test('is written only once', async () => {
    const server = await testServer(WITHOUT_PATIENCE);
    const late = await uploadUrl(server, 'key');
    await save(server, 'key', Buffer.from('first'));
    expect(refused(await reserve(server, 'key'))).toEqual([409, 'already_exists']);
    await ask(late, 'PUT', { headers: BLOB, body: Buffer.from('second') });
    expect(await finalize(server, 'key', 6)).toMatchObject({ status: 409 });
    expect((await restore(server, 'key'))?.bytes.toString()).toBe('first');
    expect(server.logged()).toContain('store: diverged');
  });

  test('is reserved by one job at a time, per version and namespace', async () => {
    const server = await testServer();
    const url = await uploadUrl(server, 'key');
    expect(refused(await reserve(server, 'key'))).toEqual([409, 'already_exists']);
    await ask(url, 'PUT', { headers: BLOB, body: Buffer.from('mine') });
    expect(refused(await reserve(server, 'key'))).toEqual([409, 'already_exists']);
    expect(await reserve(server, 'key', 'w')).toMatchObject({ status: 200 });
    expect(await reserve(server, 'other')).toMatchObject({ status: 200 });
    const elsewhere = { key: 'key', version: 'v' };
    expect(await call(server, 'CreateCacheEntry', elsewhere, '/actions/team')).toMatchObject({ status: 200 });
    expect(await finalize(server, 'key', 4)).toMatchObject({ status: 200 });
    expect(await finalize(server, 'key', 4)).toMatchObject({ status: 200 }); // its client did not get the response
    expect((await restore(server, 'key'))?.bytes.toString()).toBe('mine');
  });

  test('is not blocked by a dead job, and another job does not finalize the dead job’s upload', async () => {
    const server = await testServer(WITHOUT_PATIENCE);
    await ask(await uploadUrl(server, 'key'), 'PUT', { headers: BLOB, body: Buffer.from('of the dead') });
    const url = await uploadUrl(server, 'key');
    expect(await finalize(server, 'key', 5)).toMatchObject({ status: 400 });
    await ask(url, 'PUT', { headers: BLOB, body: Buffer.from('alive') });
    expect(await finalize(server, 'key', 5)).toMatchObject({ status: 200 });
    expect((await restore(server, 'key'))?.bytes.toString()).toBe('alive');
  });

  test('is not finalized if two jobs uploaded different content of the same size', async () => {
    const server = await testServer(WITHOUT_PATIENCE);
    const [one, two] = [await uploadUrl(server, 'key'), await uploadUrl(server, 'key')];
    await ask(one, 'PUT', { headers: BLOB, body: Buffer.from('one') });
    await ask(two, 'PUT', { headers: BLOB, body: Buffer.from('two') });
    expect(refused(await finalize(server, 'key', 3))).toEqual([409, 'already_exists']);
    expect(await restore(server, 'key')).toBeUndefined();
    await ask(two, 'PUT', { headers: BLOB, body: Buffer.from('one') });
    expect(await finalize(server, 'key', 3)).toMatchObject({ status: 200 });
    expect((await restore(server, 'key'))?.bytes.toString()).toBe('one');
  });

  test.each(['labels', 'results'] as const)(
    'can be saved again after the server failed to write its %s',
    async (part) => {
      const store = openMemoryStore();
      const failing = new Set(['once']);
      const put = (...args: never[]) => {
        const isEntry = JSON.stringify(args[0]).includes('~actions/');
        if (isEntry && failing.delete('once')) throw new Error('the machine was switched off');
        return Reflect.apply(store[part].put, store[part], args);
      };
      const server = await testServer({ store: { ...store, [part]: { ...store[part], put } } });
      await ask(await uploadUrl(server, 'key'), 'PUT', { headers: BLOB, body: Buffer.from('first') });
      expect(await finalize(server, 'key', 5)).toMatchObject({ status: 500 });
      expect(await restore(server, 'key', ['k'])).toBeUndefined();
      await save(server, 'key', Buffer.from('second'));
      expect((await restore(server, 'key', ['k']))?.bytes.toString()).toBe('second');
    },
  );

  test('is not finalized by a server that has restarted since, and can be saved again at once', async () => {
    const store = openMemoryStore();
    const first = await testServer({ store });
    await ask(await uploadUrl(first, 'key'), 'PUT', { headers: BLOB, body: Buffer.from('first') });
    // Another object over the same content, as after a restart: reservations belong to the object.
    const second = await testServer({ store: { ...store } });
    const answer = await finalize(second, 'key', 5);
    expect(refused(answer)).toEqual([404, 'not_found']);
    expect(json(answer).msg).toContain('no upload since the server started; save it again');
    expect(await restore(second, 'key', ['k'])).toBeUndefined();
    await save(second, 'key', Buffer.from('second'));
    expect((await restore(second, 'key'))?.bytes.toString()).toBe('second');
  });

  test('whose upload broke off does not exist', async () => {
    const server = await testServer();
    const url = new URL(await uploadUrl(server, 'key'));
    const connection = await RawConnection.to(server);
    connection.send(putHead(url.pathname + url.search, 'content-length: 200000'));
    connection.send(Buffer.alloc(100_000));
    connection.socket.end();
    await connection.untilClosed();
    expect(await finalize(server, 'key', 200_000)).toMatchObject({ status: 404 });
  });

  test('can be downloaded by range', async () => {
    const server = await testServer();
    await save(server, 'key', contentOf('cache', 1000));
    const answer = json(await call(server, 'GetCacheEntryDownloadURL', { key: 'key', version: 'v' }));
    const part = await ask(String(answer.signed_download_url), 'GET', { headers: { range: 'bytes=10-19' } });
    expect([part.status, part.body.equals(contentOf('cache', 1000).subarray(10, 20))]).toEqual([206, true]);
  });
});

describe('BuildKit’s client of the cache', () => {
  const REQUEST_ID = { 'x-ms-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/) };

  test('finds the id of the request in the answer to every upload and download, or it crashes dockerd', async () => {
    const server = await testServer();
    const url = await uploadUrl(server, 'one');
    const whole = await ask(url, 'PUT', { headers: BLOB, body: Buffer.from('four') });
    const block = await ask(`${url}&blockid=YQ%3D%3D&comp=block`, 'PUT', { body: Buffer.from('four') });
    const body = Buffer.from('<BlockList><Latest>YQ==</Latest></BlockList>');
    const list = await ask(`${url}&comp=blocklist`, 'PUT', { body });
    await finalize(server, 'one', 4);
    const { signed_download_url: from } = json(
      await call(server, 'GetCacheEntryDownloadURL', { key: 'one', version: 'v' }),
    );
    for (const answer of [whole, block, list, await ask(String(from))])
      expect(answer.headers).toMatchObject(REQUEST_ID);
  });

  test('goes on with a download at an offset that it names in x-ms-range', async () => {
    const server = await testServer();
    const bytes = contentOf('cache', 3 * STORE.chunkBytes);
    await save(server, 'key', bytes);
    const { signed_download_url: url } = json(
      await call(server, 'GetCacheEntryDownloadURL', { key: 'key', version: 'v' }),
    );
    const rest = await ask(String(url), 'GET', { headers: { 'x-ms-range': 'bytes=70000-' } });
    expect([rest.status, rest.body.equals(bytes.subarray(70_000))]).toEqual([206, true]);
    const both = { range: 'bytes=0-9', 'x-ms-range': 'bytes=10-19' };
    const part = await ask(String(url), 'GET', { headers: both });
    expect(part.body.equals(bytes.subarray(10, 20))).toBe(true);
    const beyond = { 'x-ms-range': `bytes=${bytes.length}-` };
    expect(await ask(String(url), 'GET', { headers: beyond })).toMatchObject({ status: 416 });
  });

  test('writes an index that grows by numbers, and finds the newest one by its prefix', async () => {
    const server = await testServer();
    const index = 'index-buildkit-1-12345678';
    for (const n of [1, 2, 3]) {
      expect((await restore(server, `${index}#`, [`${index}#`]))?.key).toBe(
        n > 1 ? `${index}#${n - 1}` : undefined,
      );
      await save(server, `${index}#${n}`, Buffer.from(`index ${n}`));
      expect(refused(await reserve(server, `${index}#${n}`))).toEqual([409, 'already_exists']);
    }
  });
});

describe('a block upload', () => {
  const blockId = (n: number) => Buffer.from(`block-${n}+/`).toString('base64');
  const blockUrl = (url: string, n: number) => `${url}&comp=block&blockid=${encodeURIComponent(blockId(n))}`;
  const listOf = (tag: string, ...numbers: number[]) =>
    Buffer.from(
      `<?xml version="1.0" encoding="utf-8"?><BlockList>${numbers.map((n) => `<${tag}>${blockId(n)}</${tag}>`).join('')}</BlockList>`,
    );

  test.each(['Latest', 'Uncommitted'])('is assembled in the order of its list, by %s', async (tag) => {
    const server = await testServer();
    const url = await uploadUrl(server, 'key');
    const blocks = [contentOf('0', 1000), contentOf('1', 2 * STORE.chunkBytes), contentOf('2', 7)];
    for (const n of [2, 0, 1]) {
      const body = blocks[n] ?? Buffer.alloc(0);
      expect(await ask(blockUrl(url, n), 'PUT', { body })).toMatchObject({ status: 201 });
    }
    expect(await restore(server, 'key')).toBeUndefined();
    const list = await ask(`${url}&comp=blocklist`, 'PUT', { body: listOf(tag, 0, 1, 2) });
    expect(list.status).toBe(201);
    const whole = Buffer.concat(blocks);
    await finalize(server, 'key', whole.length);
    expect((await restore(server, 'key'))?.bytes.equals(whole)).toBe(true);
  });

  test('does not use blocks of another upload of the same entry', async () => {
    const server = await testServer(WITHOUT_PATIENCE);
    const [one, two] = [await uploadUrl(server, 'key'), await uploadUrl(server, 'key')];
    await ask(blockUrl(one, 1), 'PUT', { body: Buffer.from('one') });
    const answer = await ask(`${two}&comp=blocklist`, 'PUT', { body: listOf('Latest', 1) });
    expect(answer.status).toBe(409);
  });

  test('is refused if its total size exceeds the limit', async () => {
    const server = await testServer({ limits: { maxBlobBytes: 100 } });
    const url = await uploadUrl(server, 'key');
    for (const n of [1, 2]) await ask(blockUrl(url, n), 'PUT', { body: Buffer.alloc(60) });
    expect(await ask(`${url}&comp=blocklist`, 'PUT', { body: listOf('Latest', 1, 2) })).toMatchObject({
      status: 413,
    });
  });

  test.each([
    '',
    '<BlockList>',
    '<BlockList><Odd>x</Odd></BlockList>',
    '<BlockList><Latest></Latest></BlockList>',
  ])('is refused with the block list %j', async (text) => {
    const server = await testServer();
    const url = await uploadUrl(server, 'key');
    expect(await ask(`${url}&comp=blocklist`, 'PUT', { body: Buffer.from(text) })).toMatchObject({
      status: 400,
    });
  });
});

describe('a signed URL', () => {
  test('contains no character that needs encoding', async () => {
    const server = await testServer();
    expect(await uploadUrl(server, 'a key/with %2F & more')).toMatch(
      /^http:\/\/[\d.:]+\/[0-9a-z/]+\?sig=[0-9a-f]{64}$/,
    );
  });

  test('needs no token, and is refused if any character differs', async () => {
    const server = await testServer({ token: TOKEN });
    const answer = await ask(`${server.url}${SERVICE}/CreateCacheEntry`, 'POST', {
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKEN}` },
      body: Buffer.from('{"key":"key","version":"v"}'),
    });
    const url = String(json(answer).signed_upload_url);
    expect(await ask(url, 'PUT', { headers: BLOB, body: Buffer.from('x') })).toMatchObject({ status: 201 });
    const others = [
      url.slice(0, -1),
      `${url}0`,
      url.replace('upload/', 'upload/0'),
      url.replace(/sig=.*/, ''),
      url.replace(/\/(\d+)\?/, '/9$1?'),
    ];
    for (const other of others) {
      expect((await ask(other, 'PUT', { headers: BLOB, body: Buffer.from('x') })).status).toBe(403);
    }
    expect((await ask(url.replace('upload', 'download'))).status).toBe(403);
    expect(server.logged()).not.toContain(new URL(url).searchParams.get('sig'));
  });

  test('is https if a proxy says so', async () => {
    const server = await testServer();
    const answer = await ask(`${server.url}${SERVICE}/CreateCacheEntry`, 'POST', {
      headers: { 'content-type': 'application/json', 'x-forwarded-proto': 'https' },
      body: Buffer.from('{"key":"key","version":"v"}'),
    });
    expect(json(answer).signed_upload_url).toMatch(/^https:/);
  });
});

describe('a call of the service', () => {
  test('may use camelCase and numbers', async () => {
    const server = await testServer();
    await ask(await uploadUrl(server, 'node-1'), 'PUT', { headers: BLOB, body: Buffer.from('four') });
    const finalized = await call(server, 'FinalizeCacheEntryUpload', {
      key: 'node-1',
      version: 'v',
      sizeBytes: 4,
    });
    expect(json(finalized)).toMatchObject({ ok: true });
    const found = await call(server, 'GetCacheEntryDownloadURL', {
      key: 'x',
      version: 'v',
      restoreKeys: ['node-'],
    });
    expect(json(found)).toMatchObject({ ok: true, matched_key: 'node-1' });
  });

  test('may use protobuf', async () => {
    const server = await testServer();
    const post = async (method: string, message: Uint8Array) => {
      const headers = { 'content-type': 'application/protobuf' };
      const answer = await ask(`${server.url}${SERVICE}/${method}`, 'POST', {
        headers,
        body: Buffer.from(message),
      });
      expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/protobuf' } });
      return answer.body;
    };
    const asked = GetCacheEntryDownloadURLRequest.encode({
      key: 'key',
      version: 'v',
      restoreKeys: [],
    }).finish();
    const miss = GetCacheEntryDownloadURLResponse.decode(await post('GetCacheEntryDownloadURL', asked));
    expect(miss.ok).toBe(false);
    const create = CreateCacheEntryRequest.encode({ key: 'key', version: 'v' }).finish();
    const { signedUploadUrl } = CreateCacheEntryResponse.decode(await post('CreateCacheEntry', create));
    await ask(signedUploadUrl, 'PUT', { headers: BLOB, body: Buffer.from('four') });
    const finish = FinalizeCacheEntryUploadRequest.encode({
      key: 'key',
      version: 'v',
      sizeBytes: 4,
    }).finish();
    const done = FinalizeCacheEntryUploadResponse.decode(await post('FinalizeCacheEntryUpload', finish));
    expect([done.ok, done.entryId > 0]).toEqual([true, true]);
    const hit = GetCacheEntryDownloadURLResponse.decode(await post('GetCacheEntryDownloadURL', asked));
    expect((await ask(hit.signedDownloadUrl)).body.toString()).toBe('four');
  });

  test('requires the token', async () => {
    const server = await testServer({ token: TOKEN });
    const answer = await call(server, 'GetCacheEntryDownloadURL', { key: 'key', version: 'v' });
    expect([answer.status, json(answer).code]).toEqual([401, 'unauthenticated']);
  });

  test('that writes is denied by a read-only server in GitHub’s form', async () => {
    const server = await testServer({ readOnly: true });
    const denied = { ok: false, message: 'cache write denied: this server is read-only' };
    for (const answer of [await reserve(server, 'key'), await finalize(server, 'key', 4)]) {
      expect([answer.status, json(answer)]).toEqual([200, denied]);
    }
    const message = CreateCacheEntryRequest.encode({ key: 'key', version: 'v' }).finish();
    const { body } = await ask(`${server.url}${SERVICE}/CreateCacheEntry`, 'POST', {
      headers: { 'content-type': 'application/protobuf' },
      body: Buffer.from(message),
    });
    expect(CreateCacheEntryResponse.decode(body)).toMatchObject({ ...denied, signedUploadUrl: '' });
  });

  test('is counted in the metrics', async () => {
    const server = await testServer();
    await restore(server, 'key');
    await save(server, 'key', Buffer.from('x'));
    await restore(server, 'key');
    const metrics = (await ask(`${server.url}/metrics`)).body.toString();
    expect(metrics).toContain('assay_lookups_total{kind="actions",outcome="hit"} 1');
    expect(metrics).toContain('assay_lookups_total{kind="actions",outcome="miss"} 1');
  });

  test.each<[string, string, string]>([
    ['CreateCacheEntry', 'application/json', '{}'],
    ['CreateCacheEntry', 'application/json', '{"key":1,"version":"v"}'],
    ['CreateCacheEntry', 'application/json', '{"key":"k","version":""}'],
    ['CreateCacheEntry', 'application/json', '{"key":"k","version":"\\ud800"}'],
    ['CreateCacheEntry', 'application/protobuf', '\x12\x01k\x1a\x01\xff'],
    ['CreateCacheEntry', 'application/json', 'null'],
    ['CreateCacheEntry', 'text/plain', '{"key":"k","version":"v"}'],
    ['CreateCacheEntry', 'application/protobuf', '\x12\xff'],
    ['FinalizeCacheEntryUpload', 'application/json', '{"key":"k","version":"v","size_bytes":"-1"}'],
    ['GetCacheEntryDownloadURL', 'application/json', '{"key":"k","version":"v","restore_keys":[1]}'],
    ['DeleteEverything', 'application/json', '{}'],
  ])('of %s as %s with %j is refused', async (method, type, text) => {
    const server = await testServer();
    const answer = await ask(`${server.url}${SERVICE}/${method}`, 'POST', {
      headers: { 'content-type': type },
      body: Buffer.from(text, 'latin1'),
    });
    expect([answer.status, json(answer).code]).toEqual([400, 'invalid_argument']);
  });

  test('with a key that cannot be a label is refused', async () => {
    const server = await testServer();
    for (const key of ['', 'x'.repeat(513), 'half a \ud800', 'no text \ufffd']) {
      expect(await call(server, 'CreateCacheEntry', { key, version: 'v' })).toMatchObject({ status: 400 });
      expect(await restore(server, key)).toBeUndefined();
    }
  });
});
