// What the server tells of the requests of real protocols: hits, misses, the tail, and requests as runs.
import { expect, test, vi } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { MINUTE } from '../../../../core/units.ts';
import type { Identity } from '../../../../server/access/identity.ts';
import { contentOf } from '../../../../server/history/documents.ts';
import { Accounting } from '../../../../server/request/accounting.ts';
import type { History } from '../../../../store/history.ts';
import { memoryHistory } from '../../../../test/rig/stores/memory/history.ts';
import { identity, MAIN, OTHER, sourceOf } from '../../../../test/server/access/identities.ts';
import { METADATA, metadataOf } from '../../../../test/server/request/metadata.ts';
import { ask } from '../../../../test/server/rig.ts';
import { resultWith } from '../../../../test/store/content.ts';
import { Activity } from '../../activity/activity.ts';
import type { StoredLookups } from '../../activity/groups.ts';
import type { Now, Tail } from '../../api/schemas/now.ts';
import type { Run, Runs } from '../../api/schemas/runs.ts';
import type { Setup } from '../../api/schemas/setup.ts';
import type { Storage } from '../../api/schemas/storage.ts';
import { testServer } from '../rig.ts';

const ROOT = identity('root', { namespace: '', rights: 'read-write,server:stats' });
const CCACHE_KEY = `/ccache/team/75/${'9'.repeat(30)}`;
const key = (name: string) => digestOf(Buffer.from(name)).hash;

async function served() {
  const server = await testServer({ identities: sourceOf(MAIN, OTHER, ROOT) });
  const as = (who: Identity) => ({ authorization: `Bearer ${who.name}` });
  async function get<T>(who: Identity, path: string): Promise<T> {
    const answer = await ask(`${server.url}/api/v1/${path}`, 'GET', { headers: as(who) });
    expect([answer.status, answer.body.toString()]).toEqual([200, expect.any(String)]);
    return JSON.parse(answer.body.toString());
  }
  const lookUp = async (who: Identity, path: string, headers: Record<string, string> = {}) =>
    (await ask(server.url + path, 'GET', { headers: { ...as(who), ...headers } })).status;
  const put = async (who: Identity, path: string, body: Buffer) =>
    expect((await ask(server.url + path, 'PUT', { body, headers: as(who) })).status).toBe(200);
  return { server, get, lookUp, put, as };
}

/** An activity that observes requests, without a server. */
function observed({
  history,
  now = Date.now,
  onLookup = () => {},
}: {
  readonly history: History | undefined;
  readonly now?: () => number;
  readonly onLookup?: () => void;
}) {
  const onTrouble = (error: unknown) => expect.fail(String(error));
  const metrics = { lookedUp: () => {}, lookedUpBy: onLookup, denied: () => {} };
  const accounting = new Accounting({ metrics, onTrouble, now });
  const activity = new Activity({
    history,
    bytes: () => ({ received: 0, sent: 0 }),
    count: () => accounting.count(),
    onTrouble,
    now,
    flushMs: 60_000,
  });
  accounting.addObserver(activity);
  return { accounting, activity };
}

test('a server that was stopped is no node any more', async () => {
  const history = memoryHistory();
  const { activity } = observed({ history });
  const nodes = async () => (await history.page({ kind: 'node', from: 1, limit: 10 })).documents;
  await activity.flush();
  expect(await nodes()).toHaveLength(1);
  await activity.close();
  expect(await nodes()).toEqual([]);
});

