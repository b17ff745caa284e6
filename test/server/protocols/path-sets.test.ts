// The lists of path sets, over HTTP and gRPC: whole sets only, the most recently used first, within limits.
import { describe, expect, onTestFinished, test } from 'vitest';
import { digestOf, type Hash, parseHash } from '../../../core/digest.ts';
import { splitBlobs } from '../../../core/inlined-blobs.ts';
import { PATH_SETS } from '../../../core/limits.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { encodePathSet, LIST_MARK, type PathSet, resultKey } from '../../../core/path-set.ts';
import {
  AddPathSetRequest,
  FindResultRequest,
  FindResultResponse,
  ListPathSetsRequest,
  ListPathSetsResponse,
} from '../../../core/proto/generated/assay.ts';
import { Metrics } from '../../../server/request/metrics.ts';
import type { OnStoreEvent } from '../../../store/events.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';
import { type CallHeaders, GrpcClient } from '../../rig/grpc.ts';
import { temporaryFolder } from '../../rig/stores/disk-store.ts';
import { openMemoryStore } from '../../rig/stores/memory/store.ts';
import { resultNaming } from '../../store/content.ts';
import { ask, type Method, type TestServer, type TestServerOptions, testServer } from '../rig.ts';
import { only } from './reapi/rig.ts';

const KEY = digestOf(Buffer.from('an action')).hash;
const NO_STEP = Buffer.alloc(0);
const TEAM = parseNamespace('team');
const URL_OF_LIST = `/path-sets/v1/team/${KEY}`;

function setOf(path: string, state = 'file 0'): PathSet {
  return [
    { root: 'workspace', path, names: false, state, left: '', without: [], lens: '', shown: [], note: '' },
  ];
}

async function store(server: TestServer, set: PathSet): Promise<Hash> {
  const bytes = encodePathSet(set);
  return (await server.store.blobs.put(digestOf(bytes), bytes)).hash;
}

const put = (server: TestServer, set: Hash, headers = {}, path = URL_OF_LIST) =>
  ask(`${server.url}${path}?set=${set}`, 'PUT', { headers });

async function add(server: TestServer, ...sets: readonly PathSet[]): Promise<Hash[]> {
  const hashes: Hash[] = [];
  for (const set of sets) {
    const hash = await store(server, set);
    expect((await put(server, hash)).status).toBe(200);
    hashes.push(hash);
  }
  return hashes;
}

async function list(server: TestServer, path = URL_OF_LIST): Promise<Hash[]> {
  const { status, body } = await ask(server.url + path);
  expect(status).toBe(200);
  const { mark, sets } = ListPathSetsResponse.decode(body);
  expect(mark).toBe(LIST_MARK);
  return sets.map((bytes) => digestOf(bytes).hash);
}

interface Wanted {
  readonly set: string;
  readonly result: string;
}

function findMessage(
  name: { instanceName: string; key: string },
  wanted: readonly Wanted[],
  afterPrediction = false,
): Buffer {
  const candidates = wanted.map(({ set, result }) => {
    return { set: Buffer.from(set, 'hex').subarray(0, 8), result: Buffer.from(result, 'hex') };
  });
  const request = { ...name, candidates, inlinedBytes: 10_000, afterPrediction, step: NO_STEP };
  return Buffer.from(FindResultRequest.encode(request).finish());
}

async function find(server: TestServer, wanted: readonly Wanted[], afterPrediction = false) {
  const about = { instanceName: '', key: '' };
  const message = findMessage(about, wanted, afterPrediction).toString('base64url');
  const answer = await ask(`${server.url}${URL_OF_LIST}?find=${message}`);
  return answer.status === 200 ? FindResultResponse.decode(answer.body) : answer.status;
}

async function storeResult(
  server: TestServer,
  name: string,
  key = digestOf(Buffer.from(name)).hash,
): Promise<Hash> {
  const bytes = Buffer.from(`output of ${name}`);
  const output = await server.store.blobs.put(digestOf(bytes), bytes);
  await server.store.results.put({ namespace: TEAM, key }, resultNaming(output));
  return key;
}

const numbered = (count: number) => Array.from({ length: count }, (_, at) => setOf(`file-${at}`));

