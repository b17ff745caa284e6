// Caches that tools leave in the tree: they influence no result, are no findings, and come back after a
// failure.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
});
afterEach(() => shop.remove());

const read = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');
const run = (script: string, ...flags: string[]) =>
  shop.run([...flags, '--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', script]);

describe.each([
  '.eslintcache',
  '.pytest_cache/v/cache/lastfailed',
  '.benchmarks/0001.json',
  'tsconfig.tsbuildinfo',
  'node_modules/.cache/webpack/0.pack',
])('%s', (cache) => {
  const USES = `cat in.txt > out; cat ${cache} >> out 2>/dev/null; mkdir -p $(dirname ${cache}); echo new > ${cache}`;

  test('of an earlier run is out of sight, and a new one is no finding', async () => {
    shop.write(cache, 'old\n');
    const ran = await run(USES);
    expect(ran.summary).toMatchObject({ published: true });
    expect(ran.summary.findings?.filter(({ path }) => path !== 'node_modules') ?? []).toEqual([]);
    expect(read('out')).toBe('input\n');
    expect(read(cache)).toBe('new\n');
    expect((await run(USES)).summary.outcome).toBe('hit-local');
  });

  test('comes back if the command fails', async () => {
    shop.write(cache, 'old\n');
    expect((await run('exit 7')).code).toBe(7);
    expect(read(cache)).toBe('old\n');
  });

  test('that git tracks is a source: it stays, and reading it is observed', async () => {
    shop.write(cache, 'source\n');
    execFileSync('git', ['init', '-q'], { cwd: shop.workspace });
    execFileSync('git', ['add', '-f', cache], { cwd: shop.workspace });
    const ran = await run(`cat in.txt ${cache} > out`);
    expect(ran.summary).toMatchObject({ published: true, status: 'observed' });
    expect(read('out')).toBe('input\nsource\n');
  });

  test('that is declared stays where it is', async () => {
    shop.write(cache, 'declared\n');
    const ran = await run(`cat in.txt ${cache} > out`, '--input', cache, '--include-ignored');
    expect(ran.summary).toMatchObject({ published: true, status: 'declared' });
    expect(read('out')).toBe('input\ndeclared\n');
  });
});

test('a cache in another folder that a command reads and changes is no base for a result', async () => {
  shop.write('sub/.eslintcache', 'old\n');
  const ran = await run('cat sub/.eslintcache > out; echo new > sub/.eslintcache');
  expect(ran.summary).toMatchObject({ published: false });
  expect(ran.summary.notPublished).toContain('sub/.eslintcache and then changed it');
});

test('a step does not take away the cache of a step that runs in the same folder', async () => {
  const until = (file: string) => `while [ ! -e ${file} ]; do sleep 0.05; done`;
  const steps = {
    slow: {
      command: `echo mine > .eslintcache; : > ready; ${until('started')}; cat .eslintcache > a`,
      outputs: ['a'],
    },
    ready: { command: until('ready'), cache: false },
    second: { command: ': > started; : > b', outputs: ['b'], dependsOn: ['ready'] },
  };
  const all = Object.entries(steps).map(([name, step]) => [name, { inputs: ['in.txt'], ...step }]);
  shop.write('assay.json', JSON.stringify({ steps: Object.fromEntries(all) }));
  const ran = await shop.assay(['run', '--jobs', '3', 'slow', 'ready', 'second']);
  expect(ran.code).toBe(0);
  expect(read('a')).toBe('mine\n');
});

describe('Python', () => {
  const PYTHON = '/usr/bin/python3';
  const python = (...flags: string[]) =>
    shop.run(['--input', '**/*.py', ...flags, '--output', 'out', '--', PYTHON, 'main.py']);

  beforeEach(() => {
    shop.write('lib/mod.py', 'WORD = "one"\n');
    shop.write('main.py', 'from lib import mod\nopen("out", "w").write(mod.WORD)\n');
  });

  test('leaves no bytecode in the tree', async () => {
    expect((await python()).summary).toMatchObject({ published: true });
    expect(existsSync(join(shop.workspace, 'lib/__pycache__'))).toBe(false);
  });

  test('does not read stale bytecode in a used tree', async () => {
    execFileSync(PYTHON, ['-m', 'compileall', '-q', 'lib'], { cwd: shop.workspace });
    const source = join(shop.workspace, 'lib/mod.py');
    const { mtime } = statSync(source);
    shop.write('lib/mod.py', 'WORD = "two"\n');
    utimesSync(source, mtime, mtime);
    expect(
      execFileSync(PYTHON, ['-c', 'from lib import mod; print(mod.WORD)'], {
        cwd: shop.workspace,
      }).toString(),
    ).toBe('one\n');
    expect((await python()).summary).toMatchObject({ published: true });
    expect(read('out')).toBe('two');
    expect((await python()).summary.outcome).toBe('hit-local');
  });

  test('keeps a variable that is declared', async () => {
    shop.write('main.py', 'import os\nopen("out", "w").write(os.environ["PYTHONDONTWRITEBYTECODE"])\n');
    await python('--env', 'PYTHONDONTWRITEBYTECODE=yes');
    expect(read('out')).toBe('yes');
  });
});

test('cargo’s folder is set aside if an output lies in it', async () => {
  shop.write('Cargo.toml', '');
  shop.write('target/debug/deps/old.rlib', 'old');
  mkdirSync(join(shop.workspace, 'target/debug/build'), { recursive: true });
  const flags = ['--input', 'Cargo.toml', '--output', 'target/debug/app', '--'];
  const script =
    'ls target 2>/dev/null; mkdir -p target/debug/deps; echo lib > target/debug/deps/new.rlib; echo app > target/debug/app';
  const ran = await shop.run([...flags, 'sh', '-c', script]);
  expect(ran.stdout).toBe('');
  expect(ran.summary).toMatchObject({ published: true, status: 'declared' });
  expect(existsSync(join(shop.workspace, 'target/debug/deps/old.rlib'))).toBe(false);
  expect(existsSync(join(shop.workspace, 'target/debug/deps/new.rlib'))).toBe(true);
});
