// Caches that tools leave in the tree: they influence no result of their tool, are no findings, and are never
// lost.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { OwnedCaches } from '../../../client/action/owned-caches.ts';
import { assayFolder } from '../../../client/outputs/staging.ts';
import { parseRelPath, ROOT } from '../../../core/path.ts';
import { baseEnvironment, DEFAULT_FORM, FORMS, Workshop } from '../../rig/assay.ts';

const REQUEST = { workingDirectory: ROOT, outputs: [] };

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
});
afterEach(() => shop.remove());

const read = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');
const declared = (...flags: string[]) => [...flags, '--input', 'in.txt', '--output', 'out', '--'];
const run = (script: string, ...flags: string[]) => shop.run([...declared(...flags), 'sh', '-c', script]);

describe.each([
  ['eslint', '.eslintcache'],
  ['pytest', '.pytest_cache/v/cache/lastfailed'],
  ['pytest', '.benchmarks/0001.json'],
  ['tsc', 'tsconfig.tsbuildinfo'],
  ['webpack', 'node_modules/.cache/webpack/0.pack'],
  ['vitest', 'node_modules/.vitest-cache/0'],
])('%s: %s', (tool, cache) => {
  const USES = `cat in.txt > out; cat ${cache} >> out 2>/dev/null; mkdir -p $(dirname ${cache}); echo new > ${cache}`;
  const runTool = (script: string, ...flags: string[]) => {
    shop.script(`bin/${tool}`, 'set +e', script);
    return shop.run([...declared('--input', `bin/${tool}`, ...flags), `bin/${tool}`]);
  };

  test('of an earlier run is out of sight of its tool, and a new one is no finding', async () => {
    shop.write(cache, 'old\n');
    const ran = await runTool(USES);
    expect(ran.summary).toMatchObject({ published: true });
    expect(ran.summary.findings?.filter(({ path }) => path !== 'node_modules') ?? []).toEqual([]);
    expect(ran.summary.warnings.join()).toContain(`out of sight while ${tool} runs`);
    expect(read('out')).toBe('input\n');
    expect(read(cache)).toBe('new\n');
    expect((await runTool(USES)).summary.outcome).toBe('hit-local');
  });

  test('comes back if its tool did not write it, after success and after a failure', async () => {
    shop.write(cache, 'old\n');
    const { mtimeMs } = statSync(join(shop.workspace, cache));
    for (const [script, code] of [
      [': > out', 0],
      ['exit 7', 7],
    ] as const) {
      expect((await runTool(script)).code).toBe(code);
      expect(read(cache)).toBe('old\n');
      expect(statSync(join(shop.workspace, cache)).mtimeMs).toBe(mtimeMs);
    }
    expect((await runTool(': > out')).summary.outcome).toBe('hit-local');
  });

  test('is a file like any other to another command', async () => {
    shop.write(cache, 'old\n');
    const ran = await run(`cat in.txt ${cache} > out`);
    expect(ran.summary).toMatchObject({ published: true, status: 'observed' });
    expect(read('out')).toBe('input\nold\n');
    expect(read(cache)).toBe('old\n');
    shop.write(cache, 'newer\n');
    expect((await run(`cat in.txt ${cache} > out`)).summary.outcome).toBe('miss');
    expect(read('out')).toBe('input\nnewer\n');
  });

  test('that git tracks is a source: it stays, and reading it is observed', async () => {
    shop.write(cache, 'source\n');
    execFileSync('git', ['init', '-q'], { cwd: shop.workspace });
    execFileSync('git', ['add', '-f', cache], { cwd: shop.workspace });
    const ran = await runTool(`cat in.txt ${cache} > out`);
    expect(ran.summary).toMatchObject({ published: true, status: 'observed' });
    expect(read('out')).toBe('input\nsource\n');
  });

  test('that is declared stays where it is', async () => {
    shop.write(cache, 'declared\n');
    const ran = await runTool(`cat in.txt ${cache} > out`, '--input', cache, '--include-ignored');
    expect(ran.summary).toMatchObject({ published: true, status: 'declared' });
    expect(read('out')).toBe('input\ndeclared\n');
  });
});

