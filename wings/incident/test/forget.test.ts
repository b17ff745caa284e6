// `assay forget` and `assay divergences` as processes, on used stores, with servers and clients that go on.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Digest, digestOf } from '../../../core/digest.ts';
import { type Namespace, parseNamespace, protocolNamespace } from '../../../core/namespace.ts';
import { STORE } from '../../../store/limits.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { ForgetReport } from '../../../store/review/forget.ts';
import { baseEnvironment, DEFAULT_FORM, FORMS, Workshop } from '../../../test/rig/assay.ts';
import { GrpcClient } from '../../../test/rig/grpc.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';
import { asRoot } from '../../../test/rig/users.ts';
import { ReapiClient } from '../../../test/server/protocols/reapi/rig.ts';
import { ask } from '../../../test/server/rig.ts';
import { contentOf, outputFile, putOne, resultWith } from '../../../test/store/content.ts';

const HOUR = 3_600_000;
const DEFAULT = parseNamespace('');
const main = parseNamespace('acme/app/main');
const pull = parseNamespace('acme/app/pr/7');

let shop: Workshop;
let server: ServerProcess | undefined;
const children: ChildProcess[] = [];
beforeEach(() => {
  shop = new Workshop();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await server?.kill();
  server = undefined;
  shop.remove();
});

const keyOf = (name: string): Digest => digestOf(Buffer.from(name));
/** No blob is needed for a link. */
const linkTo = (target: string) => resultWith({ outputSymlinks: [{ path: 'out', target }] });

/** Puts results as a server does, with the name of the writer. */
async function fill(names: readonly string[], writer: string, namespace: Namespace = DEFAULT, hoursAgo = 1) {
  const store = await openDiskStore({ directory: shop.store });
  const by = { name: writer, from: '192.0.2.9', via: 'ac', at: Date.now() - hoursAgo * HOUR };
  await Promise.all(
    names.map((name) =>
      store.results.put({ namespace, key: keyOf(name).hash }, linkTo('old'), { writer: by }),
    ),
  );
  await store.close();
}

const many = (prefix: string, count: number) => Array.from({ length: count }, (_, at) => `${prefix}${at}`);
const run = (...args: readonly string[]) => shop.assay(['forget', ...args]);
async function report(...args: readonly string[]): Promise<ForgetReport & { code: number | null }> {
  const { stdout, stderr, code } = await run('--json', ...args);
  if (stdout === '') throw new Error(stderr);
  return { ...JSON.parse(stdout), code };
}

async function start(): Promise<ServerProcess> {
  server = await ServerProcess.start(shop.store);
  return server;
}

/** Reads keys in a loop, over HTTP and gRPC, and keeps when each read began and what it found. */
class Reader {
  readonly reads: { readonly name: string; readonly beganAt: number; readonly isHit: boolean }[] = [];
  #isStopped = false;
  readonly #loops: Promise<void>[] = [];

  static async of(urls: readonly string[], names: readonly string[]): Promise<Reader> {
    const reader = new Reader();
    for (const url of urls) await reader.#start(url, names);
    return reader;
  }

