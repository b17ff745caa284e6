// The protocol as mise's document defines it, and what a hostile or unlucky client meets.
import { describe, expect, test } from 'vitest';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { parseRights } from '../../../server/access/rights.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import { codeIn, type TestServerOptions, testServer } from '../../../test/server/rig.ts';
import { MISE } from '../limits.ts';
import { miseRoutes } from '../routes.ts';
import { aBuild, blob, commitOf, folder, json, MiseClient, pathOf, type SentObject } from './rig.ts';

const MAIN = parseNamespace('acme/app/main');
const PULL = parseNamespace('acme/app/pr/1');
const OTHER = parseNamespace('other');

function identity(
  name: string,
  namespace: Namespace,
  rights: string,
  reads: readonly Namespace[] = [],
): Identity {
  return { name, namespace, rights: parseRights(rights) ?? new Set(), reads };
}

const IDENTITIES = [
  identity('main', MAIN, 'read-write'),
  identity('pull', PULL, 'read-write', [MAIN]),
  identity('reader', MAIN, 'read'),
  identity('other', OTHER, 'read-write'),
];
const identities = { identify: (token: string) => IDENTITIES.find(({ name }) => name === token) };

const server = (options: TestServerOptions = {}) =>
  testServer({ wings: [{ routes: miseRoutes }], ...options });

async function client(options: TestServerOptions = {}): Promise<MiseClient> {
  return new MiseClient((await server(options)).url);
}

test('capabilities say what is taken', async () => {
  const { status, body } = await (await client()).get('/capabilities');
  expect(status).toBe(200);
  expect(JSON.parse(body.toString())).toMatchObject({
    protocol: { major: 1 },
    digest_algorithms: ['blake3', 'sha256'],
    action_kinds: { task: { action_schema: 1, metadata_schema: 1 } },
    features: { blob_packs: false, resumable_uploads: false },
  });
  expect((await (await client()).get('/status')).status).toBe(200);
});

test('another version of the protocol is told which one is here', async () => {
  const answer = await (await client()).put('/status', Buffer.alloc(0), {});
  expect(answer.status).toBe(405);
  const { url } = await server();
  const other = await fetch(`${url}/mise/v1/status`, { headers: { 'mise-cache-protocol': '2' } });
  expect([other.status, other.headers.get('mise-cache-protocol')]).toEqual([426, '1']);
});

describe('blobs', () => {
  test.each([
    ['an empty one', Buffer.alloc(0)],
    ['a small one', Buffer.from('small')],
    ['one of several chunks', Buffer.alloc(5_000_001, 'large ')],
  ])('%s is stored once and read back', async (_name, content) => {
    const mise = await client();
    const sent = await blob(content);
    expect((await mise.getBlob(sent)).status).toBe(404);
    expect((await mise.putBlob(sent)).status).toBe(201);
    expect((await mise.putBlob(sent)).status).toBe(204);
    const { status, body } = await mise.getBlob(sent);
    expect([status, body.equals(content)]).toEqual([200, true]);
  });

  test('a body with another BLAKE3 or SHA-256 is refused, and nothing of it is kept', async () => {
    const mise = await client();
    for (const algorithm of ['blake3', 'sha256'] as const) {
      for (const size of [5, 3_000_000]) {
        const { digest } = await blob(Buffer.alloc(size, 'right'), algorithm);
        const wrong = { digest, bytes: Buffer.alloc(size, 'wrong') };
        const answer = await mise.putBlob(wrong);
        expect([answer.status, codeIn(answer)]).toEqual([400, 'ASSAY_DIGEST_MISMATCH']);
        expect((await mise.getBlob(wrong)).status).toBe(404);
      }
    }
  });

  test('a body of another size, a too large one, and a PUT that may replace are refused', async () => {
    const mise = await client({ limits: { maxBlobBytes: 10 } });
    const { digest, bytes } = await blob('ten bytes!');
    expect((await mise.put(pathOf('blobs', digest), bytes, {})).status).toBe(412);
    expect((await mise.put(pathOf('blobs', { ...digest, size: 9 }), bytes)).status).toBe(400);
    expect((await mise.putBlob(await blob('eleven byte'))).status).toBe(413);
    expect((await mise.putBlob({ digest, bytes })).status).toBe(201);
  });

  test.each([
    'md5/ab/1',
    `blake3/${'A'.repeat(64)}/1`,
    `blake3/${'a'.repeat(64)}/-1`,
    `blake3/${'a'.repeat(64)}/1e3`,
  ])('the address %s is refused', async (address) => {
    const answer = await (await client()).get(`/blobs/${address}`);
    expect([answer.status, codeIn(answer)]).toEqual([400, 'ASSAY_BAD_MESSAGE']);
  });

  test('those that are missing are told, and only those', async () => {
    const mise = await client();
    const [here, missing] = [await blob('here'), await blob('missing')];
    await mise.putBlob(here);
    const ask = async (digests: unknown) => mise.post('/blobs:missing', { digests });
    const told = await ask([here.digest, missing.digest]);
    expect(JSON.parse(told.body.toString())).toEqual({ missing: [missing.digest] });
    expect((await ask(Array.from({ length: MISE.maxBatchItems + 1 }, () => here.digest))).status).toBe(400);
    expect((await ask([{ ...here.digest, more: 1 }])).status).toBe(400);
  });

  test('many bodies at once each get their own hash', async () => {
    const mise = await client();
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, n) => blob(Buffer.alloc(200_000 + n, `${n}`))),
    );
    const statuses = await Promise.all(sent.map(async (one) => (await mise.putBlob(one)).status));
    expect(statuses).toEqual(sent.map(() => 201));
  });
});