test('a list has the newest set first, and belongs to one key and namespace', async () => {
  const server = await testServer();
  expect(await list(server)).toEqual([]);
  const [a, b, c] = await add(server, setOf('a'), setOf('b'), setOf('c'));
  expect(await list(server)).toEqual([c, b, a]);
  expect(await list(server, `/path-sets/v1/${KEY}`)).toEqual([]);
  expect(await list(server, `/path-sets/v1/team/${a}`)).toEqual([]);
});

test('sets that differ only in the states of present paths are one entry, the newest', async () => {
  const server = await testServer();
  const [, , newer, absent] = await add(
    server,
    setOf('a', 'file 1'),
    setOf('b'),
    setOf('a', 'file 2'),
    setOf('a', 'absent'),
  );
  expect(await list(server)).toEqual([absent, newer, digestOf(encodePathSet(setOf('b'))).hash]);
});

test('a set through which a result was found comes first', async () => {
  const server = await testServer();
  const [a = KEY, b = KEY, c = KEY] = await add(server, setOf('a'), setOf('b'), setOf('c'));
  const [one, two] = [await storeResult(server, 'one'), await storeResult(server, 'two')];
  const missing = digestOf(Buffer.from('no result')).hash;
  const found = await find(server, [
    { set: c, result: missing },
    { set: a, result: one },
    { set: b, result: two },
  ]);
  if (typeof found === 'number') throw new Error(`status ${found}`);
  expect(found.result).toBe(one);
  expect(splitBlobs(found.answer).blobs.map(({ bytes }) => bytes.toString())).toEqual(['output of one']);
  await expect.poll(() => list(server)).toEqual([a, c, b]);
});

/** The key that a set leads to in the states that it records. */
const recordedKey = (set: PathSet) => resultKey(KEY, set, ({ state }) => state).hash;

async function predicted(server: TestServer, accepted = 10_000) {
  const { body } = await ask(`${server.url}${URL_OF_LIST}?inlined=${accepted}`);
  const { predicted: key, answer } = ListPathSetsResponse.decode(body);
  const { result, blobs } = splitBlobs(answer);
  return { key, size: result.length, blobs: blobs.map(({ bytes }) => bytes.toString()) };
}

const NOTHING_PREDICTED = { key: '', size: 0, blobs: [] };

