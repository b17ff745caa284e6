// A server that is added later gets what was made here without any remote, and nothing else: the store of a runner may
// hold results of a pull request, which the token of main must not publish.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RanWithSummary, type RunOptions, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
let server: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
  server = await ServerProcess.start(join(shop.folder, 'served'));
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

interface Where {
  readonly store?: string;
  readonly remote?: boolean;
  readonly env?: RunOptions['env'];
}

function build(word: string, { store = 'store', remote = false, env }: Where = {}): Promise<RanWithSummary> {
  const flags = ['--store', join(shop.folder, store), ...(remote ? ['--remote', server.url] : [])];
  const declared = ['--input', 'in.txt', '--output', 'out', '--no-report'];
  const command = ['sh', '-c', `cat in.txt > out; echo ${word} >> out`];
  return shop.run([...flags, ...declared, '--', ...command], { ...(env && { env }) });
}

/** On another machine. */
async function has(word: string): Promise<boolean> {
  rmSync(join(shop.folder, 'other'), { recursive: true, force: true });
  return (await build(word, { store: 'other', remote: true })).summary.outcome === 'hit-remote';
}

async function push(...flags: string[]): Promise<{ shared: number; unshared: number }> {
  const pushed = await shop.assay(['push', '--json', '--remote', server.url, ...flags]);
  return JSON.parse(pushed.stdout);
}

describe('assay push', () => {
  test('--all sends what was made without a remote, and alone it does not', async () => {
    await build('one');
    await build('two');
    expect(await push()).toEqual({ shared: 0, unshared: 0 });
    expect(await push('--all')).toEqual({ shared: 2, unshared: 0 });
    expect([await has('one'), await has('two')]).toEqual([true, true]);
  });

  test('--steps sends the steps of this workspace', async () => {
    const step = { command: 'cat in.txt > made', inputs: ['in.txt'], outputs: ['made'] };
    shop.write('assay.json', JSON.stringify({ steps: { make: step } }));
    await shop.assay(['run', 'make']);
    await build('one');
    expect(await push('--steps')).toEqual({ shared: 1, unshared: 0 });
    expect(await has('one')).toBe(false);
  });

  test('--all sends nothing that was taken from a remote, or made while one was named', async () => {
    await build('of a pull request', { store: 'pull', remote: true });
    await build('of a pull request', { remote: true });
    await build('made with a remote', { remote: true });
    await build('made here');
    await server.stop();
    rmSync(join(shop.folder, 'served'), { recursive: true });
    server = await ServerProcess.start(join(shop.folder, 'served'));
    expect(await push('--all')).toEqual({ shared: 1, unshared: 0 });
    expect(await has('of a pull request')).toBe(false);
    expect(await has('made with a remote')).toBe(false);
    expect(await has('made here')).toBe(true);
  });

  test('--all sends nothing that a CI job made', async () => {
    await build('one', { env: { CI: 'true' } });
    expect(await push('--all')).toEqual({ shared: 0, unshared: 0 });
  });

  test('--all sends no result that stays on this machine', async () => {
    shop.write('secret', 'key\n', 0o600);
    const flags = ['--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', 'cat secret > out'];
    expect((await shop.run(flags)).summary.published).toBe(true);
    expect(await push('--all')).toEqual({ shared: 0, unshared: 0 });
  });

  test('--all does not send another result that lies under the key by now', async () => {
    await build('one');
    rmSync(join(shop.store, 'v5'), { recursive: true });
    await build('one', { store: 'pull', remote: true });
    await build('one', { remote: true });
    expect(existsSync(join(shop.store, 'v5'))).toBe(true);
    await server.stop();
    rmSync(join(shop.folder, 'served'), { recursive: true });
    server = await ServerProcess.start(join(shop.folder, 'served'));
    expect(await push('--all')).toEqual({ shared: 0, unshared: 0 });
  });
});

describe('the first run with a new remote', () => {
  test('sends its hits along, and no other result', async () => {
    await build('hit');
    await build('other');
    expect((await build('hit', { remote: true })).summary.outcome).toBe('hit-local');
    expect([await has('hit'), await has('other')]).toEqual([true, false]);
  });

  test('sends them also if everything was up to date', async () => {
    await build('hit');
    await build('hit');
    expect((await build('hit', { remote: true })).summary.outcome).toBe('hit-local');
    expect(await has('hit')).toBe(true);
    await build('second');
    await build('second', { remote: true });
    expect(await has('second')).toBe(false);
  });

  test('sends the steps of a graph that were up to date', async () => {
    const step = { command: 'cat in.txt > made', inputs: ['in.txt'], outputs: ['made'] };
    shop.write('assay.json', JSON.stringify({ steps: { make: step } }));
    await shop.assay(['run', 'make']);
    await shop.assay(['run', 'make', '--remote', server.url]);
    rmSync(join(shop.workspace, 'made'));
    const other = await shop.assay([
      'run',
      '--json',
      'make',
      '--remote',
      server.url,
      '--store',
      join(shop.folder, 'other'),
    ]);
    expect(other.stdout).toContain('hit-remote');
  });

  test('owes nothing to a remote that takes no writes', async () => {
    const words = ['1', '2', '3', '4', '5', '6'];
    const steps = words.map((word) => [
      word,
      { command: `cat in.txt > made${word}`, inputs: ['in.txt'], outputs: [`made${word}`] },
    ]);
    shop.write('assay.json', JSON.stringify({ steps: Object.fromEntries(steps) }));
    await shop.assay(['run', ...words]);
    await server.stop();
    server = await ServerProcess.start(join(shop.folder, 'served'), { args: ['--read-only'] });
    const ran = await shop.assay(['run', ...words, '--remote', server.url]);
    expect(ran.stderr).toMatch(/upload|write/);
    expect(existsSync(join(shop.store, 'client/outbox'))).toBe(false);
  });

  test('sends nothing in CI', async () => {
    await build('hit');
    await build('hit', { remote: true, env: { CI: '1' } });
    expect(await has('hit')).toBe(false);
  });
});
