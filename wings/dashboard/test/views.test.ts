// What a token sees of the server, on a store that several tenants use: `stats` its own namespace, `overview` and `admin`
// also what lies below it, `server:stats` all of it.
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { identity, sourceOf } from '../../../test/server/access/identities.ts';
import { ask } from '../../../test/server/rig.ts';
import { resultWith } from '../../../test/store/content.ts';
import { ROUTES } from '../api/api.ts';
import type { Misses } from '../api/schemas/misses.ts';
import type { Figures, Now, Tail } from '../api/schemas/now.ts';
import type { Runs } from '../api/schemas/runs.ts';
import type { Setup } from '../api/schemas/setup.ts';
import type { Storage } from '../api/schemas/storage.ts';
import { reportOf, step } from './reports.ts';
import { FOR_ADMINS, testServer } from './rig.ts';

const MAIN = identity('main', { namespace: 'acme/app/main' });
const PULL = identity('pull', { namespace: 'acme/app/pr/1', reads: ['acme/app/main'] });
const TEAM = identity('team', { namespace: 'acme' });
const RIVAL = identity('rival-ci', { namespace: 'rival/ci' });
const STATS = identity('stats', { namespace: 'acme', rights: 'results:read,stats' });
const ADMIN = identity('admin', { namespace: 'acme', rights: 'results:read,admin' });
const OVERVIEW = identity('overview', { namespace: 'acme', rights: 'overview' });
const OPERATOR = identity('operator', { namespace: '', rights: 'overview' });
const MONITOR = identity('monitor', { namespace: 'monitoring', rights: 'results:read,server:stats' });
const NOBODY = identity('nobody', { namespace: 'acme', rights: 'results:read' });
const EVERYBODY = [MAIN, PULL, TEAM, RIVAL, STATS, ADMIN, OVERVIEW, OPERATOR, MONITOR, NOBODY];

const key = (name: string) => digestOf(Buffer.from(name)).hash;
const as = ({ name }: Identity) => ({ authorization: `Bearer ${name}` });

/** Each tenant has looked up, stored, been denied, and reported a run. */
async function used() {
  const space = { used: () => 123_456_789, limit: 200_000_000 };
  const identities = { ...sourceOf(...EVERYBODY), listed: () => EVERYBODY };
  const server = await testServer({ identities, space, storeFolder: '/a/folder', wings: [FOR_ADMINS] });
  const send = (who: Identity, method: 'GET' | 'PUT' | 'POST', path: string, body?: Buffer) =>
    ask(server.url + path, method, { headers: as(who), ...(body && { body }) });
  for (const who of [MAIN, PULL, TEAM, RIVAL]) {
    const path = `/ac/${key(who.name)}`;
    expect(await send(who, 'GET', path)).toMatchObject({ status: 404 });
    expect(await send(who, 'PUT', path, resultWith({}))).toMatchObject({ status: 200 });
    const report = reportOf([step('build')], { repository: who.name });
    const body = Buffer.from(JSON.stringify(report));
    expect(await send(who, 'POST', '/api/v1/runs', body)).toMatchObject({ status: 201 });
    expect(await send(who, 'GET', '/for-admins')).toMatchObject({ status: 403 });
  }
  const get = async <T>(who: Identity, path: string): Promise<T> => {
    const { status, body } = await send(who, 'GET', `/api/v1/${path}`);
    expect({ path, status, body: body.toString() }).toMatchObject({ status: 200 });
    return JSON.parse(body.toString());
  };
  return { server, send, get };
}

