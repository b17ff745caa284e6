// /admin/forget and /admin/divergences: who may see and remove what, and what the answers say.
import { describe, expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { protocolNamespace } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import type { LogEntry } from '../../../store/log/write-log.ts';
import type { ForgetReport } from '../../../store/review/forget.ts';
import {
  identity,
  MAIN,
  OTHER,
  PULL,
  READER,
  SIBLING,
  sourceOf,
  WRITER,
} from '../../../test/server/access/identities.ts';
import { ask, codeIn, type TestServerOptions, testServer } from '../../../test/server/rig.ts';
import { addressOf, contentOf, resultWith } from '../../../test/store/content.ts';

import { adminApi } from '../server/api.ts';

const KEY = digestOf(Buffer.from('a key')).hash;
const ADMIN = identity('admin', { namespace: 'acme/app', rights: 'admin' });
const WHOLE = identity('whole', { namespace: '', rights: 'admin,results:read' });
const EVERYBODY = sourceOf(MAIN, PULL, SIBLING, READER, WRITER, OTHER, ADMIN, WHOLE);

async function served(options: TestServerOptions = {}) {
  const logged: LogEntry[] = [];
  const writeLog = { add: (entry: LogEntry) => void logged.push(entry), close: async () => {} };
  const wings = [{ routes: adminApi }];
  const server = await testServer({ identities: EVERYBODY, writeLog, wings, ...options });
  const as = (who: Identity) => ({ authorization: `Bearer ${who.name}` });
  const put = async (who: Identity, body: Buffer, path = `/ac/${KEY}`) =>
    expect((await ask(server.url + path, 'PUT', { body, headers: as(who) })).status).toBe(200);
  const get = async (who: Identity, path = `/ac/${KEY}`) =>
    (await ask(server.url + path, 'GET', { headers: as(who) })).status;
  const post = (who: Identity, body: object) =>
    ask(`${server.url}/admin/forget`, 'POST', { body: Buffer.from(JSON.stringify(body)), headers: as(who) });
  const forget = async (who: Identity, body: object): Promise<ForgetReport> => {
    const answer = await post(who, body);
    expect([answer.status, answer.body.toString()]).toEqual([200, expect.stringContaining('"report"')]);
    return JSON.parse(answer.body.toString().trim().split('\n').at(-1) ?? '').report;
  };
  const divergences = async (who: Identity, query = '') => {
    const answer = await ask(`${server.url}/admin/divergences${query}`, 'GET', { headers: as(who) });
    return { status: answer.status, ...JSON.parse(answer.body.toString()) };
  };
  return { server, logged, put, get, post, forget, divergences };
}

describe('forget', () => {
  test('counts without removing, then removes, at once for every reader, and is logged', async () => {
    const { put, get, forget, logged } = await served();
    await put(MAIN, resultWith({}));
    await put(PULL, resultWith({}), `/ac/${digestOf(Buffer.from('other')).hash}`);
    logged.length = 0;
    expect(await forget(ADMIN, { writer: 'main', listed: 10 })).toMatchObject({
      dryRun: true,
      matched: 1,
      removed: 0,
      writers: [{ name: 'main', results: 1 }],
      keys: [{ key: KEY, namespace: 'acme/app/main', writer: 'main' }],
    });
    expect(await get(READER)).toBe(200);
    expect(logged).toEqual([]);
    expect(await forget(ADMIN, { writer: 'main', remove: true })).toMatchObject({
      dryRun: false,
      removed: 1,
    });
    expect(await get(READER)).toBe(404);
    expect(await get(PULL)).toBe(404);
    expect(logged).toMatchObject([
      { what: 'forget', identity: 'admin', from: '127.0.0.1', removed: 1, selected: { writer: 'main' } },
    ]);
    expect(await forget(ADMIN, { writer: 'main', remove: true })).toMatchObject({ matched: 0, removed: 0 });
  });

  test('of a scoped token reaches its own namespace and below, in every protocol, and nothing else', async () => {
    const { server, put, forget, post } = await served();
    const turbo = `/turbo/v8/artifacts/${KEY}`;
    for (const who of [MAIN, PULL, OTHER]) {
      await put(who, resultWith({}));
      await put(who, resultWith({}), `/web/ac/${KEY}`);
      expect(
        (
          await ask(server.url + turbo, 'PUT', {
            body: contentOf('x', 10),
            headers: { authorization: `Bearer ${who.name}` },
          })
        ).status,
      ).toBeLessThan(300);
    }
    expect(await forget(ADMIN, { since: '2020-01-01' })).toMatchObject({ matched: 6 });
    expect(await forget(ADMIN, { namespace: 'acme/app/pr' })).toMatchObject({ matched: 3 });
    for (const namespace of ['acme', 'rival', 'rival/app/main', 'acme/application'])
      expect(await post(ADMIN, { namespace })).toMatchObject({ status: 403 });
    expect(await forget(ADMIN, { namespace: 'acme/app', remove: true })).toMatchObject({ removed: 6 });
    expect(await forget(WHOLE, { since: '2020-01-01' })).toMatchObject({
      matched: 3,
      namespaces: expect.arrayContaining([
        { name: protocolNamespace('turbo', OTHER.namespace), results: 1 },
        { name: 'rival/app/main/=/web', results: 1 },
      ]),
    });
  });

  test.each([MAIN, PULL, READER, WRITER, OTHER])('is refused to $name', async (who) => {
    const { put, get, post } = await served();
    await put(MAIN, resultWith({}));
    for (const remove of [false, true]) {
      const answer = await post(who, { keys: [KEY], remove });
      expect([answer.status, codeIn(answer)]).toEqual([403, 'ASSAY_FORBIDDEN']);
    }
    expect(await get(READER)).toBe(200);
  });

  test('without a token, with a field that is not known, or without a selection is refused', async () => {
    const { server, put, get, post } = await served();
    await put(MAIN, resultWith({}));
    const nobody = await ask(`${server.url}/admin/forget`, 'POST', { body: Buffer.from('{}') });
    expect(nobody.status).toBe(401);
    for (const body of [
      {},
      { writter: 'main' },
      { keys: [] },
      { keys: ['x'] },
      { since: 5 },
      { namespace: '..' },
      [],
    ])
      expect([JSON.stringify(body), (await post(ADMIN, { ...body, remove: true })).status]).toEqual([
        JSON.stringify(body),
        400,
      ]);
    expect(await get(READER)).toBe(200);
    expect((await ask(`${server.url}/admin/forget`)).status).toBe(401);
    expect(await get(ADMIN, '/admin/forget')).toBe(405);
  });

  test('on a read-only server counts and does not remove', async () => {
    const writable = await served();
    await writable.put(MAIN, resultWith({}));
    const { forget, post, get } = await served({ readOnly: true, store: writable.server.store });
    expect(await forget(ADMIN, { keys: [KEY] })).toMatchObject({ matched: 1 });
    expect(codeIn(await post(ADMIN, { keys: [KEY], remove: true }))).toBe('ASSAY_READ_ONLY');
    expect(await get(READER)).toBe(200);
  });
});

describe('divergences', () => {
  async function diverged() {
    const made = await served();
    for (const who of [MAIN, PULL, OTHER]) {
      await made.put(who, resultWith({ exitCode: 1 }));
      await made.put(who, resultWith({ exitCode: 2 }));
    }
    await made.put(MAIN, resultWith({ exitCode: 3 }), `/web/ac/${KEY}`);
    await made.put(MAIN, resultWith({ exitCode: 4 }), `/web/ac/${KEY}`);
    const seen = async (who: Identity, query?: string) => {
      const { divergences } = await made.divergences(who, query);
      return divergences.map(({ namespace }: { namespace: string }) => namespace).sort();
    };
    return { ...made, seen };
  }

  test('are shown to a token that may read them, and to an admin of the namespace', async () => {
    const { seen } = await diverged();
    expect(await seen(PULL)).toEqual(['acme/app/main', 'acme/app/main/=/web', 'acme/app/pr/1']);
    expect(await seen(SIBLING)).toEqual(['acme/app/main', 'acme/app/main/=/web']);
    expect(await seen(READER)).toEqual(['acme/app/main', 'acme/app/main/=/web']);
    expect(await seen(OTHER)).toEqual(['rival/app/main']);
    expect(await seen(ADMIN)).toEqual(['acme/app/main', 'acme/app/main/=/web', 'acme/app/pr/1']);
    expect(await seen(WHOLE)).toHaveLength(4);
    expect(await seen(WHOLE, '?namespace=acme/app/pr')).toEqual(['acme/app/pr/1']);
    expect(await seen(READER, '?namespace=rival')).toEqual([]);
  });

  test('are refused to a token that only writes, and to no token', async () => {
    const { divergences, server } = await diverged();
    expect(await divergences(WRITER)).toMatchObject({ status: 403 });
    expect((await ask(`${server.url}/admin/divergences`)).status).toBe(401);
    expect((await divergences(ADMIN, '?limit=-1')).status).toBe(400);
  });

  test('name the writers and the difference; the addresses of clients are for an admin', async () => {
    const { divergences } = await diverged();
    const at = expect.stringMatching(/Z$/);
    const writer = { name: 'pull', protocol: 'ac', at };
    const expected = { namespace: 'acme/app/pr/1', key: KEY, difference: { exitCodes: [1, 2] } };
    expect(await divergences(PULL, '?namespace=acme/app/pr/1')).toEqual({
      status: 200,
      more: false,
      divergences: [{ ...expected, first: writer, second: writer }],
    });
    const from = '127.0.0.1';
    expect((await divergences(ADMIN, '?namespace=acme/app/pr/1')).divergences).toEqual([
      { ...expected, first: { ...writer, from }, second: { ...writer, from } },
    ]);
    expect(await divergences(WHOLE, '?limit=2')).toMatchObject({ more: true, divergences: [{}, {}] });
  });

  test('of opaque content name the first differing byte', async () => {
    const { server, divergences } = await served();
    const nx = `/nx/v1/cache/${addressOf('x').key}`;
    const content = [contentOf('one', 5000), contentOf('one', 5000)];
    content[1]?.writeUInt8(255 - (content[1]?.readUInt8(3333) ?? 0), 3333);
    for (const body of content)
      await ask(server.url + nx, 'PUT', { body, headers: { authorization: 'Bearer main' } });
    const { divergences: found } = await divergences(READER);
    expect(found).toMatchObject([
      {
        namespace: '~nx/acme/app/main',
        difference: { output: { how: 'content', offset: 3333, sizes: [5000, 5000] } },
      },
    ]);
  });
});
