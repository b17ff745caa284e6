// `--affected` must not miss a step: one that it leaves out is silently not built. And its errors,
// if git cannot answer.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

const reading = (inputs: readonly string[]) => ({ command: 'true', inputs });

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  const steps = {
    program: { command: ['../tools/build'], cwd: 'folder', inputs: [] },
    tool: { command: 'found on path', inputs: [], tools: ['found'] },
    source: reading(['src/**']),
    module: reading(['module/file']),
    observed: { ...reading([]), observed: true },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  shop.script('tools/build', 'true');
  shop.script('bin/found', 'true');
  for (const name of ['src/a', 'src/b', 'folder/.keep', 'package-lock.json']) shop.write(name, name);
  const module = shop.another('module');
  writeFileSync(join(module, 'file'), 'one');
  commitAll(module);
  git(shop.workspace, 'init', '-q', '-b', 'main');
  git(shop.workspace, 'submodule', '--quiet', 'add', module, 'module');
  commitAll(shop.workspace);
});
afterEach(() => shop.remove());

function git(folder: string, ...args: readonly string[]): void {
  const settings = { 'user.name': 't', 'user.email': 't@t', 'protocol.file.allow': 'always' };
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  execFileSync('git', [...given, ...args], { cwd: folder });
}

function commitAll(folder: string): void {
  git(folder, 'init', '-q', '-b', 'main');
  git(folder, 'add', '-A');
  git(folder, 'commit', '-qm', 'all');
}

const path = (name: string) => join(shop.workspace, name);
const withTools = () => ({ PATH: `${path('bin')}:${process.env.PATH}` });
const affected = (ref = 'main') =>
  shop.assay(['run', '--dry-run', '--json', `--affected=${ref}`], { env: withTools() });

async function reached(): Promise<string[]> {
  const { stdout } = await affected();
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line): string => JSON.parse(line).step);
}

test.each<[string, () => void, string[]]>([
  ['nothing', () => {}, []],
  ['the program of a command', () => shop.script('tools/build', 'false'), ['program']],
  ['a removed program', () => rmSync(path('tools/build')), ['program']],
  ['a tool on PATH', () => shop.script('bin/found', 'false'), ['tool']],
  ['a submodule’s file', () => writeFileSync(path('module/file'), 'two'), ['module']],
  [
    'a submodule’s commit',
    () => {
      writeFileSync(path('module/file'), 'two');
      commitAll(path('module'));
    },
    ['module'],
  ],
  [
    'a nested repository that is not a submodule',
    () => cpSync(join(shop.folder, 'module'), path('src/inner'), { recursive: true }),
    ['source'],
  ],
  [
    'an input that only this clone ignores',
    () => {
      mkdirSync(path('.git/info'), { recursive: true });
      writeFileSync(path('.git/info/exclude'), 'local\n');
      shop.write('src/local', '');
    },
    ['source'],
  ],
  ['a .gitignore', () => shop.write('src/.gitignore', 'b\n'), ['source']],
  [
    'the lock file of packages',
    () => shop.write('package-lock.json', '{}'),
    ['program', 'tool', 'source', 'module', 'observed'],
  ],
])('--affected selects the steps that depend on a change: %s', async (_, change, steps) => {
  await shop.assay(['run', 'program', 'tool', 'source', 'module', 'observed'], { env: withTools() });
  change();
  expect(await reached()).toEqual(steps);
});

describe('--affected selects a step by its undeclared accesses:', () => {
  const undeclared = (command: string) => {
    shop.write('assay.json', JSON.stringify({ steps: { undeclared: { command, inputs: ['src/a'] } } }));
    commitAll(shop.workspace);
    return shop.assay(['run', 'undeclared']);
  };

  test.each<[string, string, () => void]>([
    ['a file', 'cat src/b', () => shop.write('src/b', 'two')],
    ['a file that was missing', 'cat src/c || true', () => shop.write('src/c', '')],
    ['a folder that was missing', 'cat new/c || true', () => shop.write('new/c', '')],
    ['a folder that it lists', 'ls src', () => shop.write('src/c', '')],
    ['a folder in one that it lists', 'ls', () => shop.write('new/c', '')],
  ])('%s', async (_, command, change) => {
    await undeclared(command);
    shop.write('folder/unrelated', '');
    expect(await reached()).toEqual([]);
    change();
    expect(await reached()).toEqual(['undeclared']);
  });

  test('a file, even if the last run failed and reported no accesses', async () => {
    await undeclared('cat src/b; test "$(cat src/a)" = src/a');
    shop.write('src/a', 'broken');
    expect(await shop.assay(['run', 'undeclared'])).toMatchObject({ code: 1 });
    git(shop.workspace, 'checkout', '-q', 'src/a');
    shop.write('src/b', 'two');
    expect(await reached()).toEqual(['undeclared']);
  });

  test('a file that it did not read when it last ran here', async () => {
    await undeclared('cat $(cat src/a)');
    shop.write('src/a', 'src/b');
    commitAll(shop.workspace);
    shop.write('src/b', 'two');
    expect(await reached()).toEqual(['undeclared']);
  });

  test('any, if the command was not watched', async () => {
    await undeclared('cat src/b');
    rmSync(shop.store, { recursive: true });
    await shop.assay(['run', '--hermetic=off', 'undeclared']);
    shop.write('src/b', 'two');
    expect(await reached()).toEqual(['undeclared']);
  });
});

