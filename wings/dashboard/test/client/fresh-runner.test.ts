// A runner with an empty store and a clone of its own names the reason of each miss as a warm machine does.
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { StepEnd } from '../../../../client/view/events.ts';
import { stepId } from '../../../../core/metadata/step-id.ts';
import { missText } from '../../../../store/actions/miss-text.ts';
import { changed, FIRST_RUN, lacking } from '../../../../test/client/run/misses.ts';
import { type RunOptions, Workshop } from '../../../../test/rig/assay.ts';
import { runSteps } from '../../../../test/rig/graph.ts';
import { identity, sourceOf } from '../../../../test/server/access/identities.ts';
import { ask, type TestServer } from '../../../../test/server/rig.ts';
import type { Misses } from '../../api/schemas/misses.ts';
import type { Run, Runs } from '../../api/schemas/runs.ts';
import { testServer } from '../rig.ts';

const TEAM = identity('team', { namespace: 'acme' });
const READER = identity('reader', { namespace: 'acme', rights: 'read' });
const PULL = identity('pull', { namespace: 'acme/pr', reads: ['acme'], rights: 'read-write' });
const OTHER = identity('other', { namespace: 'rival' });
const FACTLESS = identity('factless', { namespace: 'acme', rights: 'results:write,blobs:write,runs:write' });

let shop: Workshop;
let server: TestServer;
let clones = 0;

