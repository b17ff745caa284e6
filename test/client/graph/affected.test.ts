// `--affected` must not miss a step: one that it leaves out is silently not built. And its errors,
// if git cannot answer.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadWorkspace } from '../../../client/config/workspace.ts';
import { affectedBy } from '../../../client/graph/affected.ts';
import { readSeenPaths } from '../../../client/graph/seen-paths.ts';
import { Workshop } from '../../rig/assay.ts';

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
const affected = (ref = 'main') =>
  shop.assay(['run', '--dry-run', '--json', `--affected=${ref}`], {
    form: 'bundle',
    env: { PATH: `${path('bin')}:${process.env.PATH}` },
  });

async function reached(): Promise<string[]> {
  const { stdout } = await affected();
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.map((line): string => JSON.parse(line).step);
}

test.each<[string, () => void, string[]]>([
  ['nothing', () => {}, []],
  ['the program of a command', () => shop.script('tools/build', 'false'), ['program', 'observed']],
  ['a removed program', () => rmSync(path('tools/build')), ['program', 'observed']],
  ['a tool on PATH', () => shop.script('bin/found', 'false'), ['tool', 'observed']],
  ['a submodule’s file', () => writeFileSync(path('module/file'), 'two'), ['module', 'observed']],
  [
    'a submodule’s commit',
    () => {
      writeFileSync(path('module/file'), 'two');
      commitAll(path('module'));
    },
    ['module', 'observed'],
  ],
  [
    'a nested repository that is not a submodule',
    () => cpSync(join(shop.folder, 'module'), path('src/inner'), { recursive: true }),
    ['source', 'observed'],
  ],
  [
    'an input that only this clone ignores',
    () => {
      mkdirSync(path('.git/info'), { recursive: true });
      writeFileSync(path('.git/info/exclude'), 'local\n');
      shop.write('src/local', '');
    },
    ['source', 'observed'],
  ],
  ['a .gitignore', () => shop.write('src/.gitignore', 'b\n'), ['source', 'observed']],
  [
    'the lock file of packages',
    () => shop.write('package-lock.json', '{}'),
    ['program', 'tool', 'source', 'module', 'observed'],
  ],
])('--affected selects the steps that depend on a change: %s', async (_, change, steps) => {
  change();
  expect(await reached()).toEqual(steps);
});

describe('--affected selects a step by its undeclared accesses:', () => {
  const reachedBySight = async () => {
    const { root, steps } = await loadWorkspace(shop.workspace);
    const change = { root, steps, caller: process.env };
    const seen = await readSeenPaths(shop.store, change);
    return [...affectedBy('main', { ...change, seen })];
  };
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
  ])('%s', async (_, command, change) => {
    await undeclared(command);
    expect(await reachedBySight()).toEqual([]);
    change();
    expect(await reachedBySight()).toEqual(['undeclared']);
    const { stdout } = await shop.assay(['run', '--affected=main', '--dry-run']);
    expect(stdout).toMatch(/^undeclared {2}miss/);
  });

  test('a file, even if the last run failed and reported no accesses', async () => {
    await undeclared('cat src/b; test "$(cat src/a)" = src/a');
    shop.write('src/a', 'broken');
    expect(await shop.assay(['run', 'undeclared'])).toMatchObject({ code: 1 });
    git(shop.workspace, 'checkout', '-q', 'src/a');
    shop.write('src/b', 'two');
    expect(await reachedBySight()).toEqual(['undeclared']);
  });

  test('none for a step that never ran', async () => {
    shop.write('src/b', 'two');
    expect(await reachedBySight()).toEqual(['source', 'observed']);
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