describe('a folder node_modules that the command makes', () => {
  const RESULTS =
    'mkdir -p lib/node_modules/.vite/vitest; echo {} > lib/node_modules/.vite/vitest/results.json';
  const kept = () => shop.has('lib/node_modules');

  test('for caches alone is gone afterwards, as in a fresh clone, and no finding', async () => {
    shop.write('lib/in.txt', 'x\n');
    const ran = await run(`cat in.txt > out; ${RESULTS}`, '--inputs=observed');
    expect(ran.summary, ran.stderr).toMatchObject({ published: true });
    expect(ran.summary.findings).toBeUndefined();
    expect(kept()).toBe(false);
    const looked = 'ls lib > out; test -e lib/node_modules && echo yes >> out; true';
    expect((await run(looked)).summary.published).toBe(true);
    expect((await run(`cat in.txt > out; ${RESULTS}`, '--inputs=observed')).summary.outcome).toBe(
      'hit-local',
    );
    expect((await run(looked)).summary.outcome).toBe('hit-local');
  });

  test.each([
    ['holds something else', `${RESULTS}; echo > lib/node_modules/own`],
    ['holds the dependencies of a development server', `${RESULTS}; mkdir lib/node_modules/.vite/deps`],
    ['is empty, and never held a cache', 'mkdir -p lib/node_modules'],
  ])('stays if it %s', async (_, script) => {
    shop.write('lib/in.txt', 'x\n');
    expect((await run(`cat in.txt > out; ${script}`)).code).toBe(0);
    expect(kept()).toBe(true);
  });

  test('stays if it was there before, or holds declared state', async () => {
    shop.write('lib/node_modules/.vite/vitest/results.json', '{}\n');
    expect((await run(`cat in.txt > out; ${RESULTS}`)).code).toBe(0);
    expect(kept()).toBe(true);
    rmSync(join(shop.workspace, 'lib/node_modules'), { recursive: true });
    expect((await run(`cat in.txt > out; ${RESULTS}`, '--state', 'lib/node_modules/.vite')).code).toBe(0);
    expect(kept()).toBe(true);
  });
});

test('no step takes away what nobody declared in node_modules/.cache', async () => {
  shop.write('node_modules/.cache/browsers/chrome', 'a browser\n');
  shop.write('node_modules/.cache/webpack/0.pack', 'a pack\n');
  shop.write('app.tsbuildinfo', 'of an editor\n');
  const ran = await run('cat node_modules/.cache/browsers/chrome > out');
  expect(ran.code, ran.stderr).toBe(0);
  shop.script('bin/webpack', 'cat node_modules/.cache/browsers/chrome > out');
  expect((await shop.run([...declared('--input', 'bin/webpack'), 'bin/webpack'])).code).toBe(0);
  expect(read('out')).toBe('a browser\n');
  expect(read('node_modules/.cache/browsers/chrome')).toBe('a browser\n');
  expect(read('node_modules/.cache/webpack/0.pack')).toBe('a pack\n');
  expect(read('app.tsbuildinfo')).toBe('of an editor\n');
});

test.each<[string, [string, ...string[]]]>([
  ['npx', ['npx', '--no-install', 'eslint']],
  ['a shell line', ['sh', '-ec', 'true && FORCE=1 eslint .']],
  ['a script of package.json', ['npm', 'run', '--silent', 'lint']],
  ['a module of Python', ['python3', '-m', 'pytest', '-q']],
  ['its file', ['node', 'node_modules/eslint/bin/eslint.js', '--cache']],
])('a tool is known behind %s', (_, command) => {
  shop.write('package.json', JSON.stringify({ scripts: { lint: 'npm run lint:js', 'lint:js': 'eslint .' } }));
  const caches = new OwnedCaches({ ...REQUEST, workspace: shop.workspace, command });
  expect(caches.has(parseRelPath(command.includes('pytest') ? '.pytest_cache/v' : '.eslintcache'))).toBe(
    true,
  );
});

