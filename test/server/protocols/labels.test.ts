// Labels over HTTP: found by prefix, never changed, and subject to the token.
import { describe, expect, test } from 'vitest';
import { fenceText } from '../../../core/action-lease.ts';
import { digestOf, parseHash } from '../../../core/digest.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { emptyResult } from '../../../core/result.ts';
import { ask, codeIn, type Method, type TestServer, type TestServerOptions, testServer } from '../rig.ts';

const KEYS = ['a', 'b'].map((text) => digestOf(Buffer.from(text)).hash);
const [A = '', B = ''] = KEYS;

/** A server with a result under each of the keys, in the namespace `team`. */
async function start(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await testServer(options);
  for (const key of KEYS) {
    const result = ActionResult.encode(emptyResult(0)).finish();
    await server.store.results.put({ namespace: parseNamespace('team'), key }, result);
  }
  return server;
}

const put = (server: TestServer, label: string, key: string, headers = {}) =>
  ask(`${server.url}/labels/v1/team?${new URLSearchParams({ label, key })}`, 'PUT', { headers });

test('a label is found by its name, and the newest one by a prefix', async () => {
  const server = await start();
  expect((await put(server, 'npm-1', A)).status).toBe(200);
  expect((await put(server, 'npm-2', B)).status).toBe(200);
  const find = async (query: string) => {
    const { status, body } = await ask(`${server.url}/labels/v1/team?${query}`);
    return status === 200 ? JSON.parse(body.toString()) : status;
  };
  expect(await find('prefix=npm-')).toEqual({ label: 'npm-2', key: B });
  expect(await find('exact=npm-1&prefix=npm-')).toEqual({ label: 'npm-1', key: A });
  expect(await find('exact=npm-9&prefix=yarn-&prefix=npm-')).toEqual({ label: 'npm-2', key: B });
  expect(await find('exact=npm-9')).toBe(404);
  expect(await find('')).toBe(404);
});

test('all labels with a prefix are listed, the newest first, and none of another namespace', async () => {
  const server = await start();
  for (const [label, key] of [
    ['npm-1', A],
    ['yarn-1', A],
    ['npm-2', B],
  ] as const)
    await put(server, label, key);
  const list = async (path: string) => {
    const { status, body } = await ask(`${server.url}/labels/v1/${path}`);
    expect(status).toBe(200);
    return JSON.parse(body.toString());
  };
  const [first, second] = [
    { label: 'npm-2', key: B },
    { label: 'npm-1', key: A },
  ];
  expect(await list('team?all=npm-')).toEqual({ labels: [first, second] });
  expect(await list('team?all=')).toEqual({ labels: [first, { label: 'yarn-1', key: A }, second] });
  expect(await list('team?all=pnpm-')).toEqual({ labels: [] });
  expect(await list('other?all=npm-')).toEqual({ labels: [] });
});

test('a label never changes its key', async () => {
  const server = await start();
  await put(server, 'npm-1', A);
  expect((await put(server, 'npm-1', A)).status).toBe(200);
  expect((await put(server, 'npm-1', B)).status).toBe(409);
});

test.each<[string, Method, string, number]>([
  ['no key', 'PUT', '/labels/v1/team?label=x', 400],
  ['an invalid key', 'PUT', '/labels/v1/team?label=x&key=zz', 400],
  ['no label', 'PUT', `/labels/v1/team?key=${A}`, 400],
  ['a label that is too long', 'PUT', `/labels/v1/team?label=${'x'.repeat(600)}&key=${A}`, 400],
  ['an invalid namespace', 'GET', '/labels/v1/a%20b?prefix=a', 400],
  ['another method', 'DELETE', '/labels/v1/team', 405],
])('%s is refused', async (_name, method, path, status) => {
  const server = await start();
  expect((await ask(server.url + path, method)).status).toBe(status);
});

test('a client without permission can neither write nor read labels', async () => {
  const closed = await start({ token: 'sesame' });
  const bearer = { authorization: 'Bearer sesame' };
  expect((await ask(`${closed.url}/labels/v1/team?prefix=`)).status).toBe(401);
  expect((await put(closed, 'npm-1', A)).status).toBe(401);
  expect((await put(closed, 'npm-1', A, bearer)).status).toBe(200);
  const readOnly = await start({ readOnly: true });
  expect((await put(readOnly, 'npm-1', A)).status).toBe(403);
});

describe('of an action that has a lease', () => {
  const ACTION = { namespace: parseNamespace('team'), key: digestOf(Buffer.from('action')).hash };
  const REQUEST = { id: '7'.repeat(32), holder: 'ci-7' };

  async function leased() {
    const server = await start();
    const results = ['checkpoint', 'state'].map((place) => parseNamespace(`team/${place}`));
    for (const namespace of results) {
      const result = ActionResult.encode(emptyResult(0)).finish();
      await server.store.results.put({ namespace, key: parseHash(A) }, result);
    }
    const { actionLeases: leases } = server.store;
    const acquired = await leases?.acquire(ACTION, REQUEST);
    if (!leases || !acquired) throw new Error('the store has no leases');
    const { fence } = acquired.lease;
    const end = () => leases.release(ACTION, { id: REQUEST.id, fence }, { reason: 'failed' });
    const write = async (place: string, label: string, more: Record<string, string> = {}) => {
      const query = new URLSearchParams({ label, key: A, ...more });
      const answer = await ask(`${server.url}/labels/v1/team${place}?${query}`, 'PUT');
      return answer.status === 200 ? 'stored' : codeIn(answer);
    };
    return { fence: fenceText(fence), write, end };
  }

  test.each([
    ['a checkpoint', '/checkpoint', ACTION.key],
    ['a state', '/state', `${'5'.repeat(32)}/none/${ACTION.key}`],
  ])('%s is written under the lease, and by nobody else meanwhile', async (_, place, label) => {
    const { fence, write, end } = await leased();
    expect(await write(place, `${label}/${fence}/1`, { fence })).toBe('stored');
    expect(await write(place, `${label}/2`)).toBe('ASSAY_LABEL_LEASED');
    expect(await write(place, `${label}/${fence}/3`, { fence: '1.1' })).toBe('ASSAY_STALE_FENCE');
    expect(await write(place, `${label}/1.1/3`, { fence })).toBe('ASSAY_STALE_FENCE');
    expect(await write(place, `${label}/1.1/3`, { fence: '1.1' })).toBe('ASSAY_STALE_FENCE');
    await end();
    expect(await write(place, `${label}/2`)).toBe('stored');
    expect(await write(place, `${label}/${fence}/3`, { fence })).toBe('stored');
  });

  test('any other label is written without a fence, and with one only under the lease', async () => {
    const { fence, write } = await leased();
    const other = digestOf(Buffer.from('other')).hash;
    expect(await write('', 'npm-1')).toBe('stored');
    expect(await write('/checkpoint', `${other}/1`)).toBe('stored');
    expect(await write('', 'npm-2', { action: ACTION.key, fence })).toBe('stored');
    expect(await write('', 'npm-3', { action: other, fence })).toBe('ASSAY_STALE_FENCE');
    expect(await write('', 'npm-3', { fence })).toBe('ASSAY_BAD_DIGEST');
    expect(await write('', 'npm-3', { action: ACTION.key, fence: 'x' })).toBe('ASSAY_BAD_MESSAGE');
  });
});
