// `assay run --sandbox`: a command sees its declaration and installed software, and nothing else; what it
// makes comes back only where it is declared.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RanWithSummary, type RunOptions, Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input\n');
  shop.write('secret.txt', 's\n');
});

afterEach(() => shop.remove());

const FLAGS = ['--sandbox', '--input', 'in.txt', '--output', 'out'];

function run(
  script: string,
  flags: readonly string[] = [],
  options: RunOptions = {},
): Promise<RanWithSummary> {
  return shop.run([...FLAGS, ...flags, '--', 'sh', '-c', script], options);
}

const made = (path = 'out') => readFileSync(join(shop.workspace, path), 'utf8');

test('a command sees its declared inputs at a fixed path, and nothing else of the machine', async () => {
  const script =
    'pwd; ls; id -u; hostname; umask; ls -A "$HOME" "$TMPDIR"; cat /etc/passwd; ls /proc | grep -c "^[0-9]"';
  const ran = await run(`seen=$(${script}); echo "$seen" > out`);
  expect(ran.summary).toMatchObject({ published: true, status: 'declared' });
  const [where, names, user, host, umask] = made().split('\n');
  expect([where, names, user, host, umask]).toEqual(['/workspace', 'in.txt', '1000', 'assay', '0022']);
  expect(made()).not.toContain('root:');
  expect(readdirSync(shop.workspace).sort()).toEqual(['in.txt', 'out', 'secret.txt']);
});

test('an undeclared file does not exist, so a command that needs it fails', async () => {
  const ran = await run('cat in.txt secret.txt > out');
  expect(ran).toMatchObject({ code: 1, summary: { published: false } });
});

test('other files that it writes are dropped, and its inputs stay unchanged', async () => {
  const ran = await run('echo changed > in.txt; echo x > stray; cp in.txt out');
  expect(ran.summary).toMatchObject({ published: true, status: 'declared' });
  expect([made(), made('in.txt'), existsSync(join(shop.workspace, 'stray'))]).toEqual([
    'changed\n',
    'input\n',
    false,
  ]);
});

test('the next run is a hit; the same command outside has another key', async () => {
  const first = await run('cat in.txt > out');
  const second = await run('cat in.txt > out');
  expect(second.summary).toMatchObject({ outcome: 'hit-local', status: 'declared', key: first.summary.key });
  const outside = await shop.run([
    '--input',
    'in.txt',
    '--output',
    'out',
    '--',
    'sh',
    '-c',
    'cat in.txt > out',
  ]);
  expect(outside.summary.outcome).toBe('miss');
  expect(outside.summary.key).not.toBe(first.summary.key);
});

test('a failing command leaves its earlier output in place', async () => {
  await run('cat in.txt > out');
  expect((await run('exit 4')).code).toBe(4);
  expect(made()).toBe('input\n');
});

test('the working directory may be below the workspace, and the output is streamed', async () => {
  shop.write('sub/a', 'a\n');
  const ran = await shop.run([
    ...FLAGS,
    '--input',
    'sub/a',
    '--cwd',
    'sub',
    '--',
    'sh',
    '-c',
    'pwd; cat a ../in.txt | tee ../out',
  ]);
  expect(ran.stdout).toBe('/workspace/sub\na\ninput\n');
  expect(made()).toBe('a\ninput\n');
});

describe('tools', () => {
  test('of the workspace keep their relative path, others their absolute one', async () => {
    shop.write('node_modules/lib/package.json', '{"version":"1.0.0"}');
    shop.write('node_modules/lib/data', 'd1\n');
    shop.write(
      'node_modules/lib/bin/lib',
      '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../data"\n',
      0o755,
    );
    shop.link('node_modules/.bin/lib', '../lib/bin/lib');
    const folder = join(shop.folder, 'tools', 'bin');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'mytool'), '#!/bin/sh\necho mine\n', { mode: 0o755 });
    const env = { PATH: `${join(shop.workspace, 'node_modules/.bin')}:${folder}:${process.env.PATH}` };
    const build = () =>
      run('(lib; mytool) > out; command -v lib', ['--tool', 'lib', '--tool', 'mytool'], { env });
    const first = await build();
    expect(first.summary).toMatchObject({ outcome: 'miss', published: true });
    expect(made()).toBe('d1\nmine\n');
    expect(first.stdout).toBe('/assay/bin/lib\n');
    expect((await build()).summary.outcome).toBe('hit-local');
    shop.write('node_modules/lib/data', 'd2\n');
    expect((await build()).summary.outcome).toBe('miss');
    expect(made()).toBe('d2\nmine\n');
  });

  test('a compiler works in it', async () => {
    shop.write('main.c', '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n');
    const flags = [
      '--sandbox',
      '--hermetic=strict',
      '--input',
      'main.c',
      '--output',
      'app',
      '--',
      'cc',
      '-o',
      'app',
      'main.c',
    ];
    expect(await shop.run(flags)).toMatchObject({ code: 0, summary: { status: 'declared' } });
    expect(execFileSync(join(shop.workspace, 'app'), { encoding: 'utf8' })).toBe('hi\n');
  });
});

test('works for an unprivileged user', async () => {
  execFileSync('chmod', ['-R', 'a+rwX', shop.folder]);
  const ran = await shop.assayAsOrdinaryUser(['run', ...FLAGS, '--', 'sh', '-c', 'cat in.txt > out; id -u']);
  expect(ran).toMatchObject({ code: 0, stdout: '1000\n' });
  expect(made()).toBe('input\n');
});

test('without a working sandbox nothing runs, and the error has a hint', async () => {
  const bin = join(shop.folder, 'bin');
  mkdirSync(bin);
  const noNamespaces = '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n';
  writeFileSync(join(bin, 'bwrap'), noNamespaces, { mode: 0o755 });
  const ran = await shop.assay(['run', ...FLAGS, '--', 'sh', '-c', 'echo ran; echo x > out'], {
    env: { PATH: `${bin}:${process.env.PATH}` },
  });
  expect(ran).toMatchObject({ code: 125, stdout: '' });
  expect(ran.stderr).toContain('ASSAY_NO_SANDBOX: bwrap: No permissions to create new namespace');
  expect(ran.stderr).toContain('allow user namespaces');
  expect(shop.has('out')).toBe(false);
});

test('cannot be combined with observed inputs', async () => {
  const ran = await shop.assay(['run', '--sandbox', '--inputs=observed', '--', 'true']);
  expect(ran).toMatchObject({ code: 125 });
});