test.each<[string, [string, ...string[]]]>([
  ['an argument', ['cat', 'eslint']],
  ['an argument of a script', ['node', 'build.js', 'eslint']],
  ['another cache', ['eslint', '.']],
])('%s gives a command no tool’s cache', (_, command) => {
  const caches = new OwnedCaches({ ...REQUEST, workspace: shop.workspace, command });
  expect(caches.has(parseRelPath(command[0] === 'eslint' ? 'a.tsbuildinfo' : '.eslintcache'))).toBe(false);
});

test('a killed run’s caches are back after the next run of the tool', async () => {
  shop.write('.pytest_cache/v/cache/lastfailed', 'old\n');
  shop.script(
    'bin/pytest',
    'mkdir -p .pytest_cache; echo new > .pytest_cache/README.md; : > began',
    'sleep 60',
  );
  const flags = ['--input', 'in.txt', '--', 'bin/pytest'];
  const run = spawn(FORMS[DEFAULT_FORM][0], [...FORMS[DEFAULT_FORM].slice(1), 'run', ...flags], {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
  });
  await expect.poll(() => shop.has('began'), { timeout: 20_000 }).toBe(true);
  expect(shop.has('.pytest_cache/v')).toBe(false);
  const ended = once(run, 'exit');
  run.kill('SIGKILL');
  await ended;
  shop.script('bin/pytest', 'test ! -e .pytest_cache');
  expect((await shop.run(flags)).code).toBe(0);
  expect(read('.pytest_cache/v/cache/lastfailed')).toBe('old\n');
  expect(read('.pytest_cache/README.md')).toBe('new\n');
  expect([shop.workspace, shop.folder].map((folder) => existsSync(assayFolder(folder)))).toEqual([
    false,
    false,
  ]);
});

test('a cache in another folder that a command reads and changes is no base for a result', async () => {
  shop.write('sub/.eslintcache', 'old\n');
  const ran = await run('cat sub/.eslintcache > out; echo new > sub/.eslintcache');
  expect(ran.summary).toMatchObject({ published: false });
  expect(ran.summary.notPublished).toContain('sub/.eslintcache and then changed it');
  expect(ran.summary.notPublished).toContain('Name eslint in the command, or turn its cache off');
});

test('a step does not take away the cache of a step that runs in the same folder', async () => {
  const until = (file: string) => `while [ ! -e ${file} ]; do sleep 0.05; done`;
  shop.script('bin/eslint', ': > started; : > b');
  const steps = {
    slow: {
      command: `echo mine > .eslintcache; : > ready; ${until('started')}; cat .eslintcache > a`,
      outputs: ['a'],
    },
    ready: { command: until('ready'), cache: false },
    second: { command: 'bin/eslint', outputs: ['b'], dependsOn: ['ready'] },
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

test('cargo’s folder is set aside if an output lies in it, and the rest of it comes back', async () => {
  shop.write('Cargo.toml', '');
  shop.write('target/debug/deps/old.rlib', 'old');
  shop.write('target/release/app', 'of a person');
  shop.script(
    'bin/cargo',
    'ls target 2>/dev/null || true',
    'mkdir -p target/debug/deps; echo lib > target/debug/deps/new.rlib; echo app > target/debug/app',
  );
  const flags = ['--input', 'Cargo.toml', '--input', 'bin/cargo', '--output', 'target/debug/app', '--'];
  const ran = await shop.run([...flags, 'bin/cargo']);
  expect(ran.stdout).toBe('');
  expect(ran.summary).toMatchObject({ published: true, status: 'declared' });
  expect(read('target/debug/deps/old.rlib')).toBe('old');
  expect(read('target/debug/deps/new.rlib')).toBe('lib\n');
  expect(read('target/release/app')).toBe('of a person');
});
