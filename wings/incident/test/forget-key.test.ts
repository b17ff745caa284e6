// `assay forget --key KEY` follows the key of an action to every result under it: those behind path sets, in each
// state and namespace, its state and its checkpoints. Each test starts from results that real runs stored.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../../core/result.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { ForgetReport } from '../../../store/review/forget.ts';
import { CLIENT_FORM, FORMS, type Summary, Workshop } from '../../../test/rig/assay.ts';
import { ServerProcess } from '../../../test/rig/server.ts';

/** Reads an undeclared file, and makes other bytes each time: the first ones are the bad ones. */
const COMMAND = ['--', 'sh', '-c', 'cat in conf >out; date +%s%N >>out'];
const STEP = ['--input', 'in', '--output', 'out', ...COMMAND];

let shop: Workshop;
let server: ServerProcess | undefined;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(async () => {
  await server?.kill();
  server = undefined;
  shop.remove();
});

/** A clone with a store of its own, beside which the server's store lies. */
class Clone {
  readonly folder: string;
  readonly store: string;
  readonly env: Readonly<Record<string, string>>;

  constructor(name: string, remote?: string, token?: string) {
    this.folder = shop.another(name);
    this.store = join(shop.folder, `${name}-store`);
    this.env = {
      ASSAY_STORE: this.store,
      ...(remote !== undefined && { ASSAY_REMOTE: remote }),
      ...(token !== undefined && { ASSAY_TOKEN: token }),
    };
    this.set({ in: 'in\n', conf: 'one\n' });
  }

  set(files: Readonly<Record<string, string>>): void {
    for (const [path, content] of Object.entries(files)) shop.write(path, content, 0o644, this.folder);
  }

  async run(args: readonly string[] = STEP): Promise<Summary & { out: string }> {
    const { summary } = await shop.run(args, { cwd: this.folder, env: this.env });
    return { ...summary, out: readFileSync(join(this.folder, 'out'), 'utf8') };
  }

  /** Of the local store, or of the server. */
  async forget(...args: readonly string[]): Promise<ForgetReport & { code: number | null }> {
    const ran = await shop.assay(['forget', '--json', ...args], { cwd: this.folder, env: this.env });
    if (ran.stdout === '') throw new Error(ran.stderr);
    return { ...JSON.parse(ran.stdout), code: ran.code };
  }
}

async function start(...args: readonly string[]): Promise<string> {
  server = await ServerProcess.start(join(shop.folder, 'server'), { args });
  return server.url;
}

describe('at a server', () => {
  test('every state of the undeclared files goes; a clean rebuild is kept and handed out', async () => {
    const url = await start();
    const bad = new Clone('bad', url);
    const first = await bad.run();
    bad.set({ conf: 'two\n' });
    const second = await bad.run();
    bad.set({ conf: 'three\n' });
    const third = await bad.run();
    expect([first, second, third].map(({ outcome, shared }) => [outcome, shared])).toEqual(
      Array(3).fill(['miss', true]),
    );
    const { key } = first;
    expect(third.key).toBe(key);
    const there = ['--remote', url, '--key', key];
    expect(await bad.forget(...there)).toMatchObject({ code: 0, removed: 0, matched: 4 });
    expect(await bad.forget(...there, '--yes')).toMatchObject({ code: 0, removed: 4, changed: 0 });
    expect(await bad.forget(...there)).toMatchObject({ code: 3, matched: 0, examined: 0 });
    const clean = new Clone('clean', url);
    const rebuilt = await clean.run();
    expect(rebuilt).toMatchObject({ outcome: 'miss', key, shared: true, warnings: [] });
    expect(rebuilt).not.toHaveProperty('diverged');
    const fresh = new Clone('fresh', url);
    expect(await fresh.run()).toMatchObject({ outcome: 'hit-remote', out: rebuilt.out });
    expect(rebuilt.out).not.toBe(first.out);
    // A used store that returns to a state whose result was forgotten.
    for (const conf of ['two\n', 'three\n']) {
      fresh.set({ conf });
      expect(await fresh.run()).toMatchObject({ outcome: 'miss', shared: true });
    }
  });

  test('other actions stay, and --namespace narrows it', async () => {
    const tokens = join(shop.folder, 'tokens.json');
    const create = async (name: string, namespace: string, ...more: readonly string[]) => {
      const args = ['token', 'create', name, '--namespace', namespace, ...more, '--tokens', tokens];
      return (await shop.assay(args)).stdout.trim();
    };
    const [main, other, rival, admin] = [
      await create('main', 'acme/main'),
      await create('other', 'acme/other'),
      await create('rival', 'rival/main'),
      await create('admin', 'acme', '--rights', 'admin'),
    ];
    const url = await start('--tokens', tokens);
    const clones = [main, other, rival].map((token, at) => new Clone(`clone${at}`, url, token));
    const made = await Promise.all(clones.map((clone) => clone.run()));
    const { key = '' } = made[0] ?? {};
    const different = ['--input', 'in', '--output', 'out', '--', 'sh', '-c', 'cat in conf >out'];
    for (const clone of clones) expect(await clone.run(different)).toMatchObject({ shared: true });
    const asAdmin = new Clone('admin', url, admin);
    const there = ['--remote', url, '--key', key, '--yes'];
    expect(await asAdmin.forget(...there, '--namespace', 'acme/other')).toMatchObject({ removed: 2 });
    const again = (name: string, token: string, args = STEP) => new Clone(name, url, token).run(args);
    expect(await again('a', other)).toMatchObject({ outcome: 'miss', shared: true });
    expect(await again('b', main)).toMatchObject({ outcome: 'hit-remote', out: made[0]?.out });
    expect(await asAdmin.forget(...there)).toMatchObject({ removed: 4 });
    expect(await again('c', main)).toMatchObject({ outcome: 'miss', shared: true });
    expect(await again('d', rival)).toMatchObject({ outcome: 'hit-remote', out: made[2]?.out });
    expect(await again('e', main, different)).toMatchObject({ outcome: 'hit-remote' });
  });

  test('the state that the run left goes with it', async () => {
    const url = await start();
    const withState = ['--state', 'cache', '--input', 'in', '--output', 'out', '--'];
    const step = [...withState, 'sh', '-c', 'mkdir -p cache; cat in conf >out; date +%N | tee -a cache/at'];
    const bad = new Clone('bad', url);
    const { key } = await bad.run(step);
    expect(await bad.forget('--remote', url, '--key', key, '--yes')).toMatchObject({ code: 0, removed: 3 });
    expect(await bad.forget('--remote', url, '--key', key)).toMatchObject({ code: 3, examined: 0 });
    const clone = new Clone('clone', url);
    clone.set({ in: 'other\n' });
    expect(await clone.run(step)).toMatchObject({ outcome: 'miss', shared: true });
    const next = new Clone('next', url);
    next.set({ in: 'third\n' });
    expect((await next.run(step)).notPublished).toContain('the state of an earlier run');
  });
});