test('a lookup is counted when somebody reads, when many wait, and soon after the last one', async () => {
  const start = Date.parse('2026-11-18T08:00:59.950Z');
  let now = start;
  let counted = 0;
  const history = memoryHistory();
  const { accounting, activity } = observed({ history, onLookup: () => counted++, now: () => now });
  const lookup = { identity: MAIN, headers: {}, protocol: 'http', namespace: MAIN.namespace, key: key('a') };
  const minutes = async () => {
    const read = await activity.figures.read(history, undefined, {
      from: start,
      to: now + 1,
      stepMs: MINUTE,
    });
    return read.map(({ hits, misses, requests, errors }) => ({ hits, misses, requests, errors }));
  };
  const tell = (times: number) => {
    for (let time = 0; time < times; time++) {
      accounting.lookedUp('ac', { ...lookup, found: time % 2 === 0 });
      accounting.answered(MAIN, time === 900, 1);
    }
  };
  tell(2);
  expect(counted).toBe(0);
  expect(activity.tail.read(undefined).events.map(({ what }) => what)).toEqual(['miss', 'hit']);
  expect(counted).toBe(2);

  /* It counts for the minute in which it was told, though somebody reads it in the next. */
  tell(1);
  now += 100;
  expect(await minutes()).toEqual([
    { hits: 2, misses: 1, requests: 3, errors: 0 },
    { hits: 0, misses: 0, requests: 0, errors: 0 },
  ]);
  tell(1000);
  expect(counted).toBeGreaterThan(900);
  await vi.waitFor(() => expect(counted).toBe(1003));
  expect((await minutes())[1]).toEqual({ hits: 500, misses: 500, requests: 1000, errors: 1 });
  await accounting.close();
});

test('an error counts for the same minute as its request, also if others of the minute before wait', async () => {
  const start = Date.parse('2026-11-18T08:00:59.950Z');
  let now = start;
  const history = memoryHistory();
  const { accounting, activity } = observed({ history, now: () => now });
  accounting.answered(MAIN, false, 1);
  now += 99;
  accounting.answered(MAIN, true, 1);
  const read = await activity.figures.read(history, undefined, { from: start, to: now + 1, stepMs: MINUTE });
  expect(read.map(({ requests, errors }) => ({ requests, errors }))).toEqual([
    { requests: 1, errors: 0 },
    { requests: 1, errors: 1 },
  ]);
  await accounting.close();
});

test('a run keeps its newest lookups, newest first, though they were counted together and flushed again', async () => {
  const history = memoryHistory();
  const { accounting, activity } = observed({ history, now: () => Date.parse('2026-11-18T08:00:00Z') });
  const keys = Array.from({ length: 260 }, (_, at) => key(`${at}`));
  for (const [at, name] of keys.entries()) {
    const lookup = { identity: MAIN, headers: {}, protocol: 'http', namespace: MAIN.namespace, key: name };
    accounting.lookedUp('ac', { ...lookup, found: false });
    if (at % 130 === 129) await activity.flush();
  }
  const run = activity.tail.read(undefined).events[0]?.run ?? '';
  const stored = await history.get('run-lookups', run, [MAIN.namespace]);
  const lookups = (stored && contentOf<StoredLookups>(stored)?.lookups) ?? [];
  expect(lookups.map((lookup) => lookup.key)).toEqual(keys.reverse().slice(0, 200));
  await accounting.close();
});

test('a write over gRPC, and one of a path set, is told by its tool', () => {
  const { accounting, activity } = observed({ history: undefined });
  for (const protocol of ['ActionCache.UpdateActionResult', 'path-sets', 'ac', 'turbo'])
    accounting.wrote({
      at: '',
      from: '',
      what: 'result',
      identity: 'ci',
      protocol,
      namespace: 'web',
      key: key('a'),
    });
  const { events } = activity.tail.read(undefined);
  expect(events.map(({ tool }) => tool)).toEqual(['turbo', 'http', 'assay', 'grpc']);
});

