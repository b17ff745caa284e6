// A result that must not be published is not. The command's outcome stands, and the next run runs it again.
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { baseEnvironment, FORMS, runProcess, Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
});

afterEach(() => shop.remove());

const run = (script: string, ...flags: string[]) =>
  shop.run(['--input', 'in.txt', '--output', 'out', ...flags, '--', 'sh', '-c', script]);

describe('not published', () => {
  test.each([
    ['a command that fails', 'echo x > out; exit 3', 3, 'it ended with 3'],
    ['a command that a signal ends', 'echo x > out; kill -9 $$', 137, 'it was ended by SIGKILL'],
    ['a declared output that is missing', 'true', 0, 'its declared output out is missing'],
    [
      'inputs that change during the run',
      'echo x > out; echo more >> in.txt',
      0,
      'its inputs changed while it ran',
    ],
    [
      'an output that is a link out of the workspace',
      'ln -s /etc/passwd out',
      0,
      'link that leaves the workspace',
    ],
    [
      'a link in an output folder that climbs out',
      'mkdir out; ln -s ../../x out/l',
      0,
      'link that leaves the workspace',
    ],
    ['an output that is a pipe', 'mkfifo out', 0, 'out is a device, a socket or a pipe'],
  ])('%s', async (_name, script, exitCode, why) => {
    for (const _attempt of [1, 2]) {
      writeFileSync(join(shop.workspace, 'in.txt'), 'input');
      const { code, summary } = await run(script);
      expect(code).toBe(exitCode);
      expect(summary).toMatchObject({ outcome: 'miss', exitCode, published: false });
      expect(summary.notPublished).toContain(why);
    }
  });

  test.each([
    ['watched', 'source', '--hermetic=warn'],
    ['in strict mode', 'source', '--hermetic=strict'],
    ['unwatched', 'source', '--hermetic=off'],
    ['with --cache-failures', 'source', '--cache-failures'],
    ['watched, by the executable', 'executable', '--hermetic=warn'],
    ['unwatched, by the executable', 'executable', '--hermetic=off'],
    ['in a sandbox', 'source', '--sandbox'],
  ] as const)('a command that a real-time signal ends, %s', async (_name, form, flag) => {
    const args = ['--input', 'in.txt', '--output', 'out', flag];
    const command = ['sh', '-c', 'echo partial > out; kill -34 $$'];
    const { code, summary } = await shop.run([...args, '--', ...command], { form });
    expect({ code, ...summary }).toMatchObject({ code: 162, outcome: 'miss', published: false });
    expect(summary.notPublished).toMatch(/it was ended by signal 34|it ended with 162/);
  });

  test('a command that a real-time signal ended, if the helper is not installed', async () => {
    const copy = join(shop.folder, 'copy', 'node');
    cpSync(dirname(FORMS.bundle[1]), copy, { recursive: true });
    const assay = [process.execPath, join(copy, 'assay.cjs'), 'run', '--json', '--hermetic=off'];
    const env = { ...baseEnvironment(), ASSAY_STORE: shop.store };
    const ran = (script: string) =>
      runProcess([...assay, '--input', 'in.txt', '--output', 'out', '--', 'sh', '-c', script], {
        cwd: shop.workspace,
        env,
      });
    const ended = await ran('echo partial > out; kill -34 $$');
    expect(ended.code).toBe(162);
    expect(ended.stderr).toContain('"published":false');
    expect(ended.stderr).not.toContain('Real-time');
    expect((await ran('echo whole > out')).stderr).toContain('"published":true');
  });

  test('a command that leaves a process running, which a watched run ends', async () => {
    const script = 'echo x > out; (sleep 30 & echo $! > pid); echo said';
    const pid = () => Number(readFileSync(join(shop.workspace, 'pid'), 'utf8'));
    const watched = await run(script);
    expect(watched).toMatchObject({ code: 0, summary: { published: false } });
    expect(watched.summary.notPublished).toContain('left a process running');
    expect(() => process.kill(pid())).toThrow('ESRCH');
    const unwatched = await run(script, '--hermetic=off');
    expect(unwatched).toMatchObject({ code: 0, summary: { published: false } });
    expect(unwatched.summary.notPublished).toContain('left a process running');
    process.kill(pid());
  });
});

test('--cache-failures publishes and replays a failure', async () => {
  const first = await run('echo x > out; echo bad >&2; exit 3', '--cache-failures');
  expect(first.summary).toMatchObject({ outcome: 'miss', published: true, exitCode: 3 });
  const second = await run('echo x > out; echo bad >&2; exit 3', '--cache-failures');
  expect(second.summary).toMatchObject({ outcome: 'hit-local', exitCode: 3 });
  expect(second.code).toBe(3);
  expect(second.stderr).toContain('bad\n');
  const unasked = await run('echo x > out; echo bad >&2; exit 3');
  expect(unasked.summary.outcome).toBe('miss');
});

test('a command starts without its earlier outputs, so nothing stale is sealed', async () => {
  await run('mkdir out; cp in.txt out/a');
  writeFileSync(join(shop.workspace, 'out/stale'), 'x');
  await run('mkdir out; cp in.txt out/b');
  expect(existsSync(join(shop.workspace, 'out/stale'))).toBe(false);
  expect(existsSync(join(shop.workspace, 'out/a'))).toBe(false);
  expect(existsSync(join(shop.workspace, 'out/b'))).toBe(true);
});

test('a failing command that wrote no output leaves the earlier one in place', async () => {
  await run('echo good > out');
  const { code } = await run('exit 1');
  expect(code).toBe(1);
  expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).toBe('good\n');
});

test('an input under a declared output is refused before anything runs', async () => {
  shop.write('src/a', 'precious');
  const ran = await shop.assay(['run', '--input', 'src/**', '--output', 'src', '--', 'true']);
  expect(ran.code).toBe(125);
  expect(ran.stderr).toContain('ASSAY_OUTPUT_OVERLAP');
  expect(readFileSync(join(shop.workspace, 'src/a'), 'utf8')).toBe('precious');
});

test('--force runs a command whose result is stored, and stores no different one', async () => {
  const args = ['--input', 'in.txt', '--output', 'out', '--env', 'N', '--', 'sh', '-c'];
  await shop.run([...args, 'date +%N > out']);
  const first = readFileSync(join(shop.workspace, 'out'), 'utf8');
  expect((await shop.run([...args, 'date +%N > out'])).summary.outcome).toBe('hit-local');
  const forced = await shop.run(['--force', ...args, 'date +%N > out']);
  expect(forced.summary).toMatchObject({ outcome: 'miss', reason: 'forced', published: false });
  expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).not.toBe(first);
});