describe('in a local store', () => {
  test('every state goes, and the next run makes its outputs again, whatever lies in the workspace', async () => {
    const clone = new Clone('local');
    const first = await clone.run();
    clone.set({ conf: 'two\n' });
    const second = await clone.run();
    clone.set({ conf: 'one\n' });
    expect(await clone.run()).toMatchObject({ outcome: 'hit-local', out: first.out });
    // Up to date: the state has recorded it in place.
    expect(await clone.run()).toMatchObject({ outcome: 'hit-local', out: first.out });
    expect(await clone.forget('--key', first.key, '--yes')).toMatchObject({ code: 0, removed: 3 });
    expect(await clone.forget('--key', first.key)).toMatchObject({ code: 3, matched: 0 });
    const rebuilt = await clone.run();
    expect(rebuilt).toMatchObject({ outcome: 'miss', published: true });
    expect(rebuilt.out).not.toBe(first.out);
    clone.set({ conf: 'two\n' });
    const other = await clone.run();
    expect(other).toMatchObject({ outcome: 'miss', published: true });
    expect(other.out).not.toBe(second.out);
  });

  test('what was got from a server goes', async () => {
    const url = await start();
    const { key } = await new Clone('bad', url).run();
    const clone = new Clone('clone', url);
    expect(await clone.run()).toMatchObject({ outcome: 'hit-remote' });
    for (const where of [[], ['--remote', url]])
      expect(await clone.forget('--key', key, '--yes', ...where)).toMatchObject({ code: 0, removed: 2 });
    expect(await clone.run()).toMatchObject({ outcome: 'miss', shared: true });
  });

  test('a checkpoint of the action goes', async () => {
    const clone = new Clone('checkpoints');
    const seal = `echo x >>cache/n; ${FORMS[CLIENT_FORM].join(' ')} checkpoint >&2; wc -l <cache/n; exit 1`;
    const step = ['--checkpoint', 'cache', '--output', 'out', '--', 'sh', '-c', seal];
    const run = async () => {
      const { summary, stdout } = await shop.run(step, { cwd: clone.folder, env: clone.env });
      return { key: summary.key, lines: Number(stdout.trim()) };
    };
    const { key, lines } = await run();
    expect([lines, (await run()).lines]).toEqual([1, 2]);
    expect(await clone.forget('--key', key, '--yes')).toMatchObject({ code: 0, removed: 2 });
    expect((await run()).lines).toBe(1);
  });
});

test('a result that hides its action from forget is no hit', async () => {
  const url = await start();
  const { key } = await new Clone('bad', url).run();
  const store = await openDiskStore({ directory: join(shop.folder, 'server') });
  for await (const { address, result } of store.review?.results() ?? []) {
    const { outputFiles, stdoutRaw, executionMetadata: told } = decodeResult(result.bytes);
    if (outputFiles.length === 0) continue;
    const evidence = told?.auxiliaryMetadata.filter(({ typeUrl }) => !typeUrl.endsWith('.Receipt')) ?? [];
    const hidden = { worker: '', auxiliaryMetadata: evidence };
    const forged = { ...emptyResult(0), outputFiles, stdoutRaw, executionMetadata: hidden };
    await store.results.put(address, ActionResult.encode(forged).finish(), { replace: true });
  }
  await store.close();
  const clone = new Clone('clone', url);
  expect(await clone.forget('--remote', url, '--key', key)).toMatchObject({ matched: 1 });
  expect(await clone.run()).toMatchObject({
    outcome: 'miss',
    warnings: expect.arrayContaining([expect.stringContaining('it names another action, or none')]),
  });
});