test('hits and misses are counted by tool for those who may read the namespace, and shown in the tail', async () => {
  const { get, lookUp, put } = await served();
  await put(MAIN, `/ac/${key('a')}`, resultWith({}));
  await put(MAIN, CCACHE_KEY, Buffer.from('object'));
  expect(await lookUp(MAIN, `/ac/${key('a')}`, { 'user-agent': 'bazel/8.0.0' })).toBe(200);
  expect(await lookUp(MAIN, `/ac/${key('b')}`)).toBe(404);
  expect(await lookUp(MAIN, CCACHE_KEY)).toBe(200);
  expect(await lookUp(OTHER, `/ac/${key('a')}`)).toBe(404);
  const main = await get<Now>(MAIN, 'now');
  expect(main.today).toMatchObject({ hits: 2, misses: 1, hitRate: 2 / 3, errors: 0 });
  expect(main.today.bytesSent).toBeUndefined();
  expect(main.health).toEqual({
    status: 'good',
    sentence: 'All is well. 67\u00a0% of today’s lookups were hits.',
  });
  expect(main.tail.events.map(({ tool, what, namespace }) => [tool, what, namespace])).toEqual([
    ['ccache', 'hit', 'acme/app/main/team'],
    ['http', 'miss', 'acme/app/main'],
    ['bazel', 'hit', 'acme/app/main'],
    ['ccache', 'stored', 'acme/app/main/team'],
    ['http', 'stored', 'acme/app/main'],
  ]);
  expect((await get<Now>(OTHER, 'now')).today).toMatchObject({ hits: 0, misses: 1 });
  expect((await get<Now>(OTHER, 'now')).tail.events).toHaveLength(1);
  const whole = await get<Now>(ROOT, 'now');
  expect(whole.today).toMatchObject({ hits: 2, misses: 2 });
  expect(whole.today.bytesReceived).toBe(6 + resultWith({}).length);
  expect(whole.figures.points.at(-1)).toMatchObject({ hits: 2, misses: 2, p99Ms: expect.any(Number) });
  const { tools } = await get<Setup>(ROOT, 'setup');
  const light = (name: string) => tools.find((tool) => tool.name === name);
  expect(light('ccache')).toMatchObject({ lookupsToday: 1, lastRequestAt: expect.any(String) });
  expect(light('Nx')?.lastRequestAt).toBeUndefined();
});

test('a request lights its own tool, and none that can’t be told from it', async () => {
  const { get, lookUp } = await served();
  await lookUp(ROOT, `/ac/${key('a')}`, { 'user-agent': 'assay/0.2.0' });
  const { tools } = await get<Setup>(ROOT, 'setup');
  const lit = tools.filter(({ lastRequestAt }) => lastRequestAt !== undefined);
  expect(lit.map(({ name }) => name)).toEqual(['assay run']);
  const others = tools.flatMap(({ name, countsAs }) => (countsAs === undefined ? [] : [[name, countsAs]]));
  expect(others).toEqual([
    ['Bazel, persistent worker', 'assay run'],
    ['wireit', 'GitHub Actions cache'],
  ]);
});

test('the tail goes on after a position', async () => {
  const { get, lookUp } = await served();
  await lookUp(MAIN, `/ac/${key('a')}`);
  const first = await get<Tail>(MAIN, 'tail');
  expect(first.events).toHaveLength(1);
  await lookUp(MAIN, `/ac/${key('b')}`);
  const second = await get<Tail>(MAIN, `tail?after=${first.position}`);
  expect(second.events.map((event) => event.key)).toEqual([key('b')]);
  expect((await get<Tail>(MAIN, `tail?after=${second.position}`)).events).toEqual([]);
});

test('the position of the tail tells nothing of other tenants', async () => {
  const { get, lookUp } = await served();
  const empty = await get<Tail>(MAIN, 'tail');
  await lookUp(OTHER, `/ac/${key('theirs')}`);
  expect(await get<Tail>(MAIN, `tail?after=${empty.position}`)).toEqual(empty);
  await lookUp(MAIN, `/ac/${key('a')}`);
  const first = await get<Tail>(MAIN, `tail?after=${empty.position}`);
  expect(first.events.map((event) => event.key)).toEqual([key('a')]);
  for (let time = 0; time < 20; time++) await lookUp(OTHER, `/ac/${key('theirs')}`);
  expect(await get<Tail>(MAIN, `tail?after=${first.position}`)).toEqual({ ...first, events: [] });
  await lookUp(MAIN, `/ac/${key('b')}`);
  const second = await get<Tail>(MAIN, `tail?after=${first.position}`);
  expect(second.events.map((event) => event.key)).toEqual([key('b')]);
});

