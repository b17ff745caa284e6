// `assay reproduce` and `assay audit --reproduce` on real commands, as people use them.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, watch } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { DEFAULT_FORM, FORMS, type Form, type Ran, Workshop } from '../../../test/rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'in\n');
});

afterEach(() => shop.remove());

const FLAGS = ['--input', 'in.txt', '--output', 'out'];

interface Found {
  readonly findings: { kind: string; path?: string; detail?: string; fix?: string }[];
  readonly gaps: string[];
  readonly variations: { name: string; outcome: string; reason?: string }[];
}

const parsed = (ran: Ran): Found => JSON.parse(ran.stdout);
const kinds = ({ findings }: Found) => findings.map(({ kind }) => kind);

test('a result that never varies is reproducible, and the exit code is 0', async () => {
  const ran = await shop.assay(['reproduce', ...FLAGS, '--', 'cp', 'in.txt', 'out']);
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toMatch(/^reproducible: .*\n\nVaried in 4 runs, without effect: clock, random,/);
});

test('a dependence is reported with the first differing byte and a remedy', async () => {
  const ran = await shop.assay(['reproduce', ...FLAGS, '--', 'sh', '-c', 'echo made by $(hostname) > out']);
  expect(ran.code).toBe(3);
  expect(ran.stdout).toContain('not reproducible: 1 finding');
  expect(ran.stdout).toMatch(/host +out: differs at byte \d+: "made by .*" and "made by varied-host"/);
});

test('reproduce does not change the workspace, even under its full path', async () => {
  const look = () => [readdirSync(shop.workspace), statSync(join(shop.workspace, 'in.txt')).mtimeMs];
  const before = look();
  const script = `date > out; date > ${shop.workspace}/stray; rm in.txt`;
  const ran = await shop.assay(['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', script]);
  expect(kinds(parsed(ran))).toEqual(['time']);
  expect(look()).toEqual(before);
  expect(readFileSync(join(shop.workspace, 'in.txt'), 'utf8')).toBe('in\n');
});

test('a command that fails without an undeclared file proves nothing', async () => {
  shop.write('hidden.txt', 'h\n');
  const ran = await shop.assay(['reproduce', '--json', ...FLAGS, '--', 'cp', 'hidden.txt', 'out']);
  expect(ran.code).toBe(3);
  const { findings, gaps, variations } = parsed(ran);
  expect(findings).toEqual([]);
  expect(gaps[0]).toContain('the command ended with 1, so nothing could be compared:');
  expect(new Set(variations.map(({ outcome }) => outcome))).toEqual(new Set(['not tried']));
});

test('audit --reproduce also copies the undeclared files that it saw, and reports both', async () => {
  shop.write('hidden.txt', 'h\n');
  const ran = await shop.assay([
    'audit',
    '--reproduce',
    '--json',
    '--output',
    'out',
    '--',
    'sh',
    '-c',
    'cat hidden.txt > out; date >> out',
  ]);
  const found: Found & { hermetic: boolean; complete: boolean } = JSON.parse(ran.stdout);
  expect(found).toMatchObject({ hermetic: false, complete: true, exitCode: 0 });
  expect(kinds(found)).toEqual(['read', 'time']);
  expect(shop.has('out')).toBe(true);
});

test('audit --reproduce of an independent action finds it hermetic', async () => {
  const ran = await shop.assay(['audit', '--reproduce', ...FLAGS, '--', 'cp', 'in.txt', 'out']);
  expect(ran.code).toBe(0);
  expect(ran.stdout).toContain('declared: nothing undeclared was seen');
  expect(ran.stdout).toContain('Varied in 2 runs, without effect: clock');
});

test('a caller’s variable that matters is named, and its value is not shown', async () => {
  const ran = await shop.assay(
    ['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', 'echo "$FLAVOUR$MY_API_KEY" > out'],
    {
      env: { FLAVOUR: 'plum', MY_API_KEY: 'hush' },
    },
  );
  const { findings } = parsed(ran);
  expect(findings).toMatchObject([{ kind: 'env', path: 'out', fix: '--env FLAVOUR' }]);
  expect(ran.stdout + ran.stderr).not.toMatch(/plum|hush/);
});

test('the caller’s locale is a variable like any other', async () => {
  const ran = await shop.assay(['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', 'echo "$LANG" > out'], {
    env: { LANG: 'de_DE.UTF-8' },
  });
  expect(parsed(ran).findings).toMatchObject([{ kind: 'env', path: 'out', fix: '--env LANG' }]);
});

test('the fixed time zone and locale are varied, and are not reported', async () => {
  const ran = await shop.assay(['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', 'date -d @0 > out']);
  expect(ran.code).toBe(0);
  const zone = parsed(ran).variations.find(({ name }) => name === 'TZ');
  expect(zone).toMatchObject({ outcome: 'differs', reason: expect.stringContaining('in the key') });
});

test('a program of the workspace runs in the copy', async () => {
  shop.script('build.sh', 'dirname "$0" > out');
  const relative = await shop.assay(['reproduce', '--json', '--output', 'out', '--', './build.sh']);
  expect(kinds(parsed(relative))).toEqual(['cwd']);
});

