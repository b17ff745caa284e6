// The front page, /status, /healthz and /metrics.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { VERSION } from '../../../core/version.ts';
import { TOOLS } from '../../../server/request/tools.ts';
import { addressOf, contentOf, putOne, resultNaming } from '../../store/content.ts';
import { identity, MAIN, sourceOf } from '../access/identities.ts';
import { ask, pathOf, RawConnection, testServer } from '../rig.ts';

describe('the front page', () => {
  test('shows the setting of each tool, with the address that it was reached by', async () => {
    const server = await testServer();
    const { status, headers, body } = await ask(`${server.url}/`);
    expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(body.toString()).toContain(`CCACHE_REMOTE_STORAGE=${server.url}/ccache/TEAM`);
    expect(body.toString()).toContain(`NX_SELF_HOSTED_REMOTE_CACHE_SERVER=${server.url}`);
  });

  test('does not repeat a Host header that is not a host', async () => {
    const connection = await RawConnection.to(await testServer({ readOnly: true }));
    connection.send('GET / HTTP/1.1\r\nhost: <script>\r\nconnection: close\r\n\r\n');
    expect(await connection.untilClosed()).not.toContain('script');
  });

  test('names only settings that docs/PROTOCOLS.md explains', () => {
    const page = readFileSync(join(import.meta.dirname, '../../../docs/PROTOCOLS.md'), 'utf8');
    expect(
      TOOLS.flatMap(({ settings = {} }) => Object.values(settings)).filter(
        (setting) => !page.includes(setting),
      ),
    ).toEqual([]);
  });
});

describe('/status', () => {
  test('reports the capabilities of the server', async () => {
    const server = await testServer({
      storeFolder: '/a/folder',
      limits: { maxBlobBytes: 1234 },
      readOnly: true,
    });
    const { status, body } = await ask(`${server.url}/status`);
    expect(status).toBe(200);
    expect(JSON.parse(body.toString())).toEqual({
      name: 'assay',
      version: VERSION,
      capabilities: {
        protocols: expect.arrayContaining(['reapi-grpc', 'bazel-http', 'ccache', 'actions']),
        digestFunctions: ['SHA256'],
        ranges: true,
        write: false,
        maxBlobBytes: 1234,
        maxResultBytes: expect.any(Number),
      },
      uptimeSeconds: expect.any(Number),
      store: '/a/folder',
    });
  });

  test('shows the store’s folder only with the token', async () => {
    const server = await testServer({ storeFolder: '/a/folder', token: 'a token' });
    const open = await ask(`${server.url}/status`);
    expect(open.status).toBe(200);
    expect(open.body.toString()).not.toContain('/a/folder');
    const wrong = await ask(`${server.url}/status`, 'GET', { headers: { authorization: 'Bearer wrong' } });
    expect(wrong.status).toBe(401);
    const password = Buffer.from('user:a token').toString('base64');
    const insider = await ask(`${server.url}/status`, 'GET', {
      headers: { authorization: `Basic ${password}` },
    });
    expect(insider.body.toString()).toContain('/a/folder');
  });

  test('shows a token of one namespace nothing of the server’s folder, and not its counts', async () => {
    const admin = identity('admin', { namespace: 'acme', rights: 'stats,admin' });
    const monitor = identity('monitor', { namespace: 'monitoring', rights: 'server:stats' });
    const server = await testServer({ storeFolder: '/a/folder', identities: sourceOf(MAIN, admin, monitor) });
    const as = (name: string, page: string) =>
      ask(`${server.url}/${page}`, 'GET', { headers: { authorization: `Bearer ${name}` } });
    for (const name of ['main', 'admin']) {
      expect((await as(name, 'status')).body.toString()).not.toContain('/a/folder');
      expect((await as(name, 'metrics')).body.toString()).toBe('# TYPE assay_results_total counter\n');
    }
    expect((await as('monitor', 'status')).body.toString()).toContain('/a/folder');
    expect((await as('monitor', 'metrics')).body.toString()).toContain('assay_http_requests_total');
  });

  test('does not show the folder to the network if there is no token', async () => {
    const server = await testServer({ host: '0.0.0.0', readOnly: true, storeFolder: '/a/folder' });
    const { body } = await ask(`http://127.0.0.1:${server.port}/status`);
    expect(body.toString()).not.toContain('/a/folder');
  });
});

test.each(['/status', '/healthz', '/metrics'])('%s accepts only GET and HEAD', async (page) => {
  const server = await testServer();
  expect(await ask(server.url + page, 'HEAD')).toMatchObject({ status: 200, body: Buffer.alloc(0) });
  for (const method of ['PUT', 'POST', 'DELETE'] as const) {
    expect(await ask(server.url + page, method)).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD' },
    });
  }
});

test('/metrics counts requests, hits, misses, bytes and the store’s own figures', async () => {
  const server = await testServer();
  const bytes = contentOf('counted', 1000);
  const url = server.url + pathOf(digestOf(bytes));
  await ask(url);
  await ask(url, 'PUT', { body: bytes });
  await ask(url);
  await ask(url, 'HEAD');
  const { key } = addressOf('counted');
  await ask(`${server.url}/ac/${key}`);
  await ask(`${server.url}/ac/${key}`, 'PUT', { body: resultNaming(digestOf(bytes)) });
  const other = await putOne(server.store, contentOf('other', 10));
  await ask(`${server.url}/ac/${key}`, 'PUT', { body: resultNaming(other) });
  for (const text of ['one', 'one', 'another'])
    await server.store.results.put(
      addressOf('replaced'),
      resultNaming(await putOne(server.store, Buffer.from(text))),
      { replace: true },
    );
  await ask(`${server.url}/nowhere`, 'DELETE');
  const page = (await ask(`${server.url}/metrics`)).body.toString();
  const resultBytes = resultNaming(digestOf(bytes)).length + resultNaming(other).length;
  for (const line of [
    'assay_http_requests_total{route="cas",method="GET",status="4xx"} 1',
    'assay_http_requests_total{route="cas",method="GET",status="2xx"} 1',
    'assay_http_requests_total{route="cas",method="HEAD",status="2xx"} 1',
    'assay_http_requests_total{route="cas",method="PUT",status="2xx"} 1',
    'assay_http_requests_total{route="ac",method="PUT",status="2xx"} 2',
    'assay_http_requests_total{route="other",method="other",status="4xx"} 1',
    'assay_lookups_total{kind="cas",outcome="hit"} 2',
    'assay_lookups_total{kind="cas",outcome="miss"} 1',
    'assay_lookups_total{kind="ac",outcome="miss"} 1',
    `assay_received_bytes_total ${1000 + resultBytes}\n`,
    'assay_sent_bytes_total 1000\n',
    'assay_store_events_total{event="diverged"} 1',
    'assay_store_events_total{event="replaced"} 1',
    `assay_info{version="${VERSION}"} 1`,
    'process_cpu_user_seconds_total ',
    'process_resident_memory_bytes ',
    'nodejs_eventloop_utilization ',
  ]) {
    expect(page).toContain(line);
  }
});
