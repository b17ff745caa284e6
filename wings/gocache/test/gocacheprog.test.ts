// `assay gocacheprog` through its protocol. Debian 12 has Go 1.19, which has no GOCACHEPROG, so a driver in
// the rig follows the go command's source.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RUNTIME_FORMS, Workshop } from '../../../test/rig/assay.ts';
import { Random } from '../../../test/rig/random.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { type Answer, GoCommand, sha256 } from './go-command.ts';

let shop: Workshop;
const closers: (() => Promise<unknown> | unknown)[] = [];

beforeEach(() => {
  shop = new Workshop();
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  shop.remove();
});

async function start(
  args: readonly string[] = [],
  options: ConstructorParameters<typeof GoCommand>[1] = {},
): Promise<GoCommand> {
  const go = await GoCommand.start(['--store', shop.store, ...args], options);
  closers.push(() => go.child.kill('SIGKILL'));
  return go;
}

function expectHit(answer: Answer, content: string | Uint8Array): void {
  expect(answer).toMatchObject({
    OutputID: sha256(content).toString('base64'),
    Size: Buffer.byteLength(content),
  });
  expect(Date.parse(answer.Time ?? '')).toBeGreaterThan(Date.now() - 60_000);
  expect(readFileSync(answer.DiskPath ?? '')).toEqual(Buffer.from(content));
}

const LARGE = new Random(7).bytes(3_000_000);

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('a build gets what an earlier one put: small, large and empty outputs', async () => {
    const one = await start([], { form });
    expect(await one.get('a')).toEqual({ ID: 1, Miss: true });
    for (const [action, content] of [
      ['a', 'small'],
      ['b', LARGE],
      ['c', ''],
    ] as const) {
      const { DiskPath = '', ...rest } = await one.put(action, content);
      expect(Object.keys(rest)).toEqual(['ID']);
      expect(readFileSync(DiskPath)).toEqual(Buffer.from(content));
    }
    expect(await one.close()).toEqual({ code: 0, stderr: '' });
    const two = await start([], { form });
    expectHit(await two.get('a'), 'small');
    expectHit(await two.get('b'), LARGE);
    expect(await two.get('c')).toMatchObject({ OutputID: sha256('').toString('base64') });
    expect(await two.close()).toEqual({ code: 0, stderr: '' });
  });
});

test('147 concurrent gets, with puts between them, are each answered once and correctly', async () => {
  const one = await start();
  const names = Array.from({ length: 147 }, (_, at) => `package ${at}`);
  const content = (name: string) => name.repeat(1 + (name.length % 7) * 300);
  const misses = names.map((name) => one.get(name));
  const puts = names.map((name) => one.put(name, content(name)));
  for (const answer of await Promise.all(misses)) expect(answer).toMatchObject({ Miss: true });
  await Promise.all(puts);
  await one.close();
  const two = await start();
  const hits = await Promise.all(names.map((name) => two.get(name)));
  for (const [at, name] of names.entries()) expectHit(hits[at] ?? { ID: -1 }, content(name));
  expect((await two.close()).code).toBe(0);
});

test('get returns the newest output of an action', async () => {
  const one = await start();
  await one.put('test log', 'ok 0.001s');
  await one.put('test log', 'ok 0.002s');
  expectHit(await one.get('test log'), 'ok 0.002s');
  await one.close();
});

test('get recreates a deleted output file from the store', async () => {
  const one = await start();
  const { DiskPath = '' } = await one.put('a', LARGE);
  await one.close();
  rmSync(join(shop.store, 'client', 'go'), { recursive: true });
  const two = await start();
  const again = await two.get('a');
  expect(again.DiskPath).toBe(DiskPath);
  expectHit(again, LARGE);
  await two.close();
});

test('get never returns a file that was modified', async () => {
  const one = await start();
  const { DiskPath = '' } = await one.put('a', 'the right bytes');
  chmodSync(DiskPath, 0o644);
  writeFileSync(DiskPath, 'the wrong bytes');
  expectHit(await one.get('a'), 'the right bytes');
  await one.close();
});