test('reproduce works for an ordinary user', async () => {
  execFileSync('chmod', ['-R', 'a+rwX', shop.folder]);
  const script = 'id -u > out; echo $$ >> out; nproc >> out';
  const ran = await shop.assayAsOrdinaryUser(['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', script]);
  expect(kinds(parsed(ran)).sort(), ran.stderr).toEqual(['cpu', 'pid', 'uid']);
});

test('outputs without read permission are compared and removed', async () => {
  execFileSync('chmod', ['-R', 'a+rwX', shop.folder]);
  const script = 'mkdir -p out/d && date > out/d/f && chmod 0 out/d/f out/d';
  const ran = await shop.assayAsOrdinaryUser(['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', script]);
  expect(kinds(parsed(ran)), ran.stderr).toEqual(['time']);
});

test('without namespaces the other variations run, and the missing ones are reported', async () => {
  const without = ['unshare', '--user', '--map-root-user', 'sh', '-c'];
  const limits = 'for l in user pid mnt; do echo 0 > "/proc/sys/user/max_$l"_namespaces; done; exec "$@"';
  const script = 'hostname > out; id -u >> out; ls -U >> out';
  const ran = await shop.assayIn(
    [...without, limits, 'sh'],
    ['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', script],
  );
  const found = parsed(ran);
  expect(kinds(found), ran.stderr).toEqual(['host', 'uid', 'readdir-order']);
  expect(found.variations.find(({ name }) => name === 'pids')).toMatchObject({
    outcome: 'not tried',
    reason: expect.stringContaining('no namespaces here'),
  });
  expect(found.variations.find(({ name }) => name === 'random')?.reason).toContain(
    'tested for system calls only',
  );
});

test('a program of a package in the workspace finds its files, and cannot change them', async () => {
  shop.write('node_modules/lib/data', 'd');
  const body =
    'cat "$(dirname "$(readlink -f "$0")")/../data" > out; echo x > node_modules/lib/data || hostname >> out';
  shop.write('node_modules/lib/bin/lib', `#!/bin/sh\n${body}\n`, 0o755);
  shop.link('node_modules/.bin/lib', '../lib/bin/lib');
  const ran = await shop.assay(['reproduce', '--json', ...FLAGS, '--', 'node_modules/.bin/lib']);
  expect(kinds(parsed(ran)), ran.stdout).toEqual(['host']);
  expect(readFileSync(join(shop.workspace, 'node_modules/lib/data'), 'utf8')).toBe('d');
});

test('reproduce works if the workspace contains the temporary folder', async () => {
  mkdirSync(join(shop.workspace, 'tmp'));
  const ran = await shop.assay(
    ['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', 'cat in.txt > out; hostname >> out'],
    {
      env: { TMPDIR: join(shop.workspace, 'tmp') },
      // The executable unpacks its addon there.
      form: DEFAULT_FORM,
    },
  );
  expect(kinds(parsed(ran)), ran.stdout).toEqual(['host']);
  expect(readdirSync(join(shop.workspace, 'tmp'))).toEqual([]);
});

test('a signal ends all runs, and no files are left', async () => {
  const tmp = shop.another('tmp');
  const started = join(shop.folder, 'started');
  const script = `touch ${started}; sleep 60`;
  const child = spawn(
    FORMS[DEFAULT_FORM][0],
    [FORMS[DEFAULT_FORM][1], 'reproduce', ...FLAGS, '--', 'sh', '-c', script],
    {
      cwd: shop.workspace,
      env: { ...process.env, TMPDIR: tmp, ASSAY_STORE: shop.store },
      stdio: 'ignore',
    },
  );
  const ended = once(child, 'exit');
  const watcher = watch(shop.folder);
  while (!existsSync(started)) await once(watcher, 'change');
  watcher.close();
  child.kill('SIGINT');
  expect(await ended).toEqual([130, null]);
  expect(readdirSync(tmp)).toEqual([]);
});

test('several reproduce runs at once do not disturb each other', async () => {
  const scripts = ['echo $$ > out', 'cat in.txt > out', 'head -c 8 /dev/urandom | od > out', 'date > out'];
  const ran = await Promise.all(
    scripts.map((script) => shop.assay(['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', script])),
  );
  expect(ran.map((one) => kinds(parsed(one)))).toEqual([['pid'], [], ['random'], ['time']]);
});

test.each<Form>(['bundle', 'executable'])('the %s finds its helper', async (form) => {
  const ran = await shop.assay(['reproduce', '--json', ...FLAGS, '--', 'sh', '-c', 'hostname > out'], {
    form,
  });
  expect(kinds(parsed(ran)), ran.stderr).toEqual(['host']);
});

test('a step of assay.json is audited and reproduced by its name', async () => {
  shop.write(
    'assay.json',
    JSON.stringify({
      steps: { pack: { command: 'gzip -c in.txt > out', inputs: ['in.txt'], outputs: ['out'] } },
    }),
  );
  const reproduced = await shop.assay(['reproduce', '--json', 'pack']);
  expect(kinds(parsed(reproduced)), reproduced.stderr).toEqual(['mtime']);
  const audited = await shop.assay(['audit', '--reproduce', '--json', 'pack']);
  expect(kinds(JSON.parse(audited.stdout))).toEqual(['mtime']);
  const unknown = await shop.assay(['reproduce', 'pakc']);
  expect(unknown).toMatchObject({ code: 125, stdout: '' });
  expect(unknown.stderr).toContain('did you mean pack?');
});
