// A run of steps reports itself to an Assay server that announces it: what the report has, what it never has,
// and that nothing about it can change a run.
import { rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { changed } from '../../../../test/client/run/misses.ts';
import { Workshop } from '../../../../test/rig/assay.ts';
import { runSteps } from '../../../../test/rig/graph.ts';
import { identity, sourceOf } from '../../../../test/server/access/identities.ts';
import { ask, type TestServer } from '../../../../test/server/rig.ts';
import type { Misses } from '../../api/schemas/misses.ts';
import type { Run, Runs } from '../../api/schemas/runs.ts';
import { testServer } from '../rig.ts';

const TEAM = identity('team', { namespace: 'acme' });
const READER = identity('reader', { namespace: 'acme', rights: 'read' });
const PULL = identity('pull', {
  namespace: 'acme/pr',
  reads: ['acme'],
  rights: 'results:read,blobs:read,runs:write',
});

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
  shop.write('.git/HEAD', 'ref: refs/heads/feature/<b>\n');
  shop.write('.git/refs/heads/feature/<b>', `${'a'.repeat(40)}\n`);
  shop.write('.git/config', '[remote "origin"]\n\turl = https://user:pass@git.example/acme/app.git\n');
  const steps = {
    compile: {
      command: 'cp in.txt out.txt',
      inputs: ['in.txt'],
      outputs: ['out.txt'],
      env: ['API_KEY', 'LEVEL', 'MODE=declared-value'],
    },
    test: {
      command: 'wc -c out.txt > count',
      inputs: ['out.txt'],
      outputs: ['count'],
      dependsOn: ['compile'],
    },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
});

afterEach(() => shop.remove());

const served = () => testServer({ identities: sourceOf(TEAM, READER, PULL) });

async function get<T>({ url }: Pick<TestServer, 'url'>, path: string): Promise<T> {
  const answer = await ask(`${url}/api/v1/${path}`, 'GET', { headers: { authorization: 'Bearer team' } });
  expect(answer.status).toBe(200);
  return JSON.parse(answer.body.toString());
}

function environment(url: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    ASSAY_REMOTE: `${url}/web`,
    ASSAY_TOKEN: 'team',
    API_KEY: 'topsecret1',
    LEVEL: 'one-value',
    ...more,
  };
}

const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);

test('a run prints the address of its page, which has its steps, times and names, but no value', async () => {
  const server = await served();
  const first = await runSteps(shop, ['test'], { env: environment(server.url) });
  expect(first.outcomes).toEqual({ compile: 'miss', test: 'miss' });
  const id = /^assay: (\S+)\/runs\/([0-9a-f]{32})$/.exec(lastLine(first.stderr) ?? '');
  expect(id?.[1]).toBe(server.url);
  const run = await get<Run>(server, `runs/${id?.[2]}`);
  expect(run).toMatchObject({
    namespace: 'acme/web',
    identity: 'team',
    repository: 'git.example/acme/app',
    branch: 'feature/<b>',
    commit: 'a'.repeat(40),
    outcome: 'passed',
    steps: 2,
    misses: 2,
    criticalPath: ['compile', 'test'],
  });
  expect(run.stepList).toMatchObject([
    {
      step: 'compile',
      outcome: 'miss',
      cause: { kind: 'first-run' },
      variables: ['API_KEY', 'LEVEL', 'MODE'],
      isStored: true,
    },
    { step: 'test', outcome: 'miss', needs: ['compile'], isStored: true },
  ]);
  expect(run.bytesUp).toBeGreaterThan(0);

  /* On another machine: the same, then with another value. */
  const env = environment(server.url, { ASSAY_STORE: `${shop.folder}/other`, ASSAY_TOKEN: 'pull' });
  const second = await runSteps(shop, ['test', '--force'], { env: { ...env, LEVEL: 'other-value' } });
  expect(second.code).toBe(0);
  const third = await runSteps(shop, ['test'], { env: { ...env, ASSAY_STORE: `${shop.folder}/third` } });
  expect(third.outcomes).toEqual({ compile: 'hit-remote', test: 'hit-remote' });
  const { runs } = await get<Runs>(server, 'runs');
  expect(runs.map(({ identity: who }) => who)).toEqual(['team']);
  const documents = await server.store.history?.page({ kind: 'run-details', limit: 100 });
  expect(documents?.documents).toHaveLength(3);
  const everything = [];
  for (const kind of ['run', 'run-details', 'misses', 'step'])
    for (const { id: name, namespace } of (await server.store.history?.page({ kind, limit: 100 }))
      ?.documents ?? [])
      everything.push({ name, namespace });
  expect(everything.length).toBeGreaterThan(6);
  const pulled = await ask(`${server.url}/api/v1/runs`, 'GET', { headers: { authorization: 'Bearer pull' } });
  const all: Runs = JSON.parse(pulled.body.toString());
  const texts = await Promise.all(
    all.runs.map(async (one) => {
      const answer = await ask(`${server.url}/api/v1/runs/${one.id}`, 'GET', {
        headers: { authorization: 'Bearer pull' },
      });
      return answer.body.toString();
    }),
  );
  expect(texts).toHaveLength(3);
  for (const secret of ['topsecret1', 'one-value', 'other-value', 'declared-value', 'user:pass', 'cp in.txt'])
    expect(texts.join()).not.toContain(secret);
  const { causes } = await get<Misses>(server, 'misses');
  expect(causes[0]?.count).toBe(2);
});