test('put refuses a body that does not match its ID, and stores nothing', async () => {
  const one = await start();
  expect((await one.put('a', 'changed underfoot', sha256('as it was'))).Err).toContain('changed');
  expect(await one.get('a')).toMatchObject({ Miss: true });
  const short = { Command: 'put', ActionID: sha256('b').toString('base64'), OutputID: 'AAAA', BodySize: 9 };
  expect((await one.ask(short, '"c2hvcnQ="\n')).Err).toContain('changed');
  expect((await one.ask(short, '"###"\n')).Err).toContain('base64');
  await one.put('c', 'still in step');
  expectHit(await one.get('c'), 'still in step');
  expect(filesUnder(join(shop.store, 'client', 'go', 'new'))).toEqual([]);
  expect((await one.close()).code).toBe(0);
});

test.each([
  ['an unknown command', { Command: 'get2', ActionID: 'AAAA' }],
  ['a get without an action', { Command: 'get' }],
  ['a put without an output', { Command: 'put', ActionID: 'AAAA' }],
  ['an action that is not base64', { Command: 'get', ActionID: '$$$' }],
])('%s is an error for that request only', async (_name, request) => {
  const one = await start();
  expect((await one.ask(request)).Err).toBeTruthy();
  expect(await one.get('a')).toMatchObject({ Miss: true });
  expect((await one.close()).code).toBe(0);
});

test.each([
  ['garbage', 'not json at all\n'],
  ['JSON that is not a request', '[1,2]\n'],
  ['a request without an ID', '{"Command":"get","ActionID":"AAAA"}\n'],
  ['a line that is too long', 'x'.repeat(200_000)],
  ['a missing body', '{"ID":5,"Command":"put","ActionID":"AAAA","OutputID":"AAAA","BodySize":3}\n{}\n'],
])('%s ends the program with an error message, after the earlier requests', async (_name, text) => {
  const one = await start();
  const put = one.put('a', 'kept');
  one.answerTo(5).catch(() => {});
  one.write(text);
  one.child.stdin?.end();
  await put;
  const { code, stderr } = await one.ended;
  expect(stderr).toContain('ASSAY_BAD_WIRE');
  expect(code).toBe(2);
  const two = await start();
  expectHit(await two.get('a'), 'kept');
});

test('a request that arrives byte by byte is answered', async () => {
  const one = await start();
  const request = { ID: 1, Command: 'put', ActionID: sha256('a').toString('base64'), BodySize: 5 };
  const text = `${JSON.stringify({ ...request, OutputID: sha256('bytes').toString('base64') })}\n\n"Ynl0ZXM="\n`;
  const answer = one.answerTo(1);
  for (const character of text) {
    one.write(character);
    await new Promise(setImmediate);
  }
  expect(readFileSync((await answer).DiskPath ?? '', 'utf8')).toBe('bytes');
});

test('a go command that exits in the middle of a body leaves no files', async () => {
  const one = await start();
  await one.put('a', 'kept');
  one.write('{"ID":9,"Command":"put","ActionID":"AAAA","OutputID":"AAAA","BodySize":300}\n"AAAAAAAA');
  one.child.stdout?.destroy();
  one.child.stdin?.end();
  expect((await one.ended).code).toBe(0);
  expect(filesUnder(join(shop.store, 'client', 'go', 'new'))).toEqual([]);
  const two = await start();
  expectHit(await two.get('a'), 'kept');
});

test.each([1, 2, 3, 4, 5])(
  'killed between puts and their responses, seed %i: every acknowledged put is stored',
  async (seed) => {
    const random = new Random(seed);
    const one = await start();
    const answered = new Set<number>();
    const content = (at: number) => `${at} `.repeat(1 + ((at * 7919) % 60_000));
    const puts = Array.from({ length: 30 }, (_, at) => at);
    const killAfter = random.below(puts.length);
    await Promise.allSettled(
      puts.map(async (at) => {
        await one.put(`action ${at}`, content(at));
        answered.add(at);
        if (answered.size > killAfter) one.child.kill('SIGKILL');
      }),
    );
    const two = await start();
    for (const at of puts) {
      const answer = await two.get(`action ${at}`);
      if (answered.has(at) || !answer.Miss) expectHit(answer, content(at));
    }
    expect(answered.size).toBeGreaterThan(0);
    expect((await two.close()).code).toBe(0);
  },
);

