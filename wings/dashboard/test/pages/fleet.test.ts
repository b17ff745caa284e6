// The pages of two servers that share a store: what is reported to one is on the pages of the other, with the same
// figures.
import { expect, test } from 'vitest';
import { digestOf, toWire } from '../../../../core/digest.ts';
import { Action, Command } from '../../../../core/proto/generated/reapi.ts';
import { Metrics } from '../../../../server/request/metrics.ts';
import { addLayers } from '../../../../store/open.ts';
import type { Engine } from '../../../../store/store.ts';
import { memoryEngine } from '../../../../test/rig/stores/memory/engine.ts';
import { METADATA, metadataOf } from '../../../../test/server/request/metadata.ts';
import { ask, type TestServer } from '../../../../test/server/rig.ts';
import { resultWith } from '../../../../test/store/content.ts';
import type { Hermeticity } from '../../api/schemas/hermeticity.ts';
import type { Misses } from '../../api/schemas/misses.ts';
import type { Now } from '../../api/schemas/now.ts';
import type { Run, Runs } from '../../api/schemas/runs.ts';
import type { Storage } from '../../api/schemas/storage.ts';
import { miss, reportOf, step } from '../reports.ts';
import { testServer } from '../rig.ts';
import { browserForAll, type Visit } from './chromium.ts';

const MINUTES = 60_000;
const NOTHING = new Uint8Array(0);
const WAIT = { timeout: 40_000, interval: 100 };
const browser = browserForAll();
const key = (name: string) => digestOf(Buffer.from(name)).hash;

interface Node extends TestServer {
  readonly metrics: Metrics;
}

async function node(engine: Engine): Promise<Node> {
  const metrics = new Metrics();
  const server = await testServer({
    flushMs: 500,
    space: { used: () => 1000, limit: 10_000 },
    store: async (onEvent) => addLayers(engine, onEvent),
    metrics,
  });
  return { ...server, metrics };
}

async function get<T>({ url }: TestServer, path: string): Promise<T> {
  const answer = await ask(`${url}/api/v1/${path}`);
  expect([answer.status, answer.body.toString()]).toEqual([200, expect.any(String)]);
  return JSON.parse(answer.body.toString());
}

/** An action with its result. Returns its key. */
async function putAction(server: TestServer): Promise<string> {
  const put = async (bytes: Uint8Array) => {
    const body = Buffer.from(bytes);
    const digest = digestOf(body);
    expect((await ask(`${server.url}/cas/${digest.hash}`, 'PUT', { body })).status).toBe(200);
    return digest;
  };
  const command = Command.encode({ ...Command.decode(NOTHING), arguments: ['make', 'all'] }).finish();
  const commandDigest = toWire(await put(command));
  const inputRootDigest = toWire(await put(NOTHING));
  const { hash } = await put(
    Action.encode({ ...Action.decode(NOTHING), commandDigest, inputRootDigest }).finish(),
  );
  expect((await ask(`${server.url}/ac/${hash}`, 'PUT', { body: resultWith({}) })).status).toBe(200);
  return hash;
}

async function textOf(page: Visit['page'], url: string): Promise<string> {
  expect((await page.goto(url))?.status()).toBe(200);
  return page.locator('main').innerText();
}

/** The text of a page without what differs between nodes: the address, and how long ago something was. */
const ofBoth = (text: string) =>
  text
    .replaceAll(/just now|\d+ (second|minute)s? ago/g, 'AGO')
    .replaceAll(/127\.0\.0\.1:\d+/g, 'HOST')
    .replaceAll(' this one', '');

test('every page of one node shows what happened at the other, and the same figures', {
  timeout: 5 * MINUTES,
}, async () => {
  const engine = memoryEngine();
  const [one, two] = [await node(engine), await node(engine)];
  const action = await putAction(one);
  const lookUp = async ({ url }: TestServer, name: string) => {
    const headers = { [METADATA]: metadataOf('bazel', 'one-invocation') };
    await ask(`${url}/ac/${name === 'action' ? action : key(name)}`, 'GET', { headers });
  };
  const report = reportOf([
    step('lint', { commandMs: 61_010, status: 'declared' }),
    { ...miss('compile', { kind: 'variable', name: 'BUILD_ID' }, 125_000), status: 'unproven', key: action },
  ]);
  const body = Buffer.from(JSON.stringify(report));
  expect((await ask(`${one.url}/api/v1/runs`, 'POST', { body })).status).toBe(201);
  expect((await get<Run>(two, `runs/${report.id}`)).stepList).toHaveLength(2);
  expect(await get<Misses>(two, 'misses')).toMatchObject({ runs: 1, misses: 1, lostMs: 125_000 });
  const steps = async () => (await get<Hermeticity>(two, 'hermeticity')).counts;
  await expect.poll(steps, WAIT).toMatchObject({ declared: 1, unproven: 1 });

  for (const name of ['action', 'absent']) await lookUp(one, name);
  const bazelAt = async (server: TestServer) =>
    (await get<Runs>(server, 'runs?tool=bazel')).runs.map(({ hits, misses }) => [hits, misses]);
  await expect.poll(() => bazelAt(two), WAIT).toEqual([[1, 1]]);
  await lookUp(two, 'action');
  for (const server of [one, two]) {
    await expect.poll(() => bazelAt(server), WAIT).toEqual([[2, 1]]);
    const today = async () => (await get<Now>(server, 'now')).today;
    await expect.poll(today, WAIT).toMatchObject({ hits: 2, misses: 1, runs: 1 });
    await expect.poll(async () => (await get<Storage>(server, 'storage')).nodes.length, WAIT).toBe(2);
  }

  const { page, complaints } = await browser.visit();
  const paths = [
    '/runs',
    `/runs/${report.id}`,
    `/action/${action}`,
    '/misses',
    '/hermeticity',
    '/setup',
    '/storage',
  ];
  for (const path of paths)
    expect([path, ofBoth(await textOf(page, two.url + path))]).toEqual([
      path,
      ofBoth(await textOf(page, one.url + path)),
    ]);
  for (const { url } of [one, two]) {
    const now = await textOf(page, url);
    expect(now).toContain('2 hits of 3 lookups');
    expect(now).toMatch(/Time saved today\s+1 min 1 s\s+in 1 run/);
  }

  const cleaned = { results: 1, blobs: 1, bytes: 1, condemned: 0, deleted: 0, orphans: 0, refused: 0 };
  one.metrics.storeEvent({ type: 'cleaned', ...cleaned, unusedMs: 90 * MINUTES });
  expect(await textOf(page, `${one.url}/storage`)).toMatch(/Age of what goes out\s+1 h 30 min/);
  expect(complaints).toEqual([]);
});