test('the reason of a miss names a variable and not its values', async () => {
  const server = await served();
  await runSteps(shop, ['compile'], { env: environment(server.url) });
  const again = await runSteps(shop, ['compile'], { env: environment(server.url, { LEVEL: 'other-value' }) });
  expect(again.ends.compile?.reason).toBe(changed('variable', 'LEVEL'));
  expect(again.ends.compile?.cause).toEqual({ kind: 'variable', name: 'LEVEL' });
  const { runs } = await get<Runs>(server, 'runs');
  const [step] = (await get<Run>(server, `runs/${runs[0]?.id}`)).stepList;
  expect(step).toMatchObject({
    why: changed('variable', 'LEVEL'),
    cause: { kind: 'variable', name: 'LEVEL' },
  });
});

test.each(['src/my island.txt', 'src/it was changed.txt', 'src/has no end'])(
  'a miss because of the undeclared %s is blamed on it, also by a machine without history',
  async (path) => {
    const server = await served();
    shop.write(path, 'one');
    const steps = { read: { command: `cat '${path}' > out.txt`, inputs: ['in.txt'], outputs: ['out.txt'] } };
    shop.write('assay.json', JSON.stringify({ steps }));
    await runSteps(shop, ['read'], { env: environment(server.url) });
    shop.write(path, 'two');
    const here = await runSteps(shop, ['read', '--no-report'], { env: environment(server.url) });
    expect(here.ends.read?.cause).toEqual({ kind: 'fact', name: path });
    shop.write(path, 'three');
    const elsewhere = { ...environment(server.url), ASSAY_STORE: `${shop.folder}/other` };
    const there = await runSteps(shop, ['read'], { env: elsewhere });
    expect(there.ends.read?.cause).toEqual({ kind: 'fact', name: path });
    const { causes } = await get<Misses>(server, 'misses');
    const { cause, text } = causes.find((one) => one.cause.kind === 'fact') ?? {};
    expect([cause, text]).toEqual([{ kind: 'fact', name: path }, `${path} differs on this machine`]);
  },
);

describe('a run of one command', () => {
  const command = [
    '--input',
    'in.txt',
    '--output',
    'out.txt',
    '--env',
    'API_KEY',
    '--env',
    'MODE=declared-value',
  ];
  const copy = [...command, '--', 'cp', 'in.txt', 'out.txt'];

  test('is a run of one step, named by its program and outputs', async () => {
    const server = await served();
    const first = await shop.assay(['run', ...copy], { env: environment(server.url) });
    expect(first.code).toBe(0);
    const id = /^assay: (\S+)\/runs\/([0-9a-f]{32})$/.exec(lastLine(first.stderr) ?? '')?.[2];
    const run = await get<Run>(server, `runs/${id}`);
    expect(run).toMatchObject({
      namespace: 'acme/web',
      repository: 'git.example/acme/app',
      branch: 'feature/<b>',
      outcome: 'passed',
      steps: 1,
      misses: 1,
      stepList: [
        {
          step: 'cp → out.txt',
          outcome: 'miss',
          variables: ['API_KEY', 'MODE'],
          isStored: true,
          isCritical: true,
        },
      ],
    });
    expect(run.bytesUp).toBeGreaterThan(0);
    for (const secret of ['topsecret1', 'declared-value', 'cp in.txt'])
      expect(JSON.stringify(run)).not.toContain(secret);

    rmSync(join(shop.workspace, 'out.txt'));
    const env = environment(server.url, { ASSAY_STORE: `${shop.folder}/other` });
    const again = await shop.run(copy, { env });
    expect(again.summary).toMatchObject({ outcome: 'hit-remote', page: expect.stringContaining('/runs/') });
    const { runs } = await get<Runs>(server, 'runs');
    expect(runs.map(({ hits, misses }) => [hits, misses])).toEqual([
      [1, 0],
      [0, 1],
    ]);
    const forced = await shop.run(['--force', ...copy], { env });
    const page = new URL(String(forced.summary.page));
    expect((await get<Run>(server, page.pathname.slice(1))).stepList).toMatchObject([
      { outcome: 'miss', cause: { kind: 'forced' } },
    ]);
  });

  test('that fails is reported as failed, and with --no-report as nothing', async () => {
    const server = await served();
    const failing = ['--input', 'in.txt', '--', 'false'];
    const silent = await shop.assay(['run', '--no-report', ...failing], { env: environment(server.url) });
    expect([silent.code, silent.stderr.includes('/runs/')]).toEqual([1, false]);
    const failed = await shop.assay(['run', ...failing], { env: environment(server.url) });
    expect(failed.code).toBe(1);
    const { runs } = await get<Runs>(server, 'runs');
    expect(runs).toMatchObject([{ outcome: 'failed', failed: 1, steps: 1 }]);
  });
});

