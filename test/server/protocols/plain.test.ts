// The protocols that are GET, HEAD and PUT of a key: their paths, and their answer to a second content.
import { expect, test } from 'vitest';
import { contentOf } from '../../store/content.ts';
import { ask, largeBlob, RawConnection, storeWith, testServer } from '../rig.ts';
import { describeOpaque } from './contract.ts';
import { PLAIN } from './plain.ts';

const HEX = '0123456789abcdef';

for (const plain of PLAIN) describeOpaque(plain);

const KEY = '759bfs0123456789abcdefghijklmnopqr';

test('ccache’s subdirs and flat layouts are two spellings of one key', async () => {
  const server = await testServer();
  const bytes = contentOf('entry', 100);
  await ask(`${server.url}/ccache/${KEY}`, 'PUT', { body: bytes });
  expect((await ask(`${server.url}/ccache/75/${KEY.slice(2)}`)).body.equals(bytes)).toBe(true);
});

test('ccache’s bazel layout is not stored as an action result', async () => {
  const server = await testServer();
  const path = `/ccache/team/ac/${HEX.repeat(4)}`;
  const bytes = contentOf('no ActionResult', 100);
  expect(await ask(server.url + path, 'PUT', { body: bytes })).toMatchObject({ status: 200 });
  expect((await ask(server.url + path)).body.equals(bytes)).toBe(true);
  expect(await ask(`${server.url}/team/ac/${HEX.repeat(4)}`)).toMatchObject({ status: 404 });
});

test('Nx gets no byte of an incomplete artifact', async () => {
  const store = storeWith({});
  const damaged = largeBlob(2000, async function* () {
    yield Buffer.alloc(1000);
    throw Object.assign(new Error('damaged'));
  });
  const server = await testServer({
    store: { ...store, blobs: { ...store.blobs, get: async () => damaged } },
  });
  await ask(`${server.url}/v1/cache/1`, 'PUT', { body: Buffer.alloc(2000) });
  const answer = await ask(`${server.url}/v1/cache/1`);
  expect(answer.status).not.toBe(200);
});

test('Rush may send the bare token as Authorization', async () => {
  const server = await testServer({ token: 'a-long-token-0123456789' });
  const statusWith = async (authorization: string) =>
    (await ask(`${server.url}/rush/key`, 'GET', { headers: { authorization } })).status;
  expect(await statusWith('a-long-token-0123456789')).toBe(404);
  expect(await statusWith('a-long-token-012345678')).toBe(401);
});

test('Nx gets a refusal as plain text', async () => {
  const server = await testServer({ token: 'a-long-token-0123456789' });
  const answer = await ask(`${server.url}/v1/cache/1`);
  expect(answer).toMatchObject({ status: 401, headers: { 'content-type': 'text/plain' } });
  expect(answer.body.toString()).toContain('ASSAY_UNAUTHORIZED');
});

/** These tools fail the build, or stop reading, if they lose the response. */
const DENIED = [
  ['Rush', '/rush/key', 202],
  ['Gradle', `/gradle/${HEX}${HEX}`, 202],
  ['Nx', '/v1/cache/1', 403],
] as const;

test.each(DENIED)(
  '%s gets the response to a denied PUT after it has sent the body',
  async (_tool, path, status) => {
    const server = await testServer({ readOnly: true });
    const connection = await RawConnection.to(server);
    const half = 'x'.repeat(100_000);
    connection.send(`PUT ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\n\r\n${half}`);
    expect(await ask(`${server.url}${path}`)).toMatchObject({ status: 404 });
    expect(connection.received.toString()).toBe('');
    connection.send(half);
    const response = await connection.until('ASSAY_READ_ONLY');
    expect(response).toContain(`HTTP/1.1 ${status} `);
    expect(response).toContain('assay-outcome: denied');
    connection.send(`HEAD ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    expect(await connection.until('404 Not Found')).toBeDefined();
  },
);

test.each(DENIED)(
  '%s need not send the body of a denied PUT if it asks first',
  async (_tool, path, status) => {
    const server = await testServer({ readOnly: true });
    const connection = await RawConnection.to(server);
    const head = `PUT ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 200000\r\nExpect: 100-continue\r\n\r\n`;
    connection.send(head);
    expect(await connection.until('ASSAY_READ_ONLY')).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  },
);
