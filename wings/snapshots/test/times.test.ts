// State, saved files, and a tool that compares only mtimes, the real make. It must rebuild restored files: a
// file restored just now would look newer than sources that it was not made from.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';

const ACTION = ['--input', 'src', '--input', 'Makefile', '--output', 'app', '--state', 'obj'];
const YEAR = 365 * 24 * 3600;

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  makefile('app: src', '\tmkdir -p obj', '\tcp src obj/o', '\tcp obj/o app');
});

afterEach(() => shop.remove());

function makefile(...lines: readonly string[]): void {
  shop.write('Makefile', `${lines.join('\n')}\n`);
}

function make(cwd = shop.workspace) {
  return shop.run([...ACTION, '--', 'make'], { cwd });
}

function app(workspace = shop.workspace): string {
  return readFileSync(join(workspace, 'app'), 'utf8');
}

test('make builds an edit after a hit has replaced the outputs', async () => {
  shop.write('src', 'one');
  await make();
  shop.write('src', 'two');
  await make();
  shop.write('src', 'one');
  expect((await make()).summary.outcome).toBe('hit-local');
  shop.write('src', 'three');
  expect((await make()).code).toBe(0);
  expect(app()).toBe('three');
});

test('make builds a checkout that is older than the restored state', async () => {
  shop.write('src', 'one');
  await make();
  const other = shop.another('other');
  copyFileSync(join(shop.workspace, 'Makefile'), join(other, 'Makefile'));
  shop.write('src', 'two', 0o644, other);
  const lastYear = Date.now() / 1000 - YEAR;
  for (const name of ['src', 'Makefile']) utimesSync(join(other, name), lastYear, lastYear);
  expect((await make(other)).code).toBe(0);
  expect(app(other)).toBe('two');
});

test('make does not trust a stamp of a failed run beside restored files', async () => {
  makefile(
    'app: obj/stamp',
    '\tgrep -qv broken src',
    '\tcp obj/o app',
    'obj/stamp: src',
    '\tmkdir -p obj',
    '\tcp src obj/o',
    '\ttouch obj/stamp',
  );
  shop.write('src', 'one');
  await make();
  shop.write('src', 'broken');
  expect((await make()).code).not.toBe(0);
  shop.write('src', 'two');
  // As if it had been written before the failed run, and renamed here since.
  const before = statSync(join(shop.workspace, 'obj/stamp')).mtimeMs / 1000 - 1;
  utimesSync(join(shop.workspace, 'src'), before, before);
  expect((await make()).code).toBe(0);
  expect(app()).toBe('two');
});

test('files already in place keep their mtimes, so that make rebuilds nothing', async () => {
  shop.write('src', 'one');
  await make();
  for (const src of ['two', 'three', 'two']) {
    shop.write('src', src);
    await make();
  }
  const again = await make();
  expect(again.stdout).toContain('up to date');
  expect(app()).toBe('two');
});

test('an output that the command left unchanged gets a new mtime', async () => {
  shop.script('compile.sh', 'mkdir -p obj && cp src obj/o', '[ -e app ] || echo made > app');
  const action = ['--input', 'src', '--input', 'compile.sh', '--output', 'app', '--state', 'obj'];
  shop.write('src', 'one');
  await shop.run([...action, '--', 'sh', 'compile.sh']);
  rmSync(join(shop.workspace, 'app'));
  const reader = join(shop.workspace, 'reader');
  shop.write('reader', 'made of what was there before');
  shop.write('src', 'two');
  await shop.run([...action, '--', 'sh', 'compile.sh']);
  expect(app()).toBe('made\n');
  expect(statSync(join(shop.workspace, 'app')).mtimeMs).toBeGreaterThan(statSync(reader).mtimeMs);
});

test('make rebuilds files that `assay restore` took from another key', async () => {
  const run = () => execFileSync('make', { cwd: shop.workspace });
  shop.write('src', 'one');
  run();
  await shop.assay(['save', 'build-one', 'obj', 'app']);
  for (const path of ['obj', 'app']) rmSync(join(shop.workspace, path), { recursive: true });
  shop.write('src', 'two');
  const restored = await shop.assay([
    'restore',
    '--exit-code',
    'build-two',
    'obj',
    'app',
    '--fallback',
    'build-',
  ]);
  expect(restored.code).toBe(3);
  run();
  expect(app()).toBe('two');
});