test('a run over gRPC reports to the same server', async () => {
  const server = await served();
  const env = environment(server.url.replace('http:', 'grpc:'));
  const ran = await runSteps(shop, ['test'], { env });
  expect(ran.outcomes).toEqual({ compile: 'miss', test: 'miss' });
  const id = /^assay: (\S+)\/runs\/([0-9a-f]{32})$/.exec(lastLine(ran.stderr) ?? '');
  expect(id?.[1]).toBe(server.url);
  expect(await get<Run>(server, `runs/${id?.[2]}`)).toMatchObject({ namespace: 'acme/web', misses: 2 });
});

test('a failed run is reported as failed, and its step has no status', async () => {
  const server = await served();
  const steps = { broken: { command: 'false', inputs: ['in.txt'], outputs: [] } };
  shop.write('assay.json', JSON.stringify({ steps }));
  expect((await runSteps(shop, ['broken'], { env: environment(server.url) })).code).toBe(1);
  const { runs } = await get<Runs>(server, 'runs');
  expect(runs).toMatchObject([{ outcome: 'failed', failed: 1, misses: 0, ran: ['broken'] }]);
  const [step] = (await get<Run>(server, `runs/${runs[0]?.id}`)).stepList;
  expect(step).toMatchObject({ step: 'broken', outcome: 'failed' });
  expect(step?.status).toBeUndefined();
});

describe('nothing is reported', () => {
  test.each<[string, readonly string[], Record<string, string>]>([
    ['with --no-report', ['--no-report'], {}],
    ['with ASSAY_REPORT=0', [], { ASSAY_REPORT: '0' }],
    ['with a token that may not', [], { ASSAY_TOKEN: 'reader' }],
  ])('%s', async (_name, flags, env) => {
    const server = await served();
    const ran = await runSteps(shop, [...flags, 'test'], { env: environment(server.url, env) });
    expect(ran.code).toBe(0);
    expect(ran.stderr).not.toContain('/runs/');
    expect((await get<Runs>(server, 'runs')).runs).toEqual([]);
  });

  test('by a run in which everything is up to date: it asks no server', async () => {
    const server = await served();
    const env = environment(server.url);
    await runSteps(shop, ['test'], { env });
    await runSteps(shop, ['test'], { env });
    const last = await runSteps(shop, ['test'], { env });
    expect(last.outcomes).toEqual({ compile: 'hit-local', test: 'hit-local' });
    expect(last.stderr).not.toContain('/runs/');
  });
});

describe('a run ends as it would without reports', () => {
  /** Passes everything to a server but reports, which `answer` gets. */
  async function before(server: TestServer, answer: 'nothing' | 'reset' | 500): Promise<string> {
    const proxy = createServer((request, response) => {
      if (request.method === 'POST' && request.url?.startsWith('/api/v1/runs')) {
        if (answer === 'reset') request.socket.destroy();
        else if (answer === 500) response.writeHead(500).end('no');
        return;
      }
      const { method, url = '', headers } = request;
      const passed = httpRequest(`${server.url}${url}`, { method, headers }, (received) => {
        response.writeHead(received.statusCode ?? 500, received.headers);
        received.pipe(response);
      });
      request.pipe(passed);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    closers.push(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const { port } = proxy.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  test.each(['nothing', 'reset', 500] as const)('if the server answers a report with %s', async (answer) => {
    const server = await served();
    const url = await before(server, answer);
    const ran = await runSteps(shop, ['test'], { env: environment(url) });
    expect(ran.code).toBe(0);
    expect(ran.outcomes).toEqual({ compile: 'miss', test: 'miss' });
    expect(ran.summary.warnings).toEqual([]);
    expect(ran.stderr).not.toContain('/runs/');
  });
});