  async #start(url: string, names: readonly string[]): Promise<void> {
    const grpc = await GrpcClient.to(url);
    const reapi = new ReapiClient(grpc);
    const overHttp = async (name: string) => (await ask(`${url}/ac/${keyOf(name).hash}`)).status === 200;
    const overGrpc = async (name: string) => (await reapi.getResult(keyOf(name))).status === 'OK';
    this.#loops.push(this.#loop(names, overHttp));
    this.#loops.push(this.#loop(names, overGrpc).finally(() => grpc.close()));
  }

  async #loop(names: readonly string[], isHit: (name: string) => Promise<boolean>): Promise<void> {
    let isLast = false;
    while (!isLast) {
      isLast = this.#isStopped;
      for (const name of names) {
        const beganAt = performance.now();
        this.reads.push({ name, beganAt, isHit: await isHit(name) });
      }
    }
  }

  /** Each loop reads all names once more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#loops);
  }
}

describe('results that are forgotten', () => {
  test.each(['--store', '--remote'] as const)(
    'by %s are served by none of two running servers afterwards',
    async (how) => {
      const [bad, good] = [many('bad', 60), many('good', 20)];
      await fill(bad, 'bad');
      await fill(good, 'good');
      const { url } = await start();
      const beside = await ServerProcess.start(shop.store);
      children.push(beside.child);
      const reader = await Reader.of([url, beside.url], [...bad, ...good]);
      while (reader.reads.length < 400) await new Promise(setImmediate);
      expect(reader.reads.every(({ isHit }) => isHit)).toBe(true);
      const { code, removed } = await report(
        '--writer',
        'bad',
        '--yes',
        how,
        how === '--store' ? shop.store : url,
      );
      const endedAt = performance.now();
      expect({ code, removed }).toEqual({ code: 0, removed: 60 });
      await reader.stop();
      const after = reader.reads.filter(({ beganAt }) => beganAt > endedAt);
      expect(after.filter(({ name, isHit }) => isHit !== name.startsWith('good'))).toEqual([]);
      expect(new Set(after.map(({ name }) => name)).size).toBe(80);
    },
  );

  test('are counted first; nothing is removed without --yes; a second time nothing is found', async () => {
    await fill(many('a', 3), 'bad', main);
    await fill(many('b', 2), 'bad', protocolNamespace('turbo', pull), 100);
    await fill(many('c', 1), 'good', pull);
    const dry = await run('--namespace', 'acme/app', '-v');
    expect(dry.code).toBe(0);
    expect(dry.stdout).toMatch(/^assay forget: would remove 6 results of 6\n/);
    expect(dry.stdout).toMatch(
      /acme\/app\/main {2,}3\n {2}~turbo\/acme\/app\/pr\/7 {2,}2\n {2}acme\/app\/pr\/7 {2,}1\n/,
    );
    expect(dry.stdout).toContain(`  ${keyOf('c0').hash} acme/app/pr/7 good `);
    expect(dry.stdout).toContain('Nothing was removed.');
    expect(await report('--writer', 'bad', '--since', '3d')).toMatchObject({
      code: 0,
      matched: 3,
      removed: 0,
    });
    expect(await report('--writer', 'bad', '--since', '3d', '--yes')).toMatchObject({ code: 0, removed: 3 });
    expect(await report('--writer', 'bad', '--since', '3d', '--yes')).toMatchObject({ code: 3, matched: 0 });
    expect(await report('--namespace', 'acme/app/pr', '--yes')).toMatchObject({ removed: 3 });
    expect((await run('--namespace', 'acme')).stdout).toBe('assay forget: none of 0 results matches\n');
    const log = readFileSync(join(shop.store, 'log', readdirSync(join(shop.store, 'log'))[0] ?? ''), 'utf8');
    const lines = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ what, removed }) => [what, removed])).toEqual([
      ['forget', 3],
      ['forget', 0],
      ['forget', 3],
    ]);
  });

  test('need a selection, a store and no mistake', async () => {
    await fill(['a'], 'bad');
    const refusals = [
      [[], 'ASSAY_BAD_SELECTION'],
      [['--yes'], 'ASSAY_BAD_SELECTION'],
      [['--key', 'abc'], 'ASSAY_BAD_SELECTION'],
      [['--since', 'yesterday'], 'ASSAY_BAD_SELECTION'],
      [['--writer', 'bad', '--store', join(shop.folder, 'nowhere')], 'ASSAY_NO_STORE'],
      [['--writer', 'bad', '--remote', 'http://127.0.0.1:1/team'], 'ASSAY_USAGE'],
      [['--writer', 'bad', '--remote', 'http://127.0.0.1:1'], 'ASSAY_NO_ANSWER'],
      [['--writer', 'bad', '--remote', 'http://127.0.0.1:1', '--store', shop.store], 'ASSAY_USAGE'],
    ] as const;
    for (const [args, code] of refusals)
      expect(await run(...args)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining(code),
      });
    expect(existsSync(join(shop.folder, 'nowhere'))).toBe(false);
    expect(await report('--writer', 'bad')).toMatchObject({ matched: 1 });
  });

  test('at a server need its token', async () => {
    await fill(['a'], 'bad');
    server = await ServerProcess.start(shop.store, { env: { ASSAY_TOKEN: 'a-secret' } });
    const args = ['forget', '--json', '--remote', server.url, '--writer', 'bad', '--yes'];
    expect(await shop.assay(args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ASSAY_UNAUTHORIZED'),
    });
    const allowed = await shop.assay(args, { env: { ASSAY_TOKEN: 'a-secret' } });
    expect(JSON.parse(allowed.stdout)).toMatchObject({ removed: 1 });
  });
});

test('ten thousand results are forgotten; killed in the middle, the command is run again', async () => {
  const bad = many('bad', soak(10_000, 1_000));
  await fill(bad, 'bad');
  await fill(many('good', 50), 'good');
  const { url } = await start();
  const [program, ...before] = FORMS[DEFAULT_FORM];
  const child = spawn(program, [...before, 'forget', '--store', shop.store, '--writer', 'bad', '--yes'], {
    env: baseEnvironment(),
    stdio: 'ignore',
  });
  children.push(child);
  const ended = once(child, 'exit');
  const left = async () => (await report('--writer', 'bad', '--remote', url)).matched;
  const first = bad.map((name) => keyOf(name).hash).sort()[0] ?? '';
  while ((await ask(`${url}/ac/${first}`)).status !== 404 && child.exitCode === null) {
    // Until the first of its commits is visible.
  }
  child.kill('SIGKILL');
  await ended;
  const rest = await left();
  expect(rest).toBeLessThan(bad.length);
  // The commit that was under way may count after all: LMDB shows it when the next process writes.
  const { removed } = await report('--writer', 'bad', '--yes', '--store', shop.store);
  expect(removed).toBeGreaterThanOrEqual(rest - STORE.forgetBatch);
  expect(removed).toBeLessThanOrEqual(rest);
  expect(await left()).toBe(0);
  for (const name of ['bad0', bad.at(-1) ?? ''])
    expect((await ask(`${url}/ac/${keyOf(name).hash}`)).status).toBe(404);
  expect((await ask(`${url}/ac/${keyOf('good7').hash}`)).status).toBe(200);
  expect(
    (await ask(`${url}/ac/${keyOf('bad0').hash}`, 'PUT', { body: linkTo('new') })).headers['assay-outcome'],
  ).toBe('stored');
});

test('what a client stores after the command began stays, and what was there before goes', async () => {
  const names = many('key', 400);
  await fill(names, 'bad');
  const { url } = await start();
  const outcomes = new Map<string, string>();
  let isEnded = false;
  const rewriting = (async () => {
    while (!isEnded) {
      for (const name of names) {
        const answer = await ask(`${url}/ac/${keyOf(name).hash}`, 'PUT', { body: linkTo('new') });
        const outcome = String(answer.headers['assay-outcome']);
        if (outcomes.get(name) !== 'stored') outcomes.set(name, outcome);
      }
    }
  })();
  while (outcomes.size < 20) await new Promise(setImmediate);
  const { matched, removed } = await report('--writer', 'bad', '--yes', '--store', shop.store);
  isEnded = true;
  await rewriting;
  expect({ matched, removed }).toEqual({ matched: 400, removed: 400 });
  expect([...outcomes.values()]).toContain('stored');
  for (const name of names) {
    const answer = await ask(`${url}/ac/${keyOf(name).hash}`);
    const isNew = answer.status === 200 && answer.body.equals(linkTo('new'));
    expect([name, outcomes.get(name), isNew]).toEqual([
      name,
      outcomes.get(name),
      outcomes.get(name) === 'stored',
    ]);
    expect(isNew || answer.status === 404).toBe(true);
  }
});

test('with real tokens: the log names each writer, and an admin forgets in its own namespace only', async () => {
  const tokens = join(shop.folder, 'tokens.json');
  const create = async (name: string, namespace: string, ...more: readonly string[]) => {
    const made = await shop.assay([
      'token',
      'create',
      name,
      '--namespace',
      namespace,
      ...more,
      '--tokens',
      tokens,
    ]);
    return made.stdout.trim();
  };
  const [ci, pr, other] = [
    await create('ci', 'acme/app/main'),
    await create('pr-7', 'acme/app/pr/7', '--reads', 'acme/app/main'),
    await create('ci', 'rival/app/main'),
  ];
  const admin = await create('admin', 'acme', '--rights', 'admin');
  server = await ServerProcess.start(shop.store, { args: ['--tokens', tokens] });
  const { url } = server;
  const put = (token: string, name: string, target: string) =>
    ask(`${url}/ac/${keyOf(name).hash}`, 'PUT', {
      body: linkTo(target),
      headers: { authorization: `Bearer ${token}` },
    });
  const get = async (token: string, name: string) =>
    (await ask(`${url}/ac/${keyOf(name).hash}`, 'GET', { headers: { authorization: `Bearer ${token}` } }))
      .status;
  for (const token of [ci, pr, other]) expect((await put(token, 'k', 'old')).status).toBe(200);
  expect((await put(pr, 'k', 'other')).headers['assay-outcome']).toBe('diverged');
  const as = (token: string, ...args: readonly string[]) =>
    shop.assay([...args, '--remote', url, '--json'], { env: { ASSAY_TOKEN: token } });
  const listed = JSON.parse((await as(pr, 'divergences')).stdout);
  expect(listed.divergences).toMatchObject([
    {
      namespace: 'acme/app/pr/7',
      first: { name: 'pr-7' },
      second: { name: 'pr-7' },
      difference: { output: { path: 'out', how: 'target', targets: ['old', 'other'] } },
    },
  ]);
  expect(await as(ci, 'forget', '--writer', 'ci', '--yes')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('ASSAY_FORBIDDEN'),
  });
  expect(await as(admin, 'forget', '--namespace', 'rival', '--yes')).toMatchObject({ code: 2 });
  const forgotten = JSON.parse((await as(admin, 'forget', '--writer', 'ci', '--yes')).stdout);
  expect(forgotten).toMatchObject({ removed: 1, namespaces: [{ name: 'acme/app/main', results: 1 }] });
  expect([await get(ci, 'k'), await get(pr, 'k'), await get(other, 'k')]).toEqual([404, 200, 200]);
  await server.stop();
  const [file = ''] = readdirSync(join(shop.store, 'log'));
  const text = readFileSync(join(shop.store, 'log', file), 'utf8');
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(
    lines.map(({ what, identity, namespace, outcome, removed }) => [
      what,
      identity,
      namespace,
      outcome ?? removed,
    ]),
  ).toEqual([
    ['result', 'ci', 'acme/app/main', 'stored'],
    ['result', 'pr-7', 'acme/app/pr/7', 'stored'],
    ['result', 'ci', 'rival/app/main', 'stored'],
    ['result', 'pr-7', 'acme/app/pr/7', 'diverged'],
    ['forget', 'admin', undefined, 1],
  ]);
  for (const token of [ci, pr, other, admin]) expect(text).not.toContain(token);
});

test('root makes no file in the log of another user', async () => {
  await fill(['a'], 'bad');
  asRoot('chown', '12345:12345', shop.store);
  const ran = await shop.assayAsRoot(['forget', '--writer', 'bad', '--yes']);
  const hasLog = existsSync(join(shop.store, 'log'));
  asRoot('chown', '-R', String(process.getuid?.()), shop.store);
  expect(ran).toMatchObject({
    code: 0,
    stderr: 'assay: the write log does not have this: user 12345 owns it, not user 0\n',
  });
  expect(hasLog).toBe(false);
});

test('gc, verify, a sweep and a reconciliation leave the log as it is', async () => {
  const { url, child } = await start();
  for (const name of many('k', 20)) await ask(`${url}/ac/${keyOf(name).hash}`, 'PUT', { body: linkTo('x') });
  await server?.stop();
  expect(child.exitCode).toBe(0);
  const [file = ''] = readdirSync(join(shop.store, 'log'));
  const before = readFileSync(join(shop.store, 'log', file), 'utf8');
  expect(before.trim().split('\n')).toHaveLength(20);
  const store = await openDiskStore({ directory: shop.store });
  await store.reconcile(async () => {});
  await store.sweep();
  await store.close();
  for (const command of ['gc', 'verify']) expect((await shop.assay([command])).code).toBe(0);
  expect(readFileSync(join(shop.store, 'log', file), 'utf8')).toBe(before);
});

describe('divergences', () => {
  test('name both writers and the first differing byte, on a store and at a server', async () => {
    const store = await openDiskStore({ directory: shop.store });
    const first = contentOf('large', 3_000_000);
    const second = Buffer.from(first);
    second.writeUInt8(first.readUInt8(2_345_678) ^ 1, 2_345_678);
    const naming = async (bytes: Buffer) =>
      resultWith({ outputFiles: [outputFile('dist/a\u001b[2Jb.js', await putOne(store, bytes))] });
    const at = Date.UTC(2026, 10, 17);
    const writer = (name: string) => ({ name, from: '192.0.2.9', via: 'ac', at });
    const address = { namespace: main, key: keyOf('k').hash };
    await store.results.put(address, await naming(first), { writer: writer('ci') });
    await store.results.put(address, await naming(second), { writer: writer('pull') });
    await store.close();
    const words = await shop.assay(['divergences']);
    expect(words.stdout).toBe(
      [
        `${address.key} acme/app/main`,
        '  first   2026-11-17T00:00:00.000Z ci from 192.0.2.9, ac',
        '  second  2026-11-17T00:00:00.000Z pull from 192.0.2.9, ac',
        '  dist/a\\u{1b}[2Jb.js differs from byte 2345678 on (2.9 MiB and 2.9 MiB)',
        '',
        'assay divergences: 1 divergence',
        '',
      ].join('\n'),
    );
    const { url } = await start();
    const [local, remote] = await Promise.all(
      [[], ['--remote', url]].map((where) =>
        shop.assay(['divergences', '--json', '--namespace', 'acme', ...where]),
      ),
    );
    expect(JSON.parse(local?.stdout ?? '')).toMatchObject({
      more: false,
      divergences: [{ difference: { output: { how: 'content', offset: 2_345_678 } } }],
    });
    expect(remote?.stdout).toBe(local?.stdout);
    expect((await shop.assay(['divergences', '--namespace', 'acme/app/pr'])).stdout).toBe(
      'assay divergences: 0 divergences\n',
    );
  });
});