describe('the result that the first set led to', () => {
  test('comes with the list and with its blobs, if the client accepts it', async () => {
    const server = await testServer();
    await add(server, setOf('a'), setOf('b'));
    for (const name of ['a', 'b']) await storeResult(server, name, recordedKey(setOf(name)));
    const found = await predicted(server);
    expect(found).toMatchObject({ key: recordedKey(setOf('b')), blobs: ['output of b'] });
    expect(await predicted(server, 0)).toEqual(NOTHING_PREDICTED);
    expect(await predicted(server, found.size - 1)).toEqual(NOTHING_PREDICTED);
    expect(await predicted(server, found.size)).toMatchObject({ key: found.key });
  });

  test('is not sent if it is not stored, although that of another set is', async () => {
    const server = await testServer();
    await add(server, setOf('a'), setOf('b'));
    await storeResult(server, 'a', recordedKey(setOf('a')));
    expect(await predicted(server)).toEqual(NOTHING_PREDICTED);
  });

  test('follows the newest states', async () => {
    const server = await testServer();
    const [older, newer] = [setOf('a', 'file 1'), setOf('a', 'file 2')];
    await add(server, older, newer);
    for (const set of [older, newer]) await storeResult(server, recordedKey(set), recordedKey(set));
    expect(await predicted(server)).toMatchObject({ key: recordedKey(newer) });
    await add(server, older);
    expect(await predicted(server)).toMatchObject({ key: recordedKey(older) });
  });

  test('is one lookup, whether the client uses it, finds another result, or finds none', async () => {
    const metrics = new Metrics();
    const server = await testServer({ metrics });
    const [set = KEY] = await add(server, setOf('a'));
    const other = await storeResult(server, 'other');
    await storeResult(server, 'a', recordedKey(setOf('a')));
    await predicted(server);
    expect(await find(server, [{ set, result: other }], true)).toMatchObject({ result: other });
    await predicted(server);
    expect(await find(server, [{ set, result: 'f'.repeat(64) }], true)).toMatchObject({ result: '' });
    await predicted(server);
    await server.stop();
    const counted = (await metrics.page()).match(/assay_lookups_total\{kind="ac",.*/g);
    expect(counted).toEqual([
      'assay_lookups_total{kind="ac",outcome="hit"} 2',
      'assay_lookups_total{kind="ac",outcome="miss"} 1',
    ]);
  });

  test('and the list are no lookups for a client that compares a new result with them', async () => {
    const metrics = new Metrics();
    const server = await testServer({ metrics });
    const compared = { headers: { 'assay-comparison': '1' } };
    const url = `${server.url}${URL_OF_LIST}`;
    await ask(`${url}?inlined=10000`, 'GET', compared);
    const [set = KEY] = await add(server, setOf('a'));
    await storeResult(server, 'a', recordedKey(setOf('a')));
    await ask(`${url}?inlined=10000`, 'GET', compared);
    const wanted = findMessage({ instanceName: '', key: '' }, [{ set, result: KEY }], true);
    await ask(`${url}?find=${wanted.toString('base64url')}`, 'GET', compared);
    const list = { instanceName: 'team', key: KEY, inlinedBytes: 10_000, step: NO_STEP };
    const call = await grpc(server, compared.headers);
    await call('List', ListPathSetsRequest.encode(list).finish());
    await server.stop();
    expect(await metrics.page()).not.toMatch(/assay_lookups_total\{kind="ac",.*[1-9]/);
  });

  test('without sets is that of the action itself, or the list says that there is none', async () => {
    const server = await testServer();
    const isMiss = async (query: string) =>
      ListPathSetsResponse.decode((await ask(`${server.url}${URL_OF_LIST}${query}`)).body).isMiss;
    expect([await isMiss(''), await isMiss('?inlined=10000')]).toEqual([false, true]);
    await storeResult(server, 'own', KEY);
    expect(await predicted(server)).toMatchObject({ key: KEY, blobs: ['output of own'] });
    expect(await isMiss('?inlined=10000')).toBe(false);
    await add(server, setOf('a'));
    expect(await predicted(server)).toEqual(NOTHING_PREDICTED);
    expect(await isMiss('?inlined=10000')).toBe(false);
  });

  test('comes over gRPC, too', async () => {
    const server = await testServer();
    await add(server, setOf('a'));
    const key = await storeResult(server, 'a', recordedKey(setOf('a')));
    const call = await grpc(server);
    const message = ListPathSetsRequest.encode({
      instanceName: 'team',
      key: KEY,
      inlinedBytes: 10_000,
      step: NO_STEP,
    });
    const listed = only(ListPathSetsResponse, await call('List', message.finish()));
    expect(listed).toMatchObject({ predicted: key });
    expect(splitBlobs(listed.answer).blobs).toHaveLength(1);
  });
});

test('without a result that is stored, there is none, and the order stays', async () => {
  const server = await testServer();
  const [a = KEY, b = KEY] = await add(server, setOf('a'), setOf('b'));
  expect(await find(server, [{ set: a, result: KEY }])).toMatchObject({ result: '' });
  expect(await find(server, [])).toMatchObject({ result: '' });
  expect(await list(server)).toEqual([b, a]);
});

test('a list keeps the sets that were used last, and no more than its limit', async () => {
  const server = await testServer();
  const sets = await add(server, ...numbered(PATH_SETS.maxListed + 6));
  expect(await list(server)).toEqual(sets.toReversed().slice(0, PATH_SETS.maxListed));
});

test('one answer has a bounded number of bytes', async () => {
  const server = await testServer();
  const large = (name: string) =>
    Array.from({ length: 5_000 }, (_, at) => setOf(`${name}/${'x'.repeat(200)}/${at}`)[0]);
  const sets = ['a', 'b', 'c', 'd', 'e'].map((name) => large(name).flatMap((seen) => seen ?? []));
  const size = encodePathSet(sets[0] ?? []).length;
  await add(server, ...sets);
  await add(server, setOf('small'));
  const { body } = await ask(server.url + URL_OF_LIST);
  expect(body.length).toBeLessThan(PATH_SETS.maxListBytes + 1000);
  expect(ListPathSetsResponse.decode(body).sets).toHaveLength(1 + Math.floor(PATH_SETS.maxListBytes / size));
});

test('a set whose blob is gone is left out, and is listed again when it is stored again', async () => {
  const lost = new Set<Hash>();
  const server = await testServer({ store: (onEvent) => losing(onEvent, lost) });
  const [a = KEY, b = KEY, c = KEY] = await add(server, setOf('a'), setOf('b'), setOf('c'));
  lost.add(b);
  expect(await list(server)).toEqual([c, a]);
  lost.delete(b);
  expect(await list(server)).toEqual([c, b, a]);
});

test('a full store keeps a list that is used, and evicts one that is not', async () => {
  let time = 5_000_000;
  const clock = { name: 'boot', now: () => time };
  const directory = temporaryFolder();
  const open = () => openDiskStore({ directory, clock, leaseMs: 1000, maxSize: { bytes: 8_000_000 } });
  const server = await testServer({ store: open });
  const sets = (await add(server, ...numbered(20))).toReversed();
  const fill = async (rounds: number, eachRound: () => Promise<void>) => {
    for (let round = 0; round < rounds; round++) {
      time += 2000;
      const bytes = Buffer.alloc(400_000, `${rounds}/${round}`);
      await server.store.blobs.put(digestOf(bytes), bytes);
      await eachRound();
    }
  };
  await fill(60, async () => expect(await list(server)).toEqual(sets));
  await fill(61, async () => {});
  expect(await list(server)).toEqual([]);
  const [added] = await add(server, setOf('new'));
  expect(await list(server)).toEqual([added]);
});

/** A memory store that has lost these blobs. */
async function losing(onEvent: OnStoreEvent, lost: ReadonlySet<Hash>): Promise<Store> {
  const whole = openMemoryStore(onEvent);
  return {
    ...whole,
    blobs: {
      ...whole.blobs,
      get: async (hash) => (lost.has(hash) ? undefined : whole.blobs.get(hash)),
      missing: async (digests) => digests.filter(({ hash }) => lost.has(hash)),
    },
  };
}

test('no set is lost if many clients add sets at once, and a restart changes nothing', async () => {
  const directory = temporaryFolder();
  const first = await testServer({ store: () => openDiskStore({ directory }) });
  const hashes = await Promise.all(numbered(40).map((set) => store(first, set)));
  const statuses = await Promise.all(hashes.map(async (hash) => (await put(first, hash)).status));
  expect(new Set(statuses)).toEqual(new Set([200]));
  const before = await list(first);
  expect(before.toSorted()).toEqual(hashes.toSorted());
  await first.stop();
  await first.store.close();
  const second = await testServer({ store: () => openDiskStore({ directory }) });
  expect(await list(second)).toEqual(before);
});

test('two processes that add to one list lose nothing', async () => {
  const directory = temporaryFolder();
  const servers = await Promise.all(
    [1, 2].map(() => testServer({ store: () => openDiskStore({ directory }) })),
  );
  const [one, two] = servers;
  if (!one || !two) throw new Error('no servers');
  const hashes = await Promise.all(numbered(30).map((set) => store(one, set)));
  await Promise.all(hashes.map((hash, at) => put(at % 2 === 0 ? one : two, hash)));
  expect((await list(one)).toSorted()).toEqual(hashes.toSorted());
});

test.each<[string, Method, string, number]>([
  ['an invalid key', 'GET', '/path-sets/v1/team/abc', 400],
  ['no key', 'GET', '/path-sets/v1/', 400],
  ['an invalid namespace', 'GET', `/path-sets/v1/a%20b/${KEY}`, 400],
  ['no set', 'PUT', URL_OF_LIST, 400],
  ['an invalid set', 'PUT', `${URL_OF_LIST}?set=zz`, 400],
  ['a set that is not stored', 'PUT', `${URL_OF_LIST}?set=${KEY}`, 409],
  ['another method', 'DELETE', URL_OF_LIST, 405],
  ['POST', 'POST', URL_OF_LIST, 405],
])('%s is refused', async (_name, method, path, status) => {
  const server = await testServer();
  expect((await ask(server.url + path, method)).status).toBe(status);
  expect(await list(server)).toEqual([]);
});

test('what is no path set, and one that is too large, is refused', async () => {
  const server = await testServer();
  const text = Buffer.from('not a path set');
  const { hash } = await server.store.blobs.put(digestOf(text), text);
  expect((await put(server, hash)).status).toBe(400);
  const large = Buffer.alloc(PATH_SETS.maxSetBytes + 1);
  const stored = await server.store.blobs.put(digestOf(large), large);
  expect((await put(server, stored.hash)).status).toBe(413);
  expect(await list(server)).toEqual([]);
});

test('a request for too many results, or none that can be decoded, is refused', async () => {
  const server = await testServer();
  const many = Array.from({ length: PATH_SETS.maxListed + 1 }, () => ({ set: KEY, result: KEY }));
  expect(await find(server, many)).toBe(400);
  expect(await find(server, [{ set: KEY, result: 'abcd' }])).toBe(400);
  const broken = await ask(`${server.url}${URL_OF_LIST}?find=Gv8`);
  expect(broken.status).toBe(400);
});

test('a client without permission can neither write nor read lists', async () => {
  const closed = await testServer({ token: 'sesame' });
  const set = await store(closed, setOf('a'));
  expect((await ask(closed.url + URL_OF_LIST)).status).toBe(401);
  expect((await ask(`${closed.url}${URL_OF_LIST}?find=`)).status).toBe(401);
  expect((await put(closed, set)).status).toBe(401);
  expect((await put(closed, set, { authorization: 'Bearer sesame' })).status).toBe(200);
});

test('a read-only server lists and finds, but takes no set and keeps the order', async () => {
  const directory = temporaryFolder();
  const open = () => openDiskStore({ directory });
  const writer = await testServer({ store: open });
  const [a = KEY, b] = await add(writer, setOf('a'), setOf('b'));
  const result = await storeResult(writer, 'one');
  const reader = await testServer({ store: open, readOnly: true });
  expect((await put(reader, a)).status).toBe(403);
  expect(await find(reader, [{ set: a, result }])).toMatchObject({ result });
  await reader.stop();
  expect(await list(writer)).toEqual([b, a]);
});

async function grpc(server: TestServer, headers: CallHeaders = {}) {
  const client = await GrpcClient.to(server.url);
  onTestFinished(() => client.close());
  return (method: string, message: Uint8Array) =>
    client.call(`/assay.v1.PathSets/${method}`, message, headers);
}

test('gRPC and HTTP have the same lists', async () => {
  const server = await testServer();
  const call = await grpc(server);
  const about = { instanceName: 'team', key: KEY };
  const [a = KEY] = await add(server, setOf('a'));
  const b = await store(server, setOf('b'));
  const added = await call('Add', AddPathSetRequest.encode({ ...about, set: b }).finish());
  expect(added).toMatchObject({ status: 'OK' });
  const message = ListPathSetsRequest.encode({ ...about, inlinedBytes: 0, step: NO_STEP }).finish();
  const listed = only(ListPathSetsResponse, await call('List', message));
  expect(listed.sets.map((bytes) => digestOf(bytes).hash)).toEqual([b, a]);
  expect(await list(server)).toEqual([b, a]);
  const result = await storeResult(server, 'one');
  const found = only(FindResultResponse, await call('Find', findMessage(about, [{ set: a, result }])));
  expect(found.result).toBe(result);
  expect(splitBlobs(found.answer).blobs).toHaveLength(1);
  await expect.poll(() => list(server)).toEqual([a, b]);
});

test.each<[TestServerOptions, string]>([
  [{ token: 'sesame' }, 'UNAUTHENTICATED'],
  [{ readOnly: true }, 'PERMISSION_DENIED'],
])('gRPC without permission: %o', async (options, status) => {
  const call = await grpc(await testServer(options));
  const message = AddPathSetRequest.encode({ instanceName: '', key: KEY, set: parseHash(KEY) }).finish();
  expect(await call('Add', message)).toMatchObject({ status });
});