beforeEach(async () => {
  shop = new Workshop();
  shop.write('.git/HEAD', 'ref: refs/heads/main\n');
  shop.write('.git/config', '[remote "origin"]\n\turl = https://git.example/acme/app.git\n');
  shop.write('src/a.txt', 'a');
  shop.write('src/deep/er/b.txt', 'b');
  steps();
  server = await testServer({ identities: sourceOf(TEAM, READER, PULL, OTHER, FACTLESS) });
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

const COPY = {
  command: 'cat src/a.txt src/deep/er/b.txt > out.txt',
  inputs: ['src/**'],
  outputs: ['out.txt'],
  env: ['LEVEL'],
};

function steps(change: Record<string, unknown> = {}): void {
  shop.write('assay.json', JSON.stringify({ steps: { copy: { ...COPY, ...change } } }));
}

const environment = (token: string, more: Record<string, string> = {}) => ({
  ASSAY_REMOTE: server.url,
  ASSAY_TOKEN: token,
  LEVEL: 'value-one',
  ...more,
});

/** The warm machine, which publishes. */
const warm = async (more: Record<string, string> = {}): Promise<StepEnd | undefined> =>
  (await runSteps(shop, ['copy'], { env: environment('team', more) })).ends.copy;

/** A second clone with an empty store, as it is now. */
function clone(name = `clone-${++clones}`): RunOptions & { readonly cwd: string } {
  const cwd = join(shop.folder, name, 'app');
  mkdirSync(join(shop.folder, name));
  cpSync(shop.workspace, cwd, { recursive: true });
  rmSync(join(cwd, 'out.txt'), { force: true });
  return { cwd, env: { ASSAY_STORE: join(shop.folder, name, 'store') } };
}

/** A machine that knows nothing. */
async function fresh(
  token = 'reader',
  more: Record<string, string> = {},
  { cwd, env }: RunOptions = clone(),
): Promise<StepEnd | undefined> {
  return (
    await runSteps(shop, ['copy'], { ...(cwd && { cwd }), env: { ...environment(token, more), ...env } })
  ).ends.copy;
}

async function get<T>(path: string): Promise<T> {
  const answer = await ask(`${server.url}/api/v1/${path}`, 'GET', {
    headers: { authorization: 'Bearer team' },
  });
  return JSON.parse(answer.body.toString());
}

test.each<[string, () => Record<string, string> | undefined, string, StepEnd['cause']]>([
  [
    'an input',
    () => void shop.write('src/deep/er/b.txt', 'B'),
    changed('input', 'src/deep/er/b.txt'),
    { kind: 'input', name: 'src/deep/er/b.txt' },
  ],
  [
    'a new input',
    () => void shop.write('src/new.txt', 'n'),
    'src/new.txt was added',
    { kind: 'input', name: 'src/new.txt' },
  ],
  [
    'a removed folder',
    () => {
      rmSync(join(shop.workspace, 'src/deep'), { recursive: true });
    },
    'src/deep was removed',
    { kind: 'input', name: 'src/deep' },
  ],
  [
    'a variable',
    () => ({ LEVEL: 'value-two' }),
    changed('variable', 'LEVEL'),
    { kind: 'variable', name: 'LEVEL' },
  ],
  [
    'the command',
    () => void steps({ command: `: ; ${COPY.command}` }),
    changed('command'),
    { kind: 'command' },
  ],
  ['a tool', () => void steps({ tools: ['wc'] }), 'the tool wc was added', { kind: 'tool', name: 'wc' }],
  [
    'two things',
    () => {
      shop.write('src/a.txt', 'A');
      return { LEVEL: 'value-two' };
    },
    changed('variable', 'LEVEL', 1),
    { kind: 'variable', name: 'LEVEL' },
  ],
])('%s has the reason that it has on a warm machine', async (_, change, reason, cause) => {
  expect(await warm()).toMatchObject({ reason: FIRST_RUN, cause: { kind: 'first-run' } });
  const more = change() ?? {};
  const there = await fresh('reader', more);
  expect(there).toMatchObject({ reason, cause });
  expect(await warm(more)).toMatchObject({ reason, cause });
});

test('a step that never ran has no earlier run', async () => {
  expect(await fresh()).toMatchObject({ reason: FIRST_RUN, cause: { kind: 'first-run' } });
});

test('a command that failed, and one that changed since', async () => {
  steps({ command: 'grep -q z src/a.txt', outputs: [] });
  expect(await warm()).toMatchObject({ outcome: 'failed' });
  const again = {
    reason: missText({ kind: 'failed-before', exitCode: 1 }),
    cause: { kind: 'failed-before' },
  };
  expect(await fresh()).toMatchObject(again);
  shop.write('src/a.txt', 'another');
  const other = { reason: changed('input', 'src/a.txt'), cause: { kind: 'input', name: 'src/a.txt' } };
  expect(await fresh()).toMatchObject(other);
  expect(await warm()).toMatchObject(other);
  /* The action before the last. */
  shop.write('src/a.txt', 'a');
  expect(await fresh()).toMatchObject(again);
  expect(await warm()).toMatchObject(again);
});

test('the same line in the log, in --json of one command, in the summary, in the dry run and in explain', async () => {
  const command = ['--input', 'src/**', '--output', 'one.txt', '--', 'cp', 'src/a.txt', 'one.txt'];
  await warm();
  await shop.run(command, { env: environment('team') });
  shop.write('src/a.txt', 'A');
  const place = clone();
  const at = { cwd: place.cwd, env: { ...environment('reader'), ...place.env } };
  expect(JSON.parse((await shop.assay(['run', '--dry-run', '--json', 'copy'], at)).stdout)).toMatchObject({
    why: changed('input', 'src/a.txt'),
  });
  const ran = await shop.assay(['run', '--summary', 'summary.md', 'copy'], at);
  expect(ran.stdout + ran.stderr).toContain(changed('input', 'src/a.txt'));
  expect((await shop.assay(['explain', 'copy'], at)).stdout).toContain(
    `outcome  miss: ${changed('input', 'src/a.txt')}`,
  );
  const one = await shop.run(command, at);
  expect(one.summary).toMatchObject({
    reason: changed('input', 'src/a.txt'),
    cause: { kind: 'input', name: 'src/a.txt' },
  });
});

describe('who is told', () => {
  test('a pull request compares with main until it ran itself, and main never with it', async () => {
    await warm();
    shop.write('src/a.txt', 'pull');
    expect(await fresh('pull')).toMatchObject({ reason: changed('input', 'src/a.txt') });
    shop.write('src/deep/er/b.txt', 'pull');
    expect(await fresh('pull')).toMatchObject({ reason: changed('input', 'src/deep/er/b.txt') });
    shop.write('src/a.txt', 'main');
    expect(await fresh('reader')).toMatchObject({ reason: changed('input', 'src/a.txt', 1) });
  });

  test('another tenant learns nothing, and neither does a token that reads nothing', async () => {
    await warm();
    shop.write('src/a.txt', 'A');
    expect(await fresh('other')).toMatchObject({ reason: FIRST_RUN });
    expect((await fresh('factless'))?.reason).toBe(lacking('answer'));
  });

  test('an answer names variables, and has no value, no command line and no key', async () => {
    const first = await warm();
    shop.write('src/a.txt', 'A');
    const next = await fresh();
    const id = stepId('git.example/acme/app', 'copy');
    const url = `${server.url}/path-sets/v1/${next?.key}?inlined=1000&step=${id}`;
    const told = await ask(url, 'GET', { headers: { authorization: 'Bearer reader' } });
    const text = told.body.toString('latin1');
    expect(text).toContain('LEVEL');
    for (const secret of ['value-one', 'cat src', first?.key ?? '']) expect(text).not.toContain(secret);
    expect(text).not.toContain(Buffer.from(first?.key ?? '', 'hex').toString('latin1'));
  });
});

test('without a git remote, the name of the folder of the workspace is that of the step’s place', async () => {
  rmSync(join(shop.workspace, '.git'), { recursive: true });
  const app = clone('first');
  await fresh('team', {}, app);
  shop.write('src/a.txt', 'A');
  expect(await fresh()).toMatchObject({ reason: changed('input', 'src/a.txt') });
});

describe('requests', () => {
  test('a hit asks once, and its answer is as long as without a step', async () => {
    await warm();
    const proxy = await proxyTo(server.url);
    const end = await fresh('reader', { ASSAY_REMOTE: proxy.url });
    expect(end).toMatchObject({ outcome: 'hit-remote' });
    expect(proxy.seen.map(({ path }) => path)).toEqual([
      expect.stringMatching(/^\/path-sets\/v1\/[0-9a-f]{64}\?inlined=\d+&step=[0-9a-f]{32}$/),
    ]);
    const [asked] = proxy.seen;
    const plain = await ask(`${server.url}${asked?.path.replace(/&step=.*/, '')}`, 'GET', {
      headers: { authorization: 'Bearer reader' },
    });
    expect(asked?.answered).toBe(plain.body.length);
  });

  test('a miss asks no more often than one of a server that tells nothing', async () => {
    await warm();
    shop.write('src/a.txt', 'A');
    const proxy = await proxyTo(server.url);
    await fresh('reader', { ASSAY_REMOTE: proxy.url });
    expect(proxy.seen.filter(({ method }) => method === 'GET')).toHaveLength(1);
  });

  test('a server of an earlier version gets its reports in the form that it knows', async () => {
    await warm();
    shop.write('src/a.txt', 'A');
    const proxy = await proxyTo(server.url, { isOld: true });
    const end = await fresh('team', { ASSAY_REMOTE: proxy.url });
    expect(end?.reason).toBe(lacking('server'));
    const { body, status } = proxy.seen.find(({ method }) => method === 'POST') ?? {};
    expect(status).toBe(201);
    expect(body).toContain('"step":"copy"');
    expect(body).not.toContain(`"id":"${stepId('git.example/acme/app', 'copy')}`);
  });

  test('over gRPC the same is told', async () => {
    await warm();
    shop.write('src/a.txt', 'A');
    const url = server.url.replace('http', 'grpc');
    expect(await fresh('reader', { ASSAY_REMOTE: url })).toMatchObject({
      reason: changed('input', 'src/a.txt'),
    });
  });

  test('directories that the answer has no room for are fetched', async () => {
    for (let folder = 0; folder < 80; folder++) shop.write(`src/many/${folder}/in/file.txt`, `${folder}`);
    await warm();
    shop.write('src/many/77/in/file.txt', 'changed');
    expect(await fresh()).toMatchObject({ reason: changed('input', 'src/many/77/in/file.txt') });
  });
});

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly body: string;
  status?: number;
  answered?: number;
}

/** Passes requests on and notes them. An old server knows no steps, and no form of reports but the first. */
async function proxyTo(target: string, { isOld = false } = {}): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const proxy = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const { method = '', url = '', headers } = incoming;
    const one: Seen = { method, path: url, body: Buffer.concat(chunks).toString() };
    seen.push(one);
    const path = isOld ? url.replace(/&step=[0-9a-f]+/, '') : url;
    const answer = await fetch(`${target}${path}`, {
      method,
      headers: {
        ...(headers.authorization && { authorization: headers.authorization }),
        ...(headers['content-type'] && { 'content-type': headers['content-type'] }),
      },
      body: method === 'GET' ? null : Buffer.concat(chunks),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    one.status = answer.status;
    one.answered = bytes.length;
    const form = answer.headers.get('assay-runs');
    response.writeHead(answer.status, { ...(form && { 'assay-runs': isOld ? '1' : form }) }).end(bytes);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, seen };
}

describe('the line says who could not tell', () => {
  test('a remote that is no Assay server', async () => {
    const plain = createServer((_, response) => response.writeHead(404).end());
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const { port } = plain.address() as AddressInfo;
    const end = await fresh('reader', { ASSAY_REMOTE: `http://127.0.0.1:${port}` });
    plain.close();
    expect(end).toMatchObject({
      reason: lacking('server'),
      cause: { kind: 'unknown' },
    });
  });

  test('a remote that does not answer', async () => {
    const end = await fresh('reader', { ASSAY_REMOTE: 'http://127.0.0.1:9' });
    expect(end).toMatchObject({
      reason: lacking('answer'),
      cause: { kind: 'unknown' },
      exitCode: 0,
    });
  });
});

test('the pages rank the misses of fresh runners by the same cause', async () => {
  await warm();
  shop.write('src/a.txt', 'A');
  await fresh('team');
  const { runs } = await get<Runs>('runs');
  const { stepList } = await get<Run>(`runs/${runs[0]?.id}`);
  expect(stepList[0]).toMatchObject({
    why: changed('input', 'src/a.txt'),
    cause: { kind: 'input', name: 'src/a.txt' },
  });
  const { causes } = await get<Misses>('misses');
  expect(causes.map(({ cause }) => cause)).toContainEqual({ kind: 'input', name: 'src/a.txt' });
});