describe('on a fresh runner', () => {
  let server: ServerProcess;
  beforeEach(async () => {
    server = await ServerProcess.start(join(shop.folder, 'server'));
    const steps = {
      build: { command: 'cat src/a src/b >out', inputs: ['src/a'], outputs: ['out'] },
      test: { command: 'cat out', inputs: ['out'], dependsOn: ['build'] },
      alone: { command: 'cat folder/.keep', inputs: ['src/a'] },
    };
    shop.write('assay.json', JSON.stringify({ steps }));
    shop.write('.gitignore', 'out\n');
    commitAll(shop.workspace);
    const ran = await shop.assay(['run', 'test', 'alone'], { env: { ASSAY_REMOTE: server.url } });
    expect(ran).toMatchObject({ code: 0 });
  });
  afterEach(() => server.kill());

  /** In a clone with an empty store. */
  async function stepsOf(change: (clone: string) => void, env: Readonly<Record<string, string>> = {}) {
    const clone = join(shop.folder, 'clone');
    git(shop.folder, 'clone', '-q', shop.workspace, clone);
    change(clone);
    const { stdout } = await shop.assay(['run', '--dry-run', '--json', '--affected=origin/main'], {
      cwd: clone,
      env: { ASSAY_STORE: join(shop.folder, 'fresh'), ...env },
    });
    const lines = stdout.split('\n').filter((line) => line !== '');
    return lines.map((line): string => JSON.parse(line).step);
  }
  const undeclared = (clone: string) => writeFileSync(join(clone, 'src/b'), 'two');
  const unrelated = (clone: string) => writeFileSync(join(clone, 'package-info'), '');

  test('a step whose reads nobody knows is affected by every change', async () => {
    expect(await stepsOf(undeclared)).toEqual(['build', 'test', 'alone']);
  });

  test('without a change nothing is', async () => {
    expect(await stepsOf(() => {})).toEqual([]);
  });

  test('the server knows the reads of a step whose declared inputs are there', async () => {
    const env = { ASSAY_REMOTE: server.url };
    expect(await stepsOf(undeclared, env)).toEqual(['build', 'test']);
    rmSync(join(shop.folder, 'clone'), { recursive: true });
    // The output of `build` is not there, so `test` has no key yet.
    expect(await stepsOf(unrelated, env)).toEqual(['build', 'test']);
  });

  test('the run says what it ran, and fails if the step does', async () => {
    const clone = join(shop.folder, 'clone');
    git(shop.folder, 'clone', '-q', shop.workspace, clone);
    rmSync(join(clone, 'src/b'));
    const ran = await shop.assay(['run', '--affected=origin/main', 'build'], {
      cwd: clone,
      env: { ASSAY_STORE: join(shop.folder, 'fresh'), ASSAY_REMOTE: server.url },
    });
    expect(ran).toMatchObject({ code: 1 });
  });
});

test.each<[string, string, () => void, string]>([
  ['an unknown commit', 'nosuch', () => {}, 'there is no commit "nosuch" here'],
  ['an option', '--output=x', () => {}, 'there is no commit "--output=x" here'],
  [
    'branches without a common commit',
    'main',
    () => {
      git(shop.workspace, 'checkout', '-q', '--orphan', 'other');
      git(shop.workspace, 'commit', '-qm', 'other');
    },
    'main and HEAD share no commit here; a shallow clone may need more history',
  ],
  ['no repository', 'main', () => rmSync(path('.git'), { recursive: true }), 'not a git repository'],
])('--affected reports what is wrong: %s', async (_, ref, spoil, words) => {
  spoil();
  const { code, stderr } = await affected(ref);
  expect(stderr).toContain(`ASSAY_USAGE: --affected failed: `);
  expect(stderr).toContain(words);
  expect(code).toBe(125);
});
