// The folders of outputs are as in a clean copy: Assay does not make them before a command runs, removes those
// that held nothing but its earlier outputs, and keeps a result only for places that have what it needed.
import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('a', 'one\n');
});
afterEach(() => shop.remove());

const read = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');
const at = (path: string) => join(shop.workspace, path);
const run = (script: string, ...flags: string[]) =>
  shop.run([...flags, '--input', 'a', '--output', 'dist/deep/a', '--', 'sh', '-c', script]);

const MAKES = 'mkdir dist && mkdir dist/deep && cp a dist/deep/a';
const RELIES = 'cp a dist/deep/a';

const declare = (command: string) =>
  shop.write(
    'assay.json',
    JSON.stringify({ steps: { build: { command, inputs: ['a'], outputs: ['dist/deep/a'] } } }),
  );

test('a command makes the folder of its output itself', async () => {
  expect((await run(MAKES)).summary).toMatchObject({ published: true, status: 'declared' });
  expect((await run(MAKES)).summary.outcome).toBe('hit-local');
});

test('a step makes it each time it runs', async () => {
  declare(MAKES);
  for (const content of ['one\n', 'two\n', 'three\n']) {
    shop.write('a', content);
    const ran = await shop.assay(['run', 'build']);
    expect(ran.code, ran.stderr).toBe(0);
    expect(read('dist/deep/a')).toBe(content);
  }
});

test('a folder that the caller of a command made stays', async () => {
  mkdirSync(at('dist/deep'), { recursive: true });
  for (const content of ['one\n', 'two\n']) {
    shop.write('a', content);
    expect((await run(RELIES)).summary).toMatchObject({ outcome: 'miss', published: true });
    expect(read('dist/deep/a')).toBe(content);
  }
});

test('a hit makes the folder', async () => {
  await run(MAKES);
  rmSync(at('dist'), { recursive: true });
  expect((await run(MAKES)).summary.outcome).toBe('hit-local');
  expect(read('dist/deep/a')).toBe('one\n');
});

test.each([[], ['--sandbox']])(
  'a command that does not make it fails, and is told what to do %s',
  async (...flags) => {
    const ran = await run(RELIES, ...flags);
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain('let the command run `mkdir -p dist` first');
    expect(shop.has('dist')).toBe(false);
  },
);

test('a step in a workspace in which an earlier version made it finds what a clean copy has', async () => {
  declare(RELIES);
  shop.write('dist/deep/a', 'made by 0.1\n');
  chmodSync(at('dist'), 0o750);
  const ran = await shop.assay(['run', 'build']);
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain('mkdir -p dist');
  expect(read('dist/deep/a')).toBe('made by 0.1\n');
  expect(statSync(at('dist')).mode & 0o777).toBe(0o750);
});

test('a failure for another reason is not explained so', async () => {
  expect((await run('exit 7')).stderr).not.toContain('mkdir');
});

test('a result that needed a folder is no hit where that is missing', async () => {
  mkdirSync(at('dist/deep'), { recursive: true });
  expect((await run(RELIES)).summary).toMatchObject({ published: true });
  expect((await run(RELIES)).summary.outcome).toBe('hit-local');
  rmSync(at('dist'), { recursive: true });
  const ran = await run(RELIES);
  expect(ran.code).toBe(1);
  expect(ran.summary.outcome).toBe('miss');
});

test('a result whose command asked for the folder is no hit where the answer is another', async () => {
  const asks = 'test -d dist/deep && cp a dist/deep/a';
  mkdirSync(at('dist/deep'), { recursive: true });
  shop.write('dist/deep/other', 'kept\n');
  expect((await run(asks)).summary).toMatchObject({ published: true, status: 'declared' });
  expect((await run(asks)).summary.outcome).toBe('hit-local');
  rmSync(at('dist'), { recursive: true });
  expect((await run(asks)).code).toBe(1);
});

test('two steps that share a folder are hits in any order', async () => {
  const step = (name: string) => ({
    command: `mkdir -p dist && cp a dist/${name}`,
    inputs: ['a'],
    outputs: [`dist/${name}`],
  });
  shop.write('assay.json', JSON.stringify({ steps: { x: step('x'), y: step('y') } }));
  for (const content of ['one\n', 'two\n']) {
    shop.write('a', content);
    expect((await shop.assay(['run', '--jobs', '2', 'x', 'y'])).code).toBe(0);
    expect([read('dist/x'), read('dist/y')]).toEqual([content, content]);
  }
  rmSync(at('dist'), { recursive: true });
  for (const name of ['y', 'x', 'x', 'y']) {
    const ran = await shop.assay(['run', name]);
    expect(ran.stderr + ran.stdout, name).toMatch(/hit|up to date/);
    expect(ran.stderr + ran.stdout, name).not.toContain('miss');
  }
});

describe('a step that relies on a folder', () => {
  const report = async (...flags: string[]) =>
    (await shop.assay(['audit', ...flags, '--input', 'a', '--output', 'dist/a', '--', 'cp', 'a', 'dist/a']))
      .stdout;

  test('is named by an audit', async () => {
    shop.write('dist/other', '');
    expect(await report()).toContain('let it run mkdir -p dist first');
    expect(JSON.parse(await report('--json')).reliesOn).toEqual(['dist']);
  });

  test('is fine if git tracks something there', async () => {
    shop.write('dist/.gitkeep', '');
    execFileSync('git', ['init', '-q'], { cwd: shop.workspace });
    execFileSync('git', ['add', '-f', 'dist/.gitkeep'], { cwd: shop.workspace });
    expect(await report()).not.toContain('mkdir');
  });

  test('is named by init', async () => {
    shop.write('dist/a', 'of an earlier build\n');
    shop.write('package.json', JSON.stringify({ scripts: { build: 'cp a dist/a' } }));
    const ran = await shop.assay(['init']);
    expect(ran.stdout + ran.stderr + (existsSync(at('assay.json')) ? read('assay.json') : '')).toContain(
      'mkdir -p dist',
    );
  });
});