test('a token is not shown to one of the same name in another tenant', async () => {
  const tokens = ['acme', 'rival'].map((namespace) => identity('ci', { namespace, rights: 'read' }));
  const source = { ...sourceOf(...tokens.slice(0, 1)), listed: () => tokens };
  const server = await testServer({ identities: source });
  const answer = await ask(`${server.url}/api/v1/storage`, 'GET', {
    headers: { authorization: 'Bearer ci' },
  });
  const { tokens: shown }: Storage = JSON.parse(answer.body.toString());
  expect(shown.map(({ namespace }) => namespace)).toEqual(['acme']);
});

test('the requests of one invocation are one run, also after a restart; other invocations are others', async () => {
  const { server, lookUp } = await served();
  for (const [invocation, name] of [
    ['one', 'a'],
    ['two', 'b'],
    ['one', 'c'],
  ] as const)
    await lookUp(MAIN, `/ac/${key(name)}`, { [METADATA]: metadataOf('bazel', invocation) });
  await lookUp(OTHER, `/ac/${key('d')}`, { [METADATA]: metadataOf('bazel', 'one') });
  await lookUp(MAIN, '/nx/v1/cache/abc');
  await server.stop();
  const again = await testServer({ identities: sourceOf(MAIN, OTHER, ROOT), store: server.store });
  const answer = await ask(`${again.url}/api/v1/runs`, 'GET', { headers: { authorization: 'Bearer main' } });
  const { runs }: Runs = JSON.parse(answer.body.toString());
  expect(runs.map(({ tool, misses, outcome, source }) => [tool, misses, outcome, source]).sort()).toEqual([
    ['bazel', 1, 'unknown', 'grouped'],
    ['bazel', 2, 'unknown', 'grouped'],
    ['nx', 1, 'unknown', 'grouped'],
  ]);
  const id = runs.find(({ misses }) => misses === 2)?.id;
  const shown = await ask(`${again.url}/api/v1/runs/${id}`, 'GET', {
    headers: { authorization: 'Bearer main' },
  });
  const { lookups, toolVersion }: Run = JSON.parse(shown.body.toString());
  expect(lookups.map((event) => event.key)).toEqual([key('c'), key('a')]);
  expect(toolVersion).toBe('8.0.0');
});

test('the lookups of two sessions of Turborepo with one token are two runs, and their hits saved time', async () => {
  const { server, lookUp, as } = await served();
  const artifact = (digit: string) => `/v8/artifacts/${digit.repeat(16)}?slug=team`;
  const turbo = { 'user-agent': 'turbo 2.11.0' };
  const told = async (sessionId: string, event: 'HIT' | 'MISS', digit: string, duration = 0) => {
    const events = [
      { sessionId, source: 'LOCAL', event: 'MISS', hash: digit.repeat(16), duration: 0 },
      { sessionId, source: 'REMOTE', event, hash: digit.repeat(16), duration },
      { sessionId: 7, source: 'REMOTE', event, hash: '../x', duration: 'long' },
    ];
    const answer = await ask(`${server.url}/v8/artifacts/events?slug=team`, 'POST', {
      body: Buffer.from(JSON.stringify(events)),
      headers: { ...as(MAIN), ...turbo },
    });
    expect(answer.status).toBe(200);
  };
  expect(
    (await ask(server.url + artifact('1'), 'PUT', { body: Buffer.from('x'), headers: as(MAIN) })).status,
  ).toBe(202);
  expect(await lookUp(MAIN, artifact('1'), turbo)).toBe(200);
  expect(await lookUp(MAIN, artifact('2'), turbo)).toBe(404);
  await told('one', 'HIT', '1', 4000);
  await told('two', 'MISS', '2');
  expect(await lookUp(MAIN, artifact('1'), turbo)).toBe(200);
  await told('two', 'HIT', '1', 300);
  await told('three', 'MISS', '9');
  await server.stop();
  const again = await testServer({ identities: sourceOf(MAIN, OTHER, ROOT), store: server.store });
  const get = async <T>(path: string): Promise<T> => {
    const answer = await ask(`${again.url}/api/v1/${path}`, 'GET', { headers: as(MAIN) });
    return JSON.parse(answer.body.toString());
  };
  const { runs } = await get<Runs>('runs');
  expect(runs.map(({ hits, misses, savedMs, tool }) => [tool, hits, misses, savedMs]).sort()).toEqual([
    ['turbo', 1, 0, 4000],
    ['turbo', 1, 1, 300],
  ]);
  for (const { id, hits, misses, elapsedMs } of runs) {
    expect(elapsedMs).toBeGreaterThanOrEqual(0);
    expect((await get<Run>(`runs/${id}`)).lookups).toHaveLength(hits + misses);
  }
  expect((await get<Now>('now')).today).toMatchObject({ hits: 2, misses: 1, savedMs: 4300 });
});

