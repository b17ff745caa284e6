import { describe, expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { ownHostsOnly } from '../../server/named-host.ts';
import { contentOf } from '../store/content.ts';
import { ask, codeIn, pathOf, testServer } from './rig.ts';

const BYTES = contentOf('a blob', 100);
const PATH = pathOf(digestOf(BYTES));
const FOREIGN = { host: 'rebound.example.org:8980' };
const TOKEN = 'a-long-token-0123456789';

describe('a server without a token', () => {
  const check = ownHostsOnly();

  test.each([
    undefined,
    '127.0.0.1',
    '127.0.0.1:8980',
    '[::1]:8980',
    'localhost:8980',
    'LOCALHOST',
    'buildbox',
    'host.docker.internal:8980',
    'cache.localhost.',
  ])('may be called %s', (host) => {
    expect(() => check(host)).not.toThrow();
  });

  test.each([
    'rebound.example.org',
    'rebound.example.org:8980',
    '127.0.0.1.example.org',
    'localhost.example.org:80',
    'notlocalhost.example.',
    '1.2.3.4.5',
    '[::1].example.org',
  ])('may not be called %s', (host) => {
    expect(() => check(host)).toThrow('ASSAY_FOREIGN_HOST');
  });

  test('neither reads nor writes for a name that somebody else may own', async () => {
    const server = await testServer();
    const put = await ask(server.url + PATH, 'PUT', { body: BYTES, headers: FOREIGN });
    expect([put.status, codeIn(put)]).toEqual([403, 'ASSAY_FOREIGN_HOST']);
    await ask(server.url + PATH, 'PUT', { body: BYTES });
    for (const path of [
      PATH,
      '/',
      '/status',
      '/metrics',
      '/gradle/team/0123456789abcdef',
      '/v8/artifacts/0123',
    ]) {
      expect(await ask(server.url + path, 'GET', { headers: FOREIGN }), path).toMatchObject({ status: 403 });
    }
    expect(await ask(server.url + PATH)).toMatchObject({ status: 200 });
  });
});

test('a server with a token is called whatever its proxy calls it', async () => {
  const server = await testServer({ token: TOKEN });
  const headers = { ...FOREIGN, authorization: `Bearer ${TOKEN}` };
  expect(await ask(server.url + PATH, 'PUT', { body: BYTES, headers })).toMatchObject({ status: 200 });
});
