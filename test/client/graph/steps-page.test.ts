// The examples of docs/STEPS.md work: the configuration loads, and the commands run.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../../docs/STEPS.md'), 'utf8');
const CONFIG = /```jsonc\n(.*?)```/s.exec(PAGE)?.[1] ?? '';

/** Two columns: the command and its effect. These two need a workspace without a file, or do not end. */
const COMMANDS = [...PAGE.matchAll(/^ {4}assay (.*?)(?: {2,}.*| > g\.html .*)$/gm)]
  .map(([, command = '']) => command)
  .filter((command) => command !== 'init' && !command.includes('--watch'));

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

test('the configuration of docs/STEPS.md loads, and every command succeeds', async () => {
  expect(COMMANDS.length).toBeGreaterThan(6);
  const scripts = { build: 'mkdir dist && cp src/a dist/a', test: 'cat dist/a test/a' };
  const add = (folder: string, dependencies: object) => {
    const name = folder.replace('libs/', '');
    shop.write(`${folder}/package.json`, JSON.stringify({ name, scripts, dependencies }));
    shop.write(`${folder}/src/a`, folder);
    shop.write(`${folder}/test/a`, folder);
  };
  add('web', { core: '1' });
  add('libs/core', {});
  shop.write('package.json', JSON.stringify({ workspaces: ['web', 'libs/*'] }));
  shop.write('package-lock.json', '{}');
  shop.write('.gitignore', 'dist\n');
  shop.write('assay.json', CONFIG.replace('biome check .', 'true'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: shop.workspace });
  git('init', '--quiet', '--initial-branch=main');
  git('add', '.');
  git('commit', '--quiet', '--message', 'all');
  shop.write('web/src/a', 'changed');
  // `assay init test` reads what builds made.
  expect((await shop.assay(['run', 'build'])).code).toBe(0);
  for (const command of COMMANDS) {
    const args = command.split(' ').map((word) => word.replaceAll("'", ''));
    const ran = await shop.assay(args);
    expect([command, ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([command, 0, '']);
  }
});