test('an invocation that asks two nodes is one run with the sum', async () => {
  const one = await testServer({ identities: sourceOf(MAIN) });
  const two = await testServer({ identities: sourceOf(MAIN), store: one.store });
  const headers = { authorization: 'Bearer main', [METADATA]: metadataOf('bazel', 'an-invocation') };
  for (const [{ url }, name] of [
    [one, 'a'],
    [two, 'b'],
    [one, 'c'],
  ] as const)
    await ask(`${url}/ac/${key(name)}`, 'GET', { headers });
  await one.stop();
  await two.stop();
  const again = await testServer({ identities: sourceOf(MAIN), store: one.store });
  const get = async <T>(path: string): Promise<T> =>
    JSON.parse((await ask(`${again.url}/api/v1/${path}`, 'GET', { headers })).body.toString());
  const { runs } = await get<Runs>('runs');
  expect(runs.map(({ tool, misses, outcome }) => [tool, misses, outcome])).toEqual([['bazel', 3, 'unknown']]);
  expect(JSON.stringify(runs)).not.toContain('parts');
  const { lookups } = await get<Run>(`runs/${runs[0]?.id}`);
  expect(lookups.map((event) => event.key).sort()).toEqual(['a', 'b', 'c'].map(key).sort());
});

test('a denied write is shown to those who may read the namespace, after a flush', async () => {
  const reader = identity('reader', { namespace: 'acme/app/main', rights: 'read' });
  const server = await testServer({ identities: sourceOf(MAIN, OTHER, reader) });
  const refused = await ask(`${server.url}/ac/${key('a')}`, 'PUT', {
    body: resultWith({}),
    headers: { authorization: 'Bearer reader' },
  });
  expect(refused.status).toBe(403);
  await server.stop();
  const again = await testServer({ identities: sourceOf(MAIN, OTHER, reader), store: server.store });
  const denied = async (name: string) => {
    const answer = await ask(`${again.url}/api/v1/storage`, 'GET', {
      headers: { authorization: `Bearer ${name}` },
    });
    const storage: Storage = JSON.parse(answer.body.toString());
    return storage.deniedWrites.map(({ identity: who, tool }) => [who, tool]);
  };
  expect(await denied('main')).toEqual([['reader', 'http']]);
  expect(await denied('other')).toEqual([]);
});

test('storage is counted by team and tool, and a token sees its own part', async () => {
  const { get, put } = await served();
  await put(MAIN, CCACHE_KEY, Buffer.from('object'));
  await put(OTHER, `/gradle/cache/${'a'.repeat(32)}`, Buffer.from('a longer object'));
  const whole = await get<Storage>(ROOT, 'storage');
  expect(whole.teams.map(({ name, results }) => [name, results])).toEqual([
    ['rival', 1],
    ['acme', 1],
  ]);
  expect(whole.tools.map(({ name }) => name)).toEqual(['gradle', 'ccache']);
  const own = await get<Storage>(MAIN, 'storage');
  expect(own.namespaces).toMatchObject([{ namespace: 'acme/app/main', results: 1, writers: ['main'] }]);
  expect(own.store).toBeUndefined();
  expect(JSON.stringify(own)).not.toContain('rival');
});
