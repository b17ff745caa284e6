// The run's page shows what a failed step printed, to those who may read blobs in the run's namespace.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digestOf } from '../../../../core/digest.ts';
import { Workshop } from '../../../../test/rig/assay.ts';
import { identity, sourceOf } from '../../../../test/server/access/identities.ts';
import { ask, type TestServer } from '../../../../test/server/rig.ts';
import type { Run, Runs } from '../../api/schemas/runs.ts';
import { reportOf, step } from '../reports.ts';
import { testServer } from '../rig.ts';

const ALL = 'read-write,stats';
const MAIN = identity('main', { namespace: 'acme/app/main', rights: ALL });
const PULL = identity('pull', { namespace: 'acme/app/pr/1', reads: ['acme/app/main'], rights: ALL });
const TEAM = identity('team', { namespace: 'acme', rights: 'overview,read' });
const ADMIN = identity('admin', { namespace: 'acme', rights: 'results:read,blobs:read,admin' });
const VIEWER = identity('viewer', { namespace: 'acme/app/main', rights: 'overview' });
const RIVAL = identity('rival', { namespace: 'rival', rights: ALL });

let shop: Workshop;
let server: TestServer;
beforeEach(async () => {
  shop = new Workshop();
  server = await testServer({ identities: sourceOf(MAIN, PULL, TEAM, ADMIN, VIEWER, RIVAL) });
  shop.write('in.txt', 'in');
});
afterEach(async () => {
  await server.stop();
  shop.remove();
});

const environment = (more = {}) => ({ ASSAY_REMOTE: server.url, ASSAY_TOKEN: 'main', ...more });
const get = async (who: string, path: string) => {
  const headers = { authorization: `Bearer ${who}` };
  const { status, body } = await ask(server.url + path, 'GET', { headers });
  return { status, text: body.toString() };
};
const shown = async (who: string, id: string): Promise<Run> =>
  JSON.parse((await get(who, `/api/v1/runs/${id}`)).text);
const newest = async (): Promise<string> => {
  const runs: Runs = JSON.parse((await get('main', '/api/v1/runs')).text);
  return runs.runs[0]?.id ?? '';
};

test('the last 64 KiB of both streams arrive in their order, also of a stored failure', async () => {
  const long =
    'i=0; while [ $i -lt 9000 ]; do echo "line $i"; i=$((i+1)); done; sleep 0.1; echo wrong >&2; exit 3';
  const steps = {
    bad: { command: long, inputs: ['in.txt'] },
    kept: { command: 'echo kept; exit 4', inputs: ['in.txt'], cacheFailures: true },
    good: { command: 'echo fine', inputs: ['in.txt'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  for (const outcome of ['miss', 'stored']) {
    await shop.assay(['run', '--keep-going', 'bad', 'kept', 'good'], { env: environment() });
    const { failures } = await shown('main', await newest());
    const of = (name: string) => failures.find((one) => one.step === name);
    expect(failures).toHaveLength(2);
    expect({ outcome, log: of('kept')?.log?.text }).toEqual({ outcome, log: 'kept\n' });
    expect(of('bad')?.log?.text).toMatch(/line 8999\nwrong\n$/);
    expect(of('bad')?.log?.bytes).toBe(65_536);
  }
  const alone = await shop.assay(['run', '--', 'sh', '-c', 'echo alone; exit 5'], { env: environment() });
  expect(alone.code).toBe(5);
  expect((await shown('main', await newest())).failures[0]?.log?.text).toBe('alone\n');
});

test('nothing of a log leaves the machine without a report, or if the result would have stayed there', async () => {
  const secret = 'echo not-for-the-server; exit 3';
  const { hash } = digestOf(Buffer.from('not-for-the-server\n'));
  for (const [args, more] of [
    [['--no-report'], {}],
    [[], { ASSAY_REPORT: '0' }],
    [['--hermetic=off'], {}],
    [['--keep-unproven=local'], {}],
  ] as const) {
    await shop.assay(['run', ...args, '--', 'sh', '-c', secret], { env: environment(more) });
    expect({ args, ...(await get('main', `/cas/${hash}`)) }).toMatchObject({ args, status: 404 });
  }
  await shop.assay(['run', '--', 'sh', '-c', secret], { env: environment() });
  expect(await get('main', `/cas/${hash}`)).toMatchObject({ status: 200 });
});

test('a log is shown where a token reads results and blobs, and its digest is shown to nobody', async () => {
  await shop.assay(['run', '--', 'sh', '-c', 'printf "for%s\\n" -readers; exit 3'], { env: environment() });
  const id = await newest();
  const { hash } = digestOf(Buffer.from('for-readers\n'));
  for (const who of ['main', 'pull', 'admin'])
    expect({ who, failures: (await shown(who, id)).failures }).toMatchObject({
      who,
      failures: [{ exitCode: 3, log: { text: 'for-readers\n' } }],
    });
  for (const who of ['team', 'viewer']) {
    const { text } = await get(who, `/api/v1/runs/${id}`);
    expect({ who, failures: JSON.parse(text).failures }).toMatchObject({
      who,
      failures: [{ isHidden: true }],
    });
    expect(text).not.toContain('for-readers');
  }
  for (const who of ['main', 'pull', 'admin', 'team', 'viewer'])
    expect((await get(who, `/api/v1/runs/${id}`)).text).not.toContain(hash);
  expect((await get('rival', `/api/v1/runs/${id}`)).status).toBe(404);
});

test('a report can name any blob as its log: of another tenant nothing is shown, of a large one the end', async () => {
  const put = async (who: string, bytes: Buffer) => {
    const { hash } = digestOf(bytes);
    const headers = { authorization: `Bearer ${who}` };
    expect((await ask(`${server.url}/cas/${hash}`, 'PUT', { headers, body: bytes })).status).toBe(200);
    return hash;
  };
  const named = [
    await put('rival', Buffer.from('a secret of rival')),
    await put('main', Buffer.alloc(3e6, 'x')),
  ];
  const steps = named.map((hash, at) =>
    step(`s${at}`, { outcome: 'failed', exitCode: 1, log: { hash, size: 1 } }),
  );
  const body = Buffer.from(JSON.stringify(reportOf(steps)));
  const headers = { authorization: 'Bearer main', 'content-type': 'application/json' };
  expect((await ask(`${server.url}/api/v1/runs`, 'POST', { headers, body })).status).toBe(201);
  const [ofRival, ofMain] = (await shown('main', await newest())).failures;
  expect(ofRival?.log).toEqual({ bytes: 1, isCut: false });
  expect([ofMain?.log?.text?.length, ofMain?.log?.isCut]).toEqual([65_536, true]);
});
