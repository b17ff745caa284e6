// The token: required everywhere except /healthz, accepted as Bearer or as a Basic password, never printed.
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { accessControl } from '../../../server/access/access-control.ts';
import { ROOT_IDENTITY } from '../../../server/access/identity.ts';
import { contentOf } from '../../store/content.ts';
import { ask, codeIn, pathOf, testServer } from '../rig.ts';

const TOKEN = 'a-long-token-0123456789';
const BYTES = contentOf('a blob', 100);
const PATH = pathOf(digestOf(BYTES));

function basic(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

describe('the token check', () => {
  const access = accessControl({ token: TOKEN });

  test.each([`Bearer ${TOKEN}`, `bearer  ${TOKEN}`, basic('', TOKEN), basic('anybody', TOKEN)])(
    'admits %s',
    (header) => {
      expect(access.ofHeader(header)).toBe(ROOT_IDENTITY);
    },
  );

  test.each([
    undefined,
    '',
    TOKEN,
    'Bearer',
    'Bearer ',
    `Bearer ${TOKEN}x`,
    `Bearer ${TOKEN.slice(1)}`,
    `Bearer ${TOKEN} ${TOKEN}`,
    `Basic ${TOKEN}`,
    basic(TOKEN, ''),
    basic('anybody', `${TOKEN}:`),
    Buffer.from(TOKEN).toString('base64'),
    `Digest ${TOKEN}`,
  ])('refuses %s', (header) => {
    expect(access.ofHeader(header)).toBeUndefined();
  });

  test('accepts a password that contains a colon', () => {
    expect(accessControl({ token: 'a:b' }).ofHeader(basic('user', 'a:b'))).toBe(ROOT_IDENTITY);
  });

  test('does not expose the token as text or JSON', () => {
    expect(JSON.stringify(access) + String(access)).not.toContain(TOKEN);
  });
});

describe('a server with a token', () => {
  test.each(['GET', 'HEAD', 'PUT'] as const)('refuses %s without it', async (method) => {
    const server = await testServer({ token: TOKEN });
    await server.store.blobs.put(digestOf(BYTES), BYTES);
    const answer = await ask(server.url + PATH, method, method === 'PUT' ? { body: BYTES } : {});
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toEqual(
      expect.arrayContaining([expect.stringContaining('Basic')]),
    );
    if (method !== 'HEAD') expect(codeIn(answer)).toBe('ASSAY_UNAUTHORIZED');
  });

  test('stores nothing that is sent without it', async () => {
    const server = await testServer({ token: TOKEN });
    await ask(server.url + PATH, 'PUT', { body: BYTES });
    expect(await server.store.blobs.get(digestOf(BYTES).hash)).toBeUndefined();
  });

  test('serves clients that send it', async () => {
    const server = await testServer({ token: TOKEN });
    const headers = { authorization: `Bearer ${TOKEN}` };
    expect(await ask(server.url + PATH, 'PUT', { headers, body: BYTES })).toMatchObject({ status: 200 });
    expect(
      await ask(server.url + PATH, 'GET', { headers: { authorization: basic('x', TOKEN) } }),
    ).toMatchObject({
      status: 200,
    });
    expect(await ask(`${server.url}/metrics`, 'GET', { headers })).toMatchObject({ status: 200 });
  });

  test('answers /healthz without the token, and /metrics only with it', async () => {
    const server = await testServer({ token: TOKEN });
    expect(await ask(`${server.url}/healthz`)).toMatchObject({ status: 200 });
    expect(await ask(`${server.url}/metrics`)).toMatchObject({ status: 401 });
  });

  test('logs no request header', async () => {
    const server = await testServer({ token: TOKEN });
    await ask(server.url + PATH, 'GET', { headers: { authorization: 'Bearer another-secret' } });
    await ask(server.url + PATH, 'GET', {
      headers: { authorization: `Bearer ${TOKEN}`, cookie: 'a-secret-cookie' },
    });
    await ask(`${server.url}/no/such/place?secret-query`, 'GET', {
      headers: { authorization: `Bearer ${TOKEN}` },
    });
    expect(server.logged()).toContain('ASSAY_UNAUTHORIZED');
    for (const secret of [TOKEN, 'another-secret', 'a-secret-cookie'])
      expect(server.logged()).not.toContain(secret);
  });
});

describe('a read-only server', () => {
  test('answers reads and refuses writes', async () => {
    const server = await testServer({ readOnly: true });
    await server.store.blobs.put(digestOf(BYTES), BYTES);
    expect(await ask(server.url + PATH)).toMatchObject({ status: 200 });
    const answer = await ask(server.url + PATH, 'PUT', { body: BYTES });
    expect([answer.status, codeIn(answer)]).toEqual([403, 'ASSAY_READ_ONLY']);
  });
});
