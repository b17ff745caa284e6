// Wrong hits that hostile testing found, each as the smallest run that showed it.
import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isSettled } from '../../client/files/settled.ts';
import { type Summary, Workshop } from '../rig/assay.ts';
import { untilThere } from '../rig/waiting.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

const path = (name: string) => join(shop.workspace, name);
const read = (name: string) => readFileSync(path(name), 'utf8');
const gate = (name: string) => join(shop.folder, name);
const open = (name: string) => writeFileSync(gate(name), '');
const sh = (script: string, ...flags: string[]) => shop.run([...flags, '--', 'sh', '-c', script]);

/** Resolves when the command reports that it has started. */
async function started(name: string): Promise<void> {
  while (!shop.has(name)) await wait(5);
}

test('.gitignore patterns are case-sensitive, as in git', async () => {
  shop.write('.gitignore', 'core\n');
  shop.write('src/Core/a', 'one');
  await sh('cat src/Core/a > out', '--input', 'src/**', '--output', 'out');
  shop.write('src/Core/a', 'two');
  expect((await sh('cat src/Core/a > out', '--input', 'src/**', '--output', 'out')).summary.outcome).toBe(
    'miss',
  );
});

test('a .gitignore that is a symbolic link is ignored, so it cannot hide inputs from the key', async () => {
  shop.write('rules', 'a\n');
  shop.link('.gitignore', 'rules');
  shop.write('src/a', 'one');
  await sh('cat src/a > out', '--input', 'src/**', '--output', 'out');
  shop.write('src/a', 'two');
  expect((await sh('cat src/a > out', '--input', 'src/**', '--output', 'out')).summary.outcome).toBe('miss');
});

test('a cached failure does not remove the output of an earlier success', async () => {
  const build = () =>
    sh('grep -q good in && cp in out', '--input', 'in', '--output', 'out', '--cache-failures');
  shop.write('in', 'good');
  await build();
  shop.write('in', 'bad');
  expect(await build()).toMatchObject({ code: 1, summary: { published: false } });
  rmSync(path('out'), { force: true });
  await build();
  expect(shop.has('out')).toBe(false);
});

test('a run whose tool was replaced meanwhile is not published under the old tool’s key', async () => {
  const tool = (text: string) => shop.write('bin/tool', `#!/bin/sh\necho ${text}\n`, 0o755);
  tool('old');
  const flags = ['--hermetic=off', '--tool', './bin/tool', '--output', 'out'];
  const running = sh(`echo > .started; ${untilThere(gate('go'))}; ./bin/tool > out`, ...flags);
  await started('.started');
  tool('new');
  open('go');
  expect((await running).summary).toMatchObject({
    published: false,
    notPublished: 'its tools changed while it ran',
  });
});

describe('a tool that somebody links while a command runs', () => {
  const TEXT = '#!/bin/sh\necho old\n';

  /** Runs the tool at `file`, and calls `meanwhile` with its path while the command runs. */
  async function summaryWith(file: string, meanwhile: (tool: string) => void): Promise<Summary> {
    const tool = shop.write(file, TEXT, 0o755);
    const flags = ['--hermetic=off', '--tool', `./${file}`, '--output', 'out'];
    const running = sh(`echo > .started; ${untilThere(gate('go'))}; ./${file} > out`, ...flags);
    await started('.started');
    meanwhile(tool);
    open('go');
    return (await running).summary;
  }
  const link = (tool: string) => linkSync(tool, gate('link'));
  const setTimesOf = (from: string, to: string) => execFileSync('touch', ['-r', from, to]);

  function rewrite(tool: string): void {
    link(tool);
    setTimesOf(tool, gate('times'));
    writeFileSync(tool, TEXT.replace('old', 'new'));
    setTimesOf(gate('times'), tool);
  }

  test('is the same, if it is a file of a package', async () => {
    expect(await summaryWith('node_modules/pkg/tool', link)).toMatchObject({ published: true });
  });

  test.each([
    ['another file', 'bin/tool', link],
    ['other content', 'node_modules/pkg/tool', rewrite],
    ['a touched file', 'node_modules/pkg/tool', (tool: string) => chmodSync(tool, 0o700)],
  ])('is not the same: %s', async (_, file, meanwhile) => {
    expect((await summaryWith(file, meanwhile)).notPublished).toBe('its tools changed while it ran');
  });
});

test('a run whose input changed and changed back meanwhile is not published', async () => {
  shop.write('in', 'A');
  const first = `echo > .started; ${untilThere(gate('changed'))}; cat in > out`;
  const second = `echo > .read; ${untilThere(gate('changed back'))}`;
  const running = sh(`${first}; ${second}`, '--hermetic=off', '--input', 'in', '--output', 'out');
  await started('.started');
  shop.write('in', 'B');
  open('changed');
  await started('.read');
  shop.write('in', 'A');
  open('changed back');
  expect((await running).summary).toMatchObject({
    published: false,
    notPublished: 'its inputs changed while it ran',
  });
});