test.each([
  [STATS, { lookups: ['acme'], misses: 1, tokens: ['stats'] }],
  [PULL, { lookups: ['acme/app/pr/1'], misses: 1, tokens: ['pull'] }],
  [
    ADMIN,
    {
      lookups: ['acme/app/main', 'acme/app/pr/1', 'acme'],
      misses: 3,
      tokens: ['main', 'pull', 'team', 'stats', 'admin', 'overview', 'nobody'],
    },
  ],
  [OVERVIEW, { lookups: ['acme/app/main', 'acme/app/pr/1', 'acme'], misses: 3, tokens: ['overview'] }],
  [
    MONITOR,
    {
      lookups: ['acme/app/main', 'acme/app/pr/1', 'acme', 'rival/ci'],
      misses: 4,
      tokens: EVERYBODY.map(({ name }) => name),
    },
  ],
] as const)('$name sees its part of the figures', async (who, { lookups, misses, tokens }) => {
  const { get, send } = await used();
  const isWhole = who === MONITOR;
  const { status, body } = await send(who, 'GET', '/metrics');
  expect(status).toBe(200);
  const text = body.toString();
  const labels = [...text.matchAll(/^assay_results_total\{.*namespace="([^"]*)",outcome="miss"\} 1$/gm)];
  expect(labels.map(([, namespace]) => namespace)).toEqual(lookups);
  const others = text.match(/^(?!#|assay_results_total\{).+/m);
  expect(others === null).toBe(!isWhole);
  const now = await get<Now>(who, 'now');
  const storage = await get<Storage>(who, 'storage');
  const tail = await get<Tail>(who, 'tail');
  const figures = await get<Figures>(who, 'figures');
  const setup = await get<Setup>(who, 'setup');
  const sum = figures.points.reduce((all, point) => all + point.misses, 0);
  const lookupsToday = setup.tools.reduce((all, tool) => all + tool.lookupsToday, 0);
  expect([now.today.misses, sum, lookupsToday]).toEqual([misses, misses, misses]);
  expect([now.today.bytesReceived !== undefined, figures.points.at(-1)?.bytesSent !== undefined]).toEqual([
    isWhole,
    isWhole,
  ]);
  expect(storage.store?.usedBytes).toBe(isWhole ? 123_456_789 : undefined);
  const sorted = (names: readonly string[]) => names.toSorted();
  const rows = lookups.map((name) => name.replace(/pr\/1$/, 'pr/…'));
  expect(sorted(storage.namespaces.map(({ namespace }) => namespace))).toEqual(sorted(rows));
  expect(sorted(storage.tokens.map(({ name }) => name))).toEqual(sorted(tokens));
  expect(new Set(tail.events.map(({ namespace }) => namespace))).toEqual(new Set(lookups));
  expect(new Set(now.tail.events.map(({ namespace }) => namespace))).toEqual(new Set(lookups));
  const folder = (await send(who, 'GET', '/status')).body.toString().includes('/a/folder');
  expect(folder).toBe(isWhole);
});

test('no page and no answer shows a tenant the other one', async () => {
  const { server } = await used();
  const pages = ['/', '/runs', '/misses', '/hermeticity', '/storage', '/setup'];
  const paths = [
    ...pages,
    '/metrics',
    '/status',
    ...ROUTES.map(({ url }) => url).filter((url) => !url.includes(':')),
  ];
  for (const who of [MAIN, PULL, STATS, ADMIN, OVERVIEW])
    for (const path of paths) {
      const headers = { ...as(who), ...(pages.includes(path) && { accept: 'text/html' }) };
      const { status, body } = await ask(server.url + path, 'GET', { headers });
      const showsRival = body.includes('rival');
      expect({ who: who.name, path, status, showsRival }).toMatchObject({ status: 200, showsRival: false });
    }
});

test('an admin sees the runs below its namespace, and a token without `stats` no figures', async () => {
  const { get, send } = await used();
  const repositories = async (who: Identity) =>
    (await get<Runs>(who, 'runs')).runs.flatMap(({ repository }) => repository ?? []).sort();
  expect(await repositories(STATS)).toEqual(['team']);
  expect(await repositories(ADMIN)).toEqual(['main', 'pull', 'team']);
  expect(await repositories(PULL)).toEqual(['main', 'pull', 'team']);
  for (const path of ['/metrics', '/api/v1/now', '/api/v1/storage'])
    expect(await send(NOBODY, 'GET', path)).toMatchObject({ status: 403 });
});

test('`overview` shows the runs, figures and misses of a team, but nothing that they name', async () => {
  const { get, send } = await used();
  const runs = await get<Runs>(OVERVIEW, 'runs');
  expect(runs.runs.flatMap(({ repository }) => repository ?? []).sort()).toEqual(['main', 'pull', 'team']);
  expect(runs.choices.namespaces).toEqual(['acme', 'acme/app/main', 'acme/app/pr/…']);
  const ofPullRequests = await get<Runs>(OVERVIEW, `runs?namespace=${encodeURIComponent('acme/app/pr/…')}`);
  expect(ofPullRequests.runs.map(({ namespace }) => namespace)).toEqual(['acme/app/pr/1']);
  expect((await get<Misses>(OVERVIEW, 'misses')).runs).toBe(3);
  const [run] = runs.runs;
  expect(await get(OVERVIEW, `runs/${run?.id}`)).toMatchObject({
    stepList: [{ step: 'build', isStored: false }],
  });

  const main = key(MAIN.name);
  const empty = digestOf(Buffer.alloc(0)).hash;
  const denied = [`/api/v1/actions/${main}`, `/ac/${main}`, `/acme/app/main/ac/${main}`, `/cas/${empty}`];
  for (const path of denied)
    expect({ path, ...(await send(OVERVIEW, 'GET', path)) }).toMatchObject({ status: 403 });
  const written = await send(OVERVIEW, 'PUT', `/ac/${main}`, resultWith({}));
  expect(written).toMatchObject({ status: 403 });
});

test('`overview` shows no tenant to a token of the whole server', async () => {
  const { get } = await used();
  expect((await get<Runs>(OPERATOR, 'runs')).runs).toEqual([]);
  expect((await get<Tail>(OPERATOR, 'tail')).events).toEqual([]);
});

test('figures and misses of one namespace', async () => {
  const { get } = await used();
  const counted = async (who: Identity, namespace: string) => {
    const { points } = await get<Figures>(who, `figures?namespace=${namespace}`);
    const misses = await get<Misses>(who, `misses?days=7&namespace=${namespace}`);
    return [points.reduce((all, point) => all + point.misses, 0), misses.runs];
  };
  expect(await counted(ADMIN, 'acme/app/main')).toEqual([1, 1]);
  expect(await counted(ADMIN, 'rival/ci')).toEqual([0, 0]);
  expect(await counted(PULL, 'acme/app/main')).toEqual([0, 1]);
  expect(await counted(MONITOR, 'rival/ci')).toEqual([1, 0]);
  const { points } = await get<Figures>(MONITOR, 'figures?namespace=rival/ci');
  expect(points.at(-1)?.bytesSent).toBeUndefined();
});