describe('results', () => {
  test('a commit is read back, and the same commit is nothing new', async () => {
    const mise = await client();
    const build = await aBuild();
    expect((await mise.getResult(build)).status).toBe(404);
    expect((await mise.publish(build)).status).toBe(201);
    const { status, headers, body } = await mise.getResult(build);
    expect([status, headers['content-type']]).toEqual([
      200,
      'application/vnd.mise.cache-action-result.v1+json',
    ]);
    expect(JSON.parse(body.toString())).toEqual(JSON.parse(build.commit.toString()));
    expect((await mise.commit(build)).status).toBe(204);
  });

  test('a second run with equal outputs is nothing new, one with others is refused and the first stays', async () => {
    const mise = await client();
    const first = await aBuild();
    await mise.publish(first);
    expect((await mise.publish(await aBuild({ durationNs: 8 }))).status).toBe(204);
    const other = await mise.publish(await aBuild({ output: 'other\n' }));
    expect([other.status, codeIn(other)]).toEqual([409, 'ASSAY_RECORD_EXISTS']);
    expect((await mise.getResult(first)).body.toString()).toBe(JSON.stringify(sorted(first.commit)));
  });

  test('a commit without one of its blobs is refused, and is no hit', async () => {
    const build = await aBuild();
    for (const missing of build.objects) {
      const mise = await client();
      for (const object of build.objects) if (object !== missing) await mise.putBlob(object);
      const answer = await mise.commit(build);
      expect([answer.status, codeIn(answer)]).toEqual([422, 'ASSAY_RESULT_INCOMPLETE']);
      expect((await mise.getResult(build)).status).toBe(404);
    }
  });

  test('a result is no hit without the record of one of its blobs, and can be committed again', async () => {
    const store = openMemoryStore();
    const lost = new Set<string>();
    const results = {
      ...store.results,
      get: async (...[address, inSameView]: Parameters<typeof store.results.get>) =>
        lost.has(address.key) ? undefined : store.results.get(address, inSameView),
    };
    const mise = await client({ store: { ...store, results } });
    const build = await aBuild();
    await mise.publish(build);
    const [file] = build.objects;
    if (!file) throw new Error('a build has a file');
    const records: string[] = [];
    for await (const { address } of store.review?.results() ?? []) records.push(address.key);
    let misses = 0;
    for (const record of records) {
      lost.add(record);
      if ((await mise.getResult(build)).status === 404) misses++;
      lost.delete(record);
    }
    expect(misses).toBe(records.length);
    expect((await mise.getResult(build)).status).toBe(200);
  });

  const wrongGraphs: readonly [
    string,
    () => Promise<{ action?: SentObject; metadata?: SentObject; root?: SentObject }>,
  ][] = [
    ['an action of another kind', async () => ({ action: await json({ version: 1, kind: 'rustc' }) })],
    ['metadata of another version', async () => ({ metadata: await json({ version: 2, kind: 'task' }) })],
    ['an action with spaces', async () => ({ action: await blob('{"kind": "task", "version": 1}') })],
    [
      'an action with a key twice',
      async () => ({ action: await blob('{"kind":"task","kind":"task","version":1}') }),
    ],
    ['a folder that is no JSON', async () => ({ root: await blob('no folder') })],
    ['a folder that nests deeply', async () => ({ root: await blob('['.repeat(5000) + ']'.repeat(5000)) })],
    [
      'a folder with a field more',
      async () => ({ root: await json({ directories: [], files: [], symlinks: [], version: 1, more: 1 }) }),
    ],
    [
      'a name with a slash',
      async () => ({ root: await folder({ symlinks: [{ name: 'a/b', target: 'c', mode: 511 }] }) }),
    ],
    [
      'a name ".."',
      async () => ({ root: await folder({ symlinks: [{ name: '..', target: 'c', mode: 511 }] }) }),
    ],
    [
      'a link to an absolute path',
      async () => ({ root: await folder({ symlinks: [{ name: 'a', target: '/etc', mode: 511 }] }) }),
    ],
    ['two entries of one name', async () => ({ root: await folder({ symlinks: [link('a'), link('a')] }) })],
    [
      'entries that are not sorted',
      async () => ({ root: await folder({ symlinks: [link('b'), link('a')] }) }),
    ],
  ];

  test.each(wrongGraphs)('%s is refused', async (_name, make) => {
    const mise = await client();
    const good = await aBuild();
    const { action = good.action, metadata = await json({ version: 1, kind: 'task' }), root } = await make();
    for (const object of [action, metadata, ...(root ? [root] : [])]) await mise.putBlob(object);
    const answer = await mise.commit({ action, commit: commitOf(action, metadata, root) });
    expect([answer.status, codeIn(answer)]).toEqual([422, 'ASSAY_BAD_MESSAGE']);
    expect((await mise.getResult({ action })).status).toBe(404);
  });

  test.each<[string, (commit: Record<string, unknown>) => unknown]>([
    ['an unknown field', (commit) => ({ ...commit, signatures: [] })],
    ['another version', (commit) => ({ ...commit, version: 2 })],
    ['no metadata', ({ metadata, ...commit }) => commit],
    ['another action', (commit) => ({ ...commit, action: commit.metadata })],
    ['a list', () => []],
  ])('a commit with %s is refused', async (_name, change) => {
    const mise = await client();
    const build = await aBuild();
    await mise.publish({ ...build, commit: Buffer.from('{}') });
    const commit = Buffer.from(JSON.stringify(change(JSON.parse(build.commit.toString()))));
    const { status } = await mise.commit({ action: build.action, commit });
    expect([400, 422]).toContain(status);
    expect((await mise.getResult(build)).status).toBe(404);
  });

  test('an action without outputs has a result', async () => {
    const mise = await client();
    const { action } = await aBuild();
    const metadata = await json({ version: 1, kind: 'task', roots: [] });
    for (const object of [action, metadata]) await mise.putBlob(object);
    expect((await mise.commit({ action, commit: commitOf(action, metadata) })).status).toBe(201);
    expect((await mise.getResult({ action })).status).toBe(200);
  });
});

