// The commands after a run: explain, diff, show, stats and clean.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { FIRST_RUN } from '../run/misses.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write(
    'assay.json',
    JSON.stringify({
      steps: {
        build: {
          command: 'mkdir dist && cp src/a dist/ && ln -s a dist/link && echo done',
          inputs: ['src'],
          outputs: ['dist'],
          env: ['MODE', 'API_TOKEN'],
        },
        other: { command: 'true', inputs: ['src'] },
      },
    }),
  );
  shop.write('src/a', 'one');
});
afterEach(() => shop.remove());

const build = async (env: Record<string, string> = {}) => {
  const { ends } = await runSteps(shop, ['build', 'other'], { env });
  return ends.build?.key ?? '';
};

describe('explain, diff and show', () => {
  test('find a step by its name and a run by a prefix of its key', async () => {
    const first = await build({ MODE: 'slow' });
    shop.write('src/a', 'two');
    const second = await build({ MODE: 'fast' });
    const byName = await shop.assay(['explain', 'build']);
    expect(byName.stdout).toContain('step     build\n');
    expect(byName.stdout).toContain('What differs:\n  MODE slow -> fast\n  src/a changed\n');
    expect((await shop.assay(['explain', first.slice(0, 10)])).stdout).toContain(
      `outcome  miss: ${FIRST_RUN}`,
    );
    const diff = await shop.assay(['diff', first.slice(0, 12), second]);
    expect(diff).toMatchObject({ code: 1, stdout: 'MODE slow -> fast\nsrc/a changed\n' });
    expect(await shop.assay(['diff', second, 'build'])).toMatchObject({ code: 0, stdout: '' });
  });

  test('show the inputs and the result of a key; secrets stay hidden', async () => {
    const key = await build({ MODE: 'slow', API_TOKEN: 'hush' });
    const { stdout } = await shop.assay(['show', 'build']);
    for (const words of [
      key,
      'MODE = slow',
      'API_TOKEN = (hidden)',
      'src/a (3 B)',
      'dist/a (3 B)',
      'dist/link -> a',
      'ended     with 0',
    ])
      expect(stdout).toContain(words);
    expect(stdout).not.toContain('hush');
    const shown = JSON.parse((await shop.assay(['show', '--json', key])).stdout);
    expect(shown.inputs.map(({ path }: { path: string }) => path)).toEqual(['src/a']);
    expect(Object.keys(shown.tools)).toContain('sh');
    expect(shown.result).toMatchObject({ exitCode: 0, stdoutBytes: 5 });
  });

  test('show inputs and outputs relative to the workspace, also for a step in a folder', async () => {
    const step = { command: 'cp a made', inputs: ['a'], outputs: ['made'] };
    shop.write('assay.json', '{"packages": ["pkg"]}');
    shop.write('pkg/assay.json', JSON.stringify({ steps: { copy: step } }));
    shop.write('pkg/a', 'one');
    await runSteps(shop, ['pkg#copy']);
    const shown = JSON.parse((await shop.assay(['show', '--json', 'pkg#copy'])).stdout);
    expect(shown).toMatchObject({ workingDirectory: 'pkg', declaredOutputs: ['pkg/made'] });
    expect([shown.inputs, shown.result.outputs]).toMatchObject([[{ path: 'pkg/a' }], [{ path: 'pkg/made' }]]);
    const { stdout } = await shop.assay(['show', 'pkg#copy']);
    expect(stdout).toContain('outputs: 1, 3 B, relative to the workspace’s root\n');
  });

  test('find a step by its short name in its package; in the root the candidates are listed', async () => {
    shop.write('assay.json', '{"packages": ["pkgs/*"], "packageSteps": {"test": {"command": "true"}}}');
    const always = { steps: { always: { command: 'true', cache: false } } };
    for (const name of ['a', 'b']) shop.write(`pkgs/${name}/assay.json`, JSON.stringify(always));
    const cwd = join(shop.workspace, 'pkgs/a');
    expect((await shop.assay(['run', 'test', 'always'], { cwd })).code).toBe(0);
    expect((await shop.assay(['explain', 'test'], { cwd })).stdout).toContain('step     pkgs/a#test\n');
    expect(await shop.assay(['show', 'test'], { cwd })).toMatchObject({ code: 0 });
    expect(await shop.assay(['explain', 'always'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('pkgs/a#always has "cache": false'),
    });
    for (const command of ['explain', 'show'])
      expect(await shop.assay([command, 'test'])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('"test" matches 2 steps; name one of them: pkgs/a#test, pkgs/b#test'),
      });
  });

  test('refuse an action that never ran', async () => {
    await build();
    for (const args of [
      ['explain', 'nope'],
      ['show', 'f00f'],
      ['diff', 'build', 'nope'],
    ])
      expect(await shop.assay(args)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('ASSAY_NO_HISTORY'),
      });
  });
});

test('stats: hits, time saved, by day and by step', async () => {
  expect((await shop.assay(['stats'])).stdout).toContain('nothing was run here');
  await build();
  await build();
  const stats = JSON.parse((await shop.assay(['stats', '--json'])).stdout);
  expect(stats).toMatchObject({ runs: 2, total: { hits: 2, runs: 2, failures: 0 } });
  expect(stats.byStep.build).toMatchObject({ hits: 1, runs: 1 });
  expect((await shop.assay(['stats'])).stdout).toContain('2 runs in the last 30 days: 50 % hits (2 of 4)');
});

test('stats count single commands too', async () => {
  const touch = () => shop.run(['--output', 'made', '--', 'sh', '-c', 'sleep 0.1\ntouch made']);
  await touch();
  rmSync(join(shop.workspace, 'made'));
  await touch();
  const { total, byStep } = JSON.parse((await shop.assay(['stats', '--json'])).stdout);
  expect(total).toMatchObject({ hits: 1, runs: 1 });
  expect(total.savedMs).toBeGreaterThan(50);
  expect(Object.keys(byStep)).toEqual(["sh -c 'sleep 0.1 touch made'"]);
});

describe('clean', () => {
  test('removes outputs, which the next run restores', async () => {
    await build();
    expect(await shop.assay(['clean', 'build'])).toMatchObject({
      code: 0,
      stderr: 'assay: removed 1 output\n',
    });
    expect(shop.has('dist')).toBe(false);
    expect((await runSteps(shop, ['build'])).outcomes).toEqual({ build: 'hit-local' });
    expect(shop.has('dist/a')).toBe(true);
  });

  test('--memory removes the client folder and keeps the store; --whole-store removes both', async () => {
    await build();
    await shop.assay(['clean', '--memory']);
    expect((await runSteps(shop, ['build'])).outcomes).toEqual({ build: 'hit-local' });
    await shop.assay(['verify']);
    await shop.assay(['clean', '--whole-store']);
    expect(readdirSync(shop.store)).toEqual([]);
    expect((await runSteps(shop, ['build'])).outcomes).toEqual({ build: 'miss' });
  });
});