test('two runs with the same output wait for each other, and neither seals the other’s output', async () => {
  const script = `echo "$MODE" > out; ${untilThere(gate('waiting'))}; echo "$MODE" >> out`;
  const build = (mode: string) =>
    shop.run(['--hermetic=off', '--env', `MODE=${mode}`, '--output', 'out', '--', 'sh', '-c', script], {
      onSaid: ({ stderr }) => stderr.includes('waiting for another run') && open('waiting'),
    });
  const [debug, release] = await Promise.all([build('debug'), build('release')]);
  expect([debug.summary.published, release.summary.published]).toEqual([true, true]);
  expect([debug, release].some(({ stderr }) => stderr.includes('waiting for another run'))).toBe(true);
  for (const mode of ['debug', 'release']) {
    expect((await build(mode)).summary.outcome).toBe('hit-local');
    expect(read('out')).toBe(`${mode}\n${mode}\n`);
  }
  expect(shop.has('.assay')).toBe(false);
});

test('a run that waited for the same action restores its result', async () => {
  const build = () => sh('echo part1 > out; sleep 0.5; echo part2 >> out', '--output', 'out');
  const first = build();
  while (!shop.has('out')) await wait(5);
  const second = build();
  expect((await first).summary.outcome).toBe('miss');
  expect((await second).summary.outcome).toBe('hit-local');
  expect(read('out')).toBe('part1\npart2\n');
});

test('the declared PATH decides which tool is in the key', async () => {
  shop.write('p/gzip', '#!/bin/sh\necho one\n', 0o755);
  const flags = ['--env', `PATH=${path('p')}:/usr/bin:/bin`, '--tool', 'gzip', '--output', 'out'];
  await sh('gzip > out', ...flags);
  shop.write('p/gzip', '#!/bin/sh\necho two\n', 0o755);
  expect((await sh('gzip > out', ...flags)).summary.outcome).toBe('miss');
  expect(read('out')).toBe('two\n');
});

test('swapping the program and a declared tool of the same name changes the key', async () => {
  shop.write('gen', '#!/bin/sh\necho B > ../out\n', 0o755);
  shop.write('sub/gen', '#!/bin/sh\necho A > ../out\n', 0o755);
  const build = () => shop.run(['--cwd', 'sub', '--tool', './gen', '--output', 'out', '--', './gen']);
  await build();
  renameSync(path('gen'), path('aside'));
  renameSync(path('sub/gen'), path('gen'));
  renameSync(path('aside'), path('sub/gen'));
  expect((await build()).summary.outcome).toBe('miss');
  expect(read('out')).toBe('B\n');
});

test('a working folder that is a link is keyed by its target', async () => {
  shop.write('one/f', '1');
  shop.write('two/f', '2');
  symlinkSync('one', path('here'));
  const build = () =>
    sh('cat f > ../out', '--input', 'one/**', '--input', 'two/**', '--cwd', 'here', '--output', 'out');
  await build();
  rmSync(path('here'));
  symlinkSync('two', path('here'));
  expect((await build()).summary.outcome).toBe('miss');
  expect(read('out')).toBe('2');
  symlinkSync('/etc', path('outside'));
  expect((await shop.assay(['run', '--cwd', 'outside', '--', 'true'])).code).toBe(125);
});

test('arguments and variables that are not UTF-8 are refused, not decoded into one key', async () => {
  const ran = await shop.assay(['run', '--', 'echo', 'x\ufffdy']);
  expect(ran).toMatchObject({ code: 125 });
  expect(ran.stderr).toContain('not UTF-8');
});

test('on a file system with whole-second mtimes, a file is trusted only after that second has passed', () => {
  const second = 1_700_000_000_000;
  const looked = second + 500;
  const stats = (time: number) => ({ mtimeMs: time, ctimeMs: time, ino: 1 });
  expect(isSettled(stats(second), looked)).toBe(false);
  expect(isSettled(stats(second), looked + 5000)).toBe(true);
  expect(isSettled(stats(second + 0.001), looked)).toBe(true);
});

test('a link to an undeclared file causes a warning', async () => {
  shop.write('real', '1');
  shop.link('cfg', 'real');
  const ran = await sh('cat cfg', '--input', 'cfg');
  expect(ran.summary.warnings.join()).toContain('cfg is a link to something that is not declared');
  const declared = await sh('cat cfg', '--input', 'cfg', '--input', 'real');
  expect(declared.summary.warnings).toEqual([]);
});

test('an output edited after its run is restored by the next run', async () => {
  await sh('echo right > out', '--output', 'out');
  await wait(60);
  await sh('echo right > out', '--output', 'out');
  writeFileSync(path('out'), 'wrong\n');
  await sh('echo right > out', '--output', 'out');
  expect(read('out')).toBe('right\n');
});