test('output files that no build used for five days are removed, others are kept', async () => {
  const one = await start();
  const [old, recent] = [await one.put('old', 'old'), await one.put('recent', 'recent')];
  const days = (count: number) => Date.now() / 1000 - count * 24 * 3600;
  await one.close();
  utimesSync(old.DiskPath ?? '', days(6), days(6));
  utimesSync(recent.DiskPath ?? '', days(4), days(4));
  utimesSync(join(shop.store, 'client', 'go', 'swept'), days(2), days(2));
  const two = await start();
  expectHit(await two.get('recent'), 'recent');
  await two.close();
  expect([existsSync(old.DiskPath ?? ''), existsSync(recent.DiskPath ?? '')]).toEqual([false, true]);
  expect(statSync(recent.DiskPath ?? '').mtimeMs).toBeGreaterThan(days(1) * 1000);
});

test('with an unusable store, get is a miss, and put still gives the go command its file', async () => {
  const file = shop.write('a-file', '');
  const one = await GoCommand.start(['--store', join(file, 'store')]);
  const { DiskPath = '' } = await one.put('a', 'content');
  expect(readFileSync(DiskPath, 'utf8')).toBe('content');
  expect(await one.get('a')).toMatchObject({ Miss: true });
  const { code, stderr } = await one.close();
  expect(code).toBe(0);
  expect(stderr).toContain('the local store is not usable');
  expect(existsSync(DiskPath)).toBe(false);
});

describe('with a remote', () => {
  const elsewhere = () => ['--store', join(shop.folder, 'elsewhere')];
  const second = (remote: string) => GoCommand.start([...elsewhere(), '--remote', remote]);

  test('another machine gets what one machine put', async () => {
    const server = await ServerProcess.start(`${shop.folder}/server`);
    closers.push(() => server.stop());
    const one = await start(['--remote', `${server.url}/team`]);
    await Promise.all([one.put('a', 'small'), one.put('b', LARGE)]);
    expect(await one.close()).toEqual({ code: 0, stderr: '' });
    const two = await second(`${server.url}/team`);
    expectHit(await two.get('a'), 'small');
    expectHit(await two.get('b'), LARGE);
    expect(await two.get('c')).toMatchObject({ Miss: true });
    expect(await two.close()).toEqual({ code: 0, stderr: '' });
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    const lookups = metrics.split('\n').filter((line) => line.startsWith('assay_results_total{'));
    expect(lookups).toEqual([
      expect.stringMatching(/tool="gocacheprog",namespace="team\/go",outcome="hit"} 2$/),
      expect.stringMatching(/tool="gocacheprog",namespace="team\/go",outcome="miss"} 1$/),
    ]);
    const other = await GoCommand.start(['--store', join(shop.folder, 'third'), '--remote', server.url]);
    expect(await other.get('a')).toMatchObject({ Miss: true });
    await other.close();
  });

  test.each<[string, (path: string) => [number, string], RegExp]>([
    ['answers 500', () => [500, 'boom'], /the remote is not usable/g],
    ['sends invalid responses', () => [200, 'nonsense'], /the remote is not usable/g],
    ['refuses writes', () => [404, ''], /the remote takes no results/g],
  ])('a remote that %s costs only the hits', async (_name, answer, words) => {
    const server = createServer((request, response) => {
      request.resume();
      const [status, body] = request.method === 'PUT' ? ([403, ''] as const) : answer(request.url ?? '');
      response.writeHead(status).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const one = await start(['--remote', `http://127.0.0.1:${(server.address() as AddressInfo).port}`]);
    expect(await one.get('a')).toMatchObject({ Miss: true });
    await one.put('a', 'content');
    await one.put('b', 'other');
    expectHit(await one.get('a'), 'content');
    const { code, stderr } = await one.close();
    expect(code).toBe(0);
    expect(stderr.match(words)).toHaveLength(1);
  });
});

function filesUnder(folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  return readdirSync(folder);
}
