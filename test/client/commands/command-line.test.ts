// The command line: help, and clear refusals that do nothing.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { RUNTIME_FORMS, Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('--version and --help print to standard output', async () => {
    const version = await shop.assay(['--version'], { form });
    expect(version).toMatchObject({ code: 0, stderr: '' });
    expect(version.stdout).toMatch(/^assay \d+\.\d+\.\d+\n$/);
    expect(await shop.assay(['version'], { form })).toEqual(version);
    const help = await shop.assay(['--help'], { form });
    expect(help.stdout).toContain('assay COMMAND');
    for (const command of ['run', 'explain', 'show', 'clean', 'stats', 'init', 'serve']) {
      expect(help.stdout).toContain(`  ${command}`);
      const own = await shop.assay([command, '--help'], { form });
      expect(own).toMatchObject({ code: 0, stderr: '' });
      expect(own.stdout).toMatch(new RegExp(`^Usage: assay ${command} \\[FLAGS\\]`));
      expect(own.stdout).toContain('\nExit codes:\n');
    }
  });
});

test('--help after -- belongs to the wrapped command', async () => {
  const ran = await shop.run(['--', 'sh', '-c', 'echo "$1"', 'sh', '--help']);
  expect(ran.stdout).toBe('--help\n');
});

test.each<[string, string[], number, string]>([
  ['an unknown command', ['rnu'], 2, 'did you mean run?'],
  ['an unknown flag', ['run', '--inptu', 'x', '--', 'true'], 125, 'did you mean --input?'],
  [
    'a flag of commands for a step',
    ['run', '--hermetic=strict', 'a'],
    125,
    '--hermetic goes with `-- COMMAND`',
  ],
  ['a flag of steps for a command', ['run', '--dry-run', '--', 'true'], 125, '--dry-run goes with the steps'],
  ['--watch with --dry-run', ['run', '--watch', '--dry-run', 'a'], 125, 'can’t be combined'],
  ['no command', ['run', '--input', 'x'], 125, 'assay run [FLAGS] -- COMMAND'],
  ['an empty command', ['run', '--'], 125, 'assay run [FLAGS] -- COMMAND'],
  ['a command without --', ['run', 'true'], 125, 'assay run [FLAGS] -- COMMAND'],
  ['a stray argument before --', ['run', 'stray', '--', 'true'], 125, '"stray" is no flag'],
  ['a flag without its value', ['run', '--output', '--', 'true'], 125, '--output'],
  ['a value for a flag without one', ['run', '--force=yes', '--', 'true'], 125, 'takes no value'],
  ['a flag given twice', ['run', '--cwd', 'a', '--cwd', 'b', '--', 'true'], 125, 'given twice'],
  ['a missing folder', ['run', '--cwd', 'nosuch', '--', 'true'], 125, 'is not a folder'],
  ['a folder outside', ['run', '--cwd', '..', '--', 'true'], 125, 'ASSAY_BAD_PATH'],
  ['an output outside', ['run', '--output', '../x', '--', 'true'], 125, 'ASSAY_BAD_PATH'],
  ['an absolute output', ['run', '--output', '/tmp/x', '--', 'true'], 125, 'ASSAY_BAD_PATH'],
  ['the workspace as output', ['run', '--output', '.', '--', 'true'], 125, 'ASSAY_OUTPUT_OVERLAP'],
  [
    'an output inside another',
    ['run', '--output', 'a', '--output', 'a/b', '--', 'true'],
    125,
    'ASSAY_OUTPUT_OVERLAP',
  ],
  ['a remote with an unknown scheme', ['run', '--remote', 'ftp://x', '--', 'true'], 125, 'is not an http://'],
  ['a variable without a name', ['run', '--env', '=x', '--', 'true'], 125, 'not a variable name'],
  ['two arguments for explain', ['explain', 'what', 'why'], 2, 'takes one step or key'],
  ['an unknown key', ['explain', 'abcdef'], 2, 'no step or key "abcdef" was run'],
])('%s is refused with a message', async (_name, args, code, words) => {
  const ran = await shop.assay(args);
  expect(ran.code).toBe(code);
  expect(ran.stderr).toContain(words);
  expect(ran.stderr).toMatch(/^assay: ASSAY_[A-Z_]+: /);
  expect(ran.stderr).not.toMatch(/\n\s+at /);
  expect(ran.stdout).toBe('');
});

test('--cwd runs the command in a folder of the workspace, which is in the key', async () => {
  shop.write('sub/in', 'x');
  const flags = ['--input', 'sub/in', '--output', 'sub/out', '--output', 'up'];
  const inside = await shop.run([...flags, '--cwd', 'sub', '--', 'sh', '-c', 'cp in out; cp in ../up']);
  expect(inside).toMatchObject({ code: 0, summary: { outcome: 'miss', published: true } });
  const again = await shop.run([...flags, '--cwd', 'sub', '--', 'sh', '-c', 'cp in out; cp in ../up']);
  expect(again.summary.outcome).toBe('hit-local');
  const outside = await shop.run([...flags, '--', 'sh', '-c', 'cp in out; cp in ../up']);
  expect(outside.summary.key).not.toBe(inside.summary.key);
});

test('the order of flags is not in the key', async () => {
  shop.write('a', 'a');
  shop.write('b', 'b');
  const one = await shop.run([
    '--input',
    'a',
    '--input',
    'b',
    '--env',
    'X=1',
    '--env',
    'Y=2',
    '--tool',
    'ls',
    '--tool',
    'cp',
    '--',
    'true',
  ]);
  const two = await shop.run([
    '--tool',
    'cp',
    '--env',
    'Y=2',
    '--input',
    'b',
    '--env',
    'X=1',
    '--tool',
    'ls',
    '--input',
    'a',
    '--',
    'true',
  ]);
  expect(two.summary).toMatchObject({ outcome: 'hit-local', key: one.summary.key });
});

test('an unusable store does not fail the run', async () => {
  shop.write('file', 'x');
  const ran = await shop.run(['--store', `${shop.workspace}/file/store`, '--', 'echo', 'hi']);
  expect(ran).toMatchObject({ code: 0, stdout: 'hi\n' });
  expect(ran.summary).toMatchObject({ outcome: 'miss', published: false });
  expect(ran.summary.warnings.join()).toContain('the local store is not usable');
});

test('a refusal of the system is not called a bug of Assay', async () => {
  shop.write('file', 'x');
  const ran = await shop.assay(['verify', '--store', join(shop.workspace, 'file')]);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toMatch(/^assay: ASSAY_SYSTEM: ENOTDIR: .*\n +Check the permissions/);
});

test('an assay.json that is a pipe or a device is refused, not read', async () => {
  execFileSync('mkfifo', [join(shop.workspace, 'assay.json')]);
  shop.link('linked/assay.json', '/dev/zero');
  for (const folder of ['', 'linked']) {
    const ran = await shop.assay(['run', 'build'], { cwd: join(shop.workspace, folder) });
    expect(ran.code).toBe(125);
    expect(ran.stderr).toContain('ASSAY_CONFIG: assay.json: this is not a file');
  }
});

test('an assay.json that nests too deeply is refused', async () => {
  shop.write('assay.json', '['.repeat(200_000));
  const ran = await shop.assay(['run', 'build']);
  expect(ran.code).toBe(125);
  expect(ran.stderr).toContain('ASSAY_CONFIG: assay.json:1:1: the file nests too deeply');
});