describe('tokens', () => {
  test('a pull request reads what main wrote, and main never reads what it wrote', async () => {
    const { url } = await server({ identities });
    const [main, pull] = [new MiseClient(url, 'main'), new MiseClient(url, 'pull')];
    const [ofMain, ofPull] = [await aBuild(), await aBuild({ task: 'of the pull request' })];
    await main.publish(ofMain);
    expect((await pull.getResult(ofMain)).status).toBe(200);
    for (const object of ofMain.objects) expect((await pull.getBlob(object)).status).toBe(200);
    expect((await pull.publish(ofPull)).status).toBe(201);
    expect((await pull.getResult(ofPull)).status).toBe(200);
    expect((await main.getResult(ofPull)).status).toBe(404);
    expect((await main.getBlob(ofPull.action)).status).toBe(404);
  });

  test('another tenant and another namespace see nothing, not even that a blob is there', async () => {
    const { url } = await server({ identities });
    const build = await aBuild();
    await new MiseClient(url, 'main').publish(build);
    for (const outside of [new MiseClient(url, 'other'), new MiseClient(url, 'main', 'elsewhere')]) {
      expect((await outside.getResult(build)).status).toBe(404);
      expect((await outside.getBlob(build.action)).status).toBe(404);
      const told = await outside.post('/blobs:missing', { digests: [build.action.digest] });
      expect(JSON.parse(told.body.toString())).toEqual({ missing: [build.action.digest] });
    }
  });

  test('a reader is denied a write, and nobody gets in without a token or a namespace', async () => {
    const { url } = await server({ identities });
    const build = await aBuild();
    expect((await new MiseClient(url, 'reader').putBlob(build.action)).status).toBe(403);
    expect((await new MiseClient(url, 'reader').commit(build)).status).toBe(403);
    expect((await new MiseClient(url, 'nobody').getResult(build)).status).toBe(401);
    const none = await fetch(`${url}/mise/v1${pathOf('blobs', build.action.digest)}`, {
      headers: { authorization: 'Bearer main' },
    });
    expect(none.status).toBe(400);
  });
});

const link = (name: string) => ({ name, target: 'target', mode: 0o777 });

function sorted(commit: Buffer): unknown {
  const { action, metadata, output_root, version } = JSON.parse(commit.toString());
  return { action, metadata, output_root, version };
}
