import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { contentOf, readFrom } from '../../store/content.ts';
import { useFolders } from '../../store/folders.ts';
import { type Answer, codeIn, putHead, RawConnection, type TestServer, testServer } from '../rig.ts';

const { folder, open } = useFolders();
const bytes = contentOf('resumable', 3_000_000);
const digest = digestOf(bytes);

async function ask(
  { url }: TestServer,
  method: 'HEAD' | 'PUT' | 'PATCH' | 'DELETE' | 'POST',
  path: string,
  headers: Record<string, string> = {},
  body: Buffer | null = null,
): Promise<Answer> {
  const answer = await request(url + path, { method, headers, body });
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: Buffer.from(await answer.body.arrayBuffer()),
  };
}

const UPLOAD = `/team/uploads/${digest.hash}`;
const CONTENT = `/team/cas/${digest.hash}`;
const head = (server: TestServer) => ask(server, 'HEAD', UPLOAD);
const begin = (server: TestServer, to: number) =>
  ask(server, 'PUT', CONTENT, { 'upload-complete': '?0' }, bytes.subarray(0, to));
const patch = (server: TestServer, from: number, to = bytes.length, isLast = to === bytes.length) =>
  ask(
    server,
    'PATCH',
    UPLOAD,
    {
      'upload-offset': String(from),
      'upload-complete': isLast ? '?1' : '?0',
      'content-type': 'application/partial-upload',
    },
    bytes.subarray(from, to),
  );

async function expectStored(server: TestServer): Promise<void> {
  expect((await readFrom(server.store, digest))?.equals(bytes)).toBe(true);
}

describe('a resumable upload', () => {
  test('may arrive in one request', async () => {
    const server = await testServer();
    const answer = await ask(server, 'PUT', CONTENT, { 'upload-complete': '?1' }, bytes);
    expect(answer).toMatchObject({
      status: 200,
      headers: { location: UPLOAD, 'upload-complete': '?1', 'upload-offset': String(bytes.length) },
    });
    await expectStored(server);
  });

  test('may arrive in parts, and reports its offset', async () => {
    const server = await testServer();
    expect((await head(server)).status).toBe(404);
    expect(await begin(server, 1_000_000)).toMatchObject({ status: 201, headers: { location: UPLOAD } });
    expect(await head(server)).toMatchObject({
      status: 204,
      headers: { 'upload-offset': '1000000', 'upload-complete': '?0', 'cache-control': 'no-store' },
    });
    expect(await patch(server, 1_000_000, 2_000_000)).toMatchObject({ status: 204 });
    expect(await patch(server, 2_000_000)).toMatchObject({
      status: 200,
      headers: { 'upload-complete': '?1' },
    });
    expect((await head(server)).headers['upload-complete']).toBe('?1');
    await expectStored(server);
  });

  test('keeps the bytes that arrived before the connection broke', async () => {
    const server = await testServer();
    const connection = await RawConnection.to(server);
    connection.send(putHead(CONTENT, 'upload-complete: ?1', `content-length: ${bytes.length}`));
    connection.send(bytes.subarray(0, 1_500_000));
    await expect
      .poll(async () => (await server.store.uploads.status(`http team ${digest.hash}`))?.committed ?? 0)
      .toBeGreaterThan(0);
    connection.socket.destroy();
    await expect.poll(async () => (await head(server)).status).toBe(204);
    const offset = Number((await head(server)).headers['upload-offset']);
    expect(offset).toBeGreaterThan(0);
    expect(await patch(server, offset)).toMatchObject({ status: 200 });
    await expectStored(server);
  });

  test('resumes after a restart of the server', async () => {
    const directory = folder();
    const first = await testServer({ store: await open({ directory }) });
    await begin(first, 2_000_000);
    await first.stop();
    await first.store.close();
    const second = await testServer({ store: await open({ directory }) });
    expect((await head(second)).headers['upload-offset']).toBe('2000000');
    expect(await patch(second, 2_000_000)).toMatchObject({ status: 200 });
    await expectStored(second);
  });

  test.each([0, 999_999, 1_000_001])(
    'refuses a part that starts at %i instead of the offset',
    async (from) => {
      const server = await testServer();
      await begin(server, 1_000_000);
      const refused = await patch(server, from);
      expect(refused).toMatchObject({ status: 409, headers: { 'upload-offset': '1000000' } });
      expect(codeIn(refused)).toBe('ASSAY_UPLOAD_CONFLICT');
      expect(await patch(server, 1_000_000)).toMatchObject({ status: 200 });
      await expectStored(server);
    },
  );

  test('with wrong bytes is refused, discarded, and may restart', async () => {
    const server = await testServer();
    await begin(server, 1_000_000);
    const wrong = await ask(
      server,
      'PATCH',
      UPLOAD,
      { 'upload-offset': '1000000', 'upload-complete': '?1' },
      Buffer.alloc(2_000_000),
    );
    expect(codeIn(wrong)).toBe('ASSAY_DIGEST_MISMATCH');
    expect((await head(server)).status).toBe(404);
    expect(await begin(server, 1_000_000)).toMatchObject({ status: 201 });
  });

  test('can be cancelled', async () => {
    const server = await testServer();
    await begin(server, 1_000_000);
    expect((await ask(server, 'DELETE', UPLOAD)).status).toBe(204);
    expect((await head(server)).status).toBe(404);
    expect((await patch(server, 1_000_000)).status).toBe(404);
  });

  test('of one client is not disturbed by another client’s, which sends the whole content', async () => {
    const server = await testServer();
    const slow = await RawConnection.to(server);
    slow.send(putHead(CONTENT, 'upload-complete: ?1', `content-length: ${bytes.length}`));
    slow.send(bytes.subarray(0, 1_000_000));
    await expect
      .poll(async () => (await server.store.uploads.status(`http team ${digest.hash}`))?.committed ?? 0)
      .toBeGreaterThan(0);
    expect((await patch(server, 0)).status).toBe(409);
    expect((await head(server)).status).toBe(409);
    expect(await ask(server, 'PUT', CONTENT, { 'upload-complete': '?1' }, bytes)).toMatchObject({
      status: 200,
    });
    await expectStored(server);
    slow.send(bytes.subarray(1_000_000));
    expect(await slow.until('HTTP/1.1 200')).toContain('upload-complete: ?1');
  });

  test.each([
    ['PATCH', { 'upload-complete': '?1' }, 400],
    ['PATCH', { 'upload-offset': '-1', 'upload-complete': '?1' }, 400],
    ['PATCH', { 'upload-offset': '0' }, 400],
    ['PUT', { 'upload-complete': '?1' }, 405],
    ['POST', {}, 405],
  ] as const)('refuses %s with %j', async (method, headers, status) => {
    const server = await testServer();
    expect((await ask(server, method, UPLOAD, headers, Buffer.from('x'))).status).toBe(status);
  });

  test('requires the token, and a server that accepts writes', async () => {
    const locked = await testServer({ token: 'secret' });
    expect((await begin(locked, 1000)).status).toBe(401);
    expect((await head(locked)).status).toBe(401);
    const readOnly = await testServer({ readOnly: true });
    expect((await begin(readOnly, 1000)).status).toBe(403);
    expect((await patch(readOnly, 0)).status).toBe(403);
  });
});
