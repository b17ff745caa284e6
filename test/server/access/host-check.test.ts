// A web page must not reach a server without a token: neither by DNS rebinding nor from another origin.
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { ownHostsOnly } from '../../../server/access/web/host-check.ts';
import { contentOf } from '../../store/content.ts';
import { PATHS, reapiClient } from '../protocols/reapi/rig.ts';
import { ask, codeIn, type Method, pathOf, RawConnection, type TestServer, testServer } from '../rig.ts';
import { identity } from './identities.ts';

const BYTES = contentOf('a blob', 100);
const PATH = pathOf(digestOf(BYTES));
const FOREIGN = { host: 'rebound.example.org:8980' };
const TOKEN = 'a-long-token-0123456789';
const PLACES = [
  '/',
  '/healthz',
  '/status',
  '/metrics',
  '/gradle/team/0123456789abcdef',
  '/v8/artifacts/0123',
];

async function usedServer(options: Parameters<typeof testServer>[0] = {}): Promise<TestServer> {
  const server = await testServer(options);
  await server.store.blobs.put({}, BYTES);
  return server;
}

describe('a server without a token', () => {
  const check = ownHostsOnly();

  test.each([
    undefined,
    '127.0.0.1',
    '127.0.0.1:8980',
    '127.200.3.4:80',
    '[::1]:8980',
    'localhost:8980',
    'LOCALHOST',
    'cache.localhost.',
  ])('accepts the Host %s', (host) => {
    expect(() => check(host)).not.toThrow();
  });

  test.each([
    'rebound.example.org',
    'rebound.example.org:8980',
    '127.0.0.1.example.org',
    'localhost.example.org:80',
    'notlocalhost.example.',
    'notlocalhost',
    'x.local',
    'buildbox',
    'host.docker.internal:8980',
    '192.168.0.7:8980',
    '[fe80::1]',
    '0.0.0.0',
    '1.2.3.4.5',
    '[::1].example.org',
    '',
  ])('refuses the Host %j', (host) => {
    expect(() => check(host)).toThrow('ASSAY_FOREIGN_HOST');
  });

  test('refuses reads and writes for a host name that others may own', async () => {
    const server = await usedServer();
    for (const host of [FOREIGN.host, 'x.local', 'buildbox']) {
      const put = await ask(server.url + PATH, 'PUT', { body: BYTES, headers: { host } });
      expect([put.status, codeIn(put)], host).toEqual([403, 'ASSAY_FOREIGN_HOST']);
      for (const path of [PATH, ...PLACES]) {
        expect(await ask(server.url + path, 'GET', { headers: { host } }), path).toMatchObject({
          status: 403,
        });
      }
    }
    expect(await ask(server.url + PATH)).toMatchObject({ status: 200 });
  });

  test('refuses gRPC calls for such a host name, or from a web page', async () => {
    const server = await usedServer();
    const { port } = server;
    const client = await reapiClient(server.url);
    const statusWith = async (headers: Record<string, string>) =>
      (await client.grpc.call(PATHS.capabilities, Buffer.alloc(0), headers)).status;
    expect(await statusWith({ ':authority': `rebound.example.org:${port}` })).toBe('PERMISSION_DENIED');
    expect(await statusWith({ ':authority': 'buildbox' })).toBe('PERMISSION_DENIED');
    expect(await statusWith({ origin: 'https://example.org' })).toBe('PERMISSION_DENIED');
    expect(await statusWith({ ':authority': `localhost:${port}` })).toBe('OK');
  });

  test.each([
    { origin: 'https://example.org' },
    { origin: 'null' },
    { origin: 'http://localhost:1' },
    { origin: 'file://' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://example.org', upgrade: 'websocket', connection: 'upgrade' },
  ])('refuses requests from a page of another origin: %j', async (headers) => {
    const server = await usedServer();
    const asked: [Method, string][] = [PATH, ...PLACES].map((path) => ['GET', path]);
    asked.push(['HEAD', PATH], ['OPTIONS', '/v8/artifacts/0123'], ['POST', '/v8/artifacts'], ['PUT', PATH]);
    for (const [method, path] of asked) {
      const connection = await RawConnection.to(server);
      const lines = Object.entries({ host: 'localhost', connection: 'close', ...headers });
      const head = [`${method} ${path} HTTP/1.1`, ...lines.map(([name, value]) => `${name}: ${value}`)];
      connection.send(`${head.join('\r\n')}\r\n\r\n`);
      expect(await connection.untilClosed(), `${method} ${path}`).toMatch(/^HTTP\/1\.1 403 /);
    }
  });

  test('answers its own pages, and an address that a person typed', async () => {
    const server = await usedServer();
    const own = { origin: server.url, 'sec-fetch-site': 'same-origin' };
    expect(await ask(`${server.url}/status`, 'GET', { headers: own })).toMatchObject({ status: 200 });
    const typed = { 'sec-fetch-site': 'none' };
    expect(await ask(`${server.url}/`, 'GET', { headers: typed })).toMatchObject({ status: 200 });
  });
});

test('a page of another origin does not act as the anonymous identity', async () => {
  const anonymous = identity('anonymous', { namespace: 'acme/open' });
  const server = await testServer({ identities: { identify: () => undefined, anonymous } });
  const foreign = { origin: 'https://example.org' };
  const put = (headers: Record<string, string>) => ask(server.url + PATH, 'PUT', { body: BYTES, headers });
  expect(await put(foreign)).toMatchObject({ status: 403 });
  expect(await put({ 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 });
  expect(await ask(server.url + PATH)).toMatchObject({ status: 404 });
  expect(await put({})).toMatchObject({ status: 200 });
  const client = await reapiClient(server.url, foreign);
  expect((await client.grpc.call(PATHS.capabilities, Buffer.alloc(0))).status).toBe('PERMISSION_DENIED');
});

test('a server with a token, or a read-only one, accepts any Host', async () => {
  const locked = await testServer({ token: TOKEN });
  const headers = { ...FOREIGN, authorization: `Bearer ${TOKEN}` };
  expect(await ask(locked.url + PATH, 'PUT', { body: BYTES, headers })).toMatchObject({ status: 200 });
  const readOnly = await usedServer({ readOnly: true });
  const cache = { headers: { host: 'cache:8980' } };
  expect(await ask(readOnly.url + PATH, 'GET', cache)).toMatchObject({ status: 200 });
  const client = await reapiClient(readOnly.url, { ':authority': 'cache:8980' });
  expect((await client.grpc.call(PATHS.capabilities, Buffer.alloc(0))).status).toBe('OK');
});
