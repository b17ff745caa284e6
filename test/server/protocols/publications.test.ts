// A result, its small blobs and its path set in one request: all of it is stored in the order of single
// requests, or nothing of it is visible.
import { describe, expect, test } from 'vitest';
import { type Digest, digestOf, type Hash } from '../../../core/digest.ts';
import { appendBlobs } from '../../../core/inlined-blobs.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { encodePathSet, type PathSet, PUBLISH_MARK, resultKey } from '../../../core/path-set.ts';
import { ListPathSetsResponse, PublishResponse } from '../../../core/proto/generated/assay.ts';
import { SERVER } from '../../../server/limits.ts';
import { contentOf, resultNaming } from '../../store/content.ts';
import { EVERYBODY } from '../access/identities.ts';
import { ask, type TestServer, testServer } from '../rig.ts';

const ACTION = digestOf(Buffer.from('an action')).hash;
const PATHS: PathSet = [
  {
    root: 'workspace',
    path: 'a',
    names: false,
    state: 'file 0',
    left: '',
    without: [],
    lens: '',
    shown: [],
    note: '',
  },
];
const SET = Buffer.from(encodePathSet(PATHS));
const KEY = resultKey(ACTION, PATHS, ({ state }) => state).hash;
const OUTPUT = contentOf('an output', 100);

interface Sent {
  readonly result?: Buffer;
  readonly blobs?: readonly { readonly hash: Hash; readonly bytes: Buffer }[];
  readonly set?: Hash;
  readonly isFirst?: boolean;
  readonly token?: string;
  /** Not as the result of the key. */
  readonly asRival?: boolean;
}

function named(bytes: Buffer): { hash: Hash; bytes: Buffer } {
  return { hash: digestOf(bytes).hash, bytes };
}

async function publish(server: TestServer, sent: Sent = {}) {
  const { result = resultNaming(digestOf(OUTPUT)), blobs = [named(OUTPUT), named(SET)] } = sent;
  const { set = digestOf(SET).hash, isFirst = false, token, asRival } = sent;
  const query = asRival ? `rival=${KEY}` : `publish=${KEY}&set=${set}${isFirst ? '&first=1' : ''}`;
  const url = `${server.url}/path-sets/v1/${ACTION}?${query}`;
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { status, body } = await ask(url, 'PUT', { headers, body: appendBlobs({ result, blobs }) });
  if (status !== 200) return status;
  const { mark, outcome } = PublishResponse.decode(body);
  expect(mark).toBe(PUBLISH_MARK);
  return outcome;
}

async function list(server: TestServer, headers: Record<string, string> = {}) {
  const { body } = await ask(`${server.url}/path-sets/v1/${ACTION}?inlined=10000`, 'GET', { headers });
  return ListPathSetsResponse.decode(body);
}

async function expectNothing(server: TestServer): Promise<void> {
  expect(await server.store.results.get({ namespace: DEFAULT_NAMESPACE, key: KEY })).toBeUndefined();
  expect((await list(server)).sets).toEqual([]);
}

test('stores the blobs, the result and the set', async () => {
  const server = await testServer();
  expect((await list(server)).takesPublications).toBe(true);
  expect(await publish(server)).toBe('stored');
  expect(await list(server)).toMatchObject({ sets: [SET], predicted: KEY });
  expect((await server.store.blobs.get(digestOf(OUTPUT).hash))?.bytes).toEqual(OUTPUT);
  expect(await publish(server)).toBe('unchanged');
});

test('another result of the key diverges', async () => {
  const server = await testServer();
  await publish(server);
  const other = contentOf('another output', 100);
  const result = resultNaming(digestOf(other));
  expect(await publish(server, { result, blobs: [named(other)] })).toBe('diverged');
});

const MISSING: Digest = digestOf(Buffer.from('not sent'));

test.each<[string, Sent, number]>([
  ['a blob with another digest', { blobs: [{ hash: MISSING.hash, bytes: OUTPUT }, named(SET)] }, 400],
  ['a missing blob', { blobs: [named(SET)] }, 409],
  ['no result', { result: Buffer.from([0xff, 0xff]) }, 400],
  ['too many blobs', { blobs: Array(SERVER.maxPublishedBlobs + 1).fill(named(Buffer.alloc(0))) }, 413],
  ['too many bytes', { blobs: [named(Buffer.alloc(SERVER.maxBatchBytes))] }, 413],
])('%s is refused, and nothing is visible', async (_what, sent, status) => {
  const server = await testServer();
  expect(await publish(server, sent)).toBe(status);
  await expectNothing(server);
});

test('a set that was not sent is not listed', async () => {
  const server = await testServer();
  expect(await publish(server, { set: MISSING.hash })).toBe(409);
  expect((await list(server)).sets).toEqual([]);
});

test('the first result of an action is stored only while the action has no path sets', async () => {
  const server = await testServer();
  expect(await publish(server, { isFirst: true })).toBe('stored');
  const other = contentOf('another output', 100);
  const sent = { result: resultNaming(digestOf(other)), blobs: [named(other)], isFirst: true };
  expect(await publish(server, sent)).toBe('listed');
  expect(await server.store.blobs.get(digestOf(other).hash)).toBeUndefined();
});

test('a client without permission is refused, and a pull request publishes for itself', async () => {
  const server = await testServer({ identities: EVERYBODY });
  expect(await publish(server)).toBe(401);
  expect(await publish(server, { token: 'reader' })).toBe(403);
  expect(await publish(server, { token: 'pull' })).toBe('stored');
  const seenBy = async (token: string) =>
    (await list(server, { authorization: `Bearer ${token}` })).sets.length;
  expect([await seenBy('pull'), await seenBy('sibling'), await seenBy('main')]).toEqual([1, 0, 0]);
});

test('a read-only server takes none', async () => {
  const server = await testServer({ readOnly: true });
  expect(await publish(server)).toBe(403);
  await expectNothing(server);
});

describe('a rival', () => {
  const other = contentOf('another output', 100);
  const rival = { result: resultNaming(digestOf(other)), blobs: [named(other)], asRival: true };

  test('is kept beside the result of the key, which stays, and never alone', async () => {
    const server = await testServer();
    expect(await publish(server, rival)).toBe('unchanged');
    await expectNothing(server);
    await publish(server);
    expect(await publish(server, { asRival: true })).toBe('unchanged');
    const address = { namespace: DEFAULT_NAMESPACE, key: KEY };
    const served = await server.store.results.get(address);
    expect(await publish(server, rival)).toBe('diverged');
    expect((await server.store.results.get(address))?.bytes).toEqual(served?.bytes);
    expect(await Array.fromAsync(server.store.review?.divergences() ?? [])).toHaveLength(1);
  });

  test('needs the right to write, and a pull request never gets one of its own', async () => {
    const server = await testServer({ identities: EVERYBODY });
    await publish(server, { token: 'main' });
    expect(await publish(server, { ...rival, token: 'reader' })).toBe(403);
    expect(await publish(server, { ...rival, token: 'pull' })).toBe('unchanged');
    expect(await publish(server, { ...rival, token: 'main' })).toBe('diverged');
    const pulled = await list(server, { authorization: 'Bearer pull' });
    expect(pulled.predicted).toBe(KEY);
  });
});
