// What people install stands alone: the bundle in its folder, the executable anywhere. (`npm test` builds
// both first.)
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { VERSION } from '../../core/version.ts';
import { FORMS, type Form, type Ran, runProcess } from '../rig/assay.ts';
import { ServerProcess } from '../rig/server.ts';

const DIST = join(import.meta.dirname, '../../dist');
const EXECUTABLE = join(DIST, 'assay');
const BUILT: readonly Form[] = ['bundle', 'executable'];

let folder = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'assay-build-')));
  mkdirSync(join(folder, 'workspace'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const workspace = () => join(folder, 'workspace');
const step = ['run', '--json', '--output', 'made', '--', '/usr/bin/touch', 'made'];
const run = (command: readonly string[], env: Record<string, string> = {}) =>
  runProcess(command, { cwd: workspace(), env: { ASSAY_STORE: join(folder, 'store'), ...env } });
const summary = ({ stderr }: Ran): { outcome: string; key: string } =>
  JSON.parse(stderr.trim().split('\n').at(-1) ?? '');

describe.each(BUILT)('the %s', (form) => {
  test('runs with an empty environment', async () => {
    const { code, stdout, stderr } = await runProcess([...FORMS[form], '--version'], { cwd: '/', env: {} });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: `assay ${VERSION}\n`, stderr: '' });
  });

  test('gives the key that the sources give, and finds what they stored', async () => {
    const fromSources = summary(await run([...FORMS.source, ...step]));
    expect(fromSources.outcome).toBe('miss');
    expect(summary(await run([...FORMS[form], ...step]))).toMatchObject({
      outcome: 'hit-local',
      key: fromSources.key,
    });
  });

  test('stores what the sources find', async () => {
    const built = summary(await run([...FORMS[form], ...step]));
    expect(built.outcome).toBe('miss');
    expect(summary(await run([...FORMS.source, ...step]))).toMatchObject({
      outcome: 'hit-local',
      key: built.key,
    });
  });

  test('serves', async () => {
    const server = await ServerProcess.start(join(folder, 'served'), { form });
    try {
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      expect((await fetch(`${server.url}/metrics`)).status).toBe(200);
    } finally {
      await server.stop();
    }
    expect(server.child.exitCode).toBe(0);
  });

  test('takes nothing from files that happen to lie where it is started', async () => {
    writeFileSync(join(workspace(), '.env'), `ASSAY_STORE=${join(folder, 'elsewhere')}\n`);
    writeFileSync(join(workspace(), 'bunfig.toml'), 'preload = ["./preload.js"]\n');
    writeFileSync(join(workspace(), 'preload.js'), 'process.exit(77);\n');
    const env = { HOME: folder };
    const ran = await runProcess([...FORMS[form], ...step], { cwd: workspace(), env });
    expect(ran.code).toBe(0);
    expect(existsSync(join(folder, 'elsewhere'))).toBe(false);
  });
});

describe('the executable’s server', () => {
  test('is Node, in the process that was started, and ends as that one should', async () => {
    const env = { NODE_OPTIONS: '--no-such-option' };
    const server = await ServerProcess.start(join(folder, 'served'), { form: 'executable', env });
    const running = readlinkSync(`/proc/${server.child.pid}/exe`);
    await server.stop();
    expect(running).toBe(realpathSync(join(DIST, 'node', 'node')));
    expect([server.child.exitCode, server.child.signalCode]).toEqual([0, null]);
  });

  test.each([
    ['bounds its memory from the start', {}, '2'],
    ['leaves a bound that its caller has set', { MALLOC_ARENA_MAX: '1' }, '1'],
  ])('%s', async (_title, env, arenas) => {
    const server = await ServerProcess.start(join(folder, 'bounded'), { form: 'executable', env });
    const environment = readFileSync(`/proc/${server.child.pid}/environ`, 'utf8').split('\0');
    await server.stop();
    expect(environment.filter((line) => line.startsWith('MALLOC_ARENA_MAX='))).toEqual([
      `MALLOC_ARENA_MAX=${arenas}`,
    ]);
  });

  test('says what is wrong with its flags, and its help, as ever', async () => {
    const odd = await run([EXECUTABLE, 'serve', '--no-such-flag']);
    expect(odd).toMatchObject({ code: 2, stderr: expect.stringContaining('assay: ASSAY_USAGE') });
    const help = await run([EXECUTABLE, 'serve', '--help']);
    expect(help).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining('assay serve [FLAGS]'),
    });
  });

  test('does not start where there is no Node, in words; all else needs none', async () => {
    const alone = join(folder, 'alone');
    cpSync(EXECUTABLE, alone);
    const ran = await run([alone, 'serve', '--port', '0']);
    expect(ran).toMatchObject({ code: 2, stdout: '' });
    expect(ran.stderr).toContain(
      `ASSAY_NO_NODE: the server runs on Node, but ${folder}/node/node does not exist`,
    );
    expect(summary(await run([alone, ...step])).outcome).toBe('miss');
  });
});

test('the bundle needs nothing beside its own folder', async () => {
  const moved = join(folder, 'moved');
  cpSync(join(DIST, 'node'), moved, { recursive: true });
  // No tracer lies beside it, so it keeps only what it is told to keep unproven.
  const entry = [process.execPath, join(moved, 'assay.cjs')];
  const command = [...entry, 'run', '--keep-unproven=local', ...step.slice(1)];
  expect(summary(await run(command)).outcome).toBe('miss');
  expect(summary(await run(command)).outcome).toBe('hit-local');
});

test('a run does not load the list of wings; the help does', async () => {
  cpSync(join(DIST, 'node'), join(folder, 'node'), { recursive: true });
  const lists = readdirSync(join(folder, 'node')).filter((name) => name.startsWith('wings-'));
  expect(lists).toHaveLength(1);
  for (const name of lists) rmSync(join(folder, 'node', name));
  const entry = [process.execPath, join(folder, 'node', 'assay.cjs')];
  expect(await run([...entry, ...step])).toMatchObject({ code: 0 });
  const help = await run([...entry, '--help']);
  expect(help).toMatchObject({ code: 2, stdout: '' });
  expect(help.stderr).toContain('assay: ASSAY_INCOMPLETE: Cannot find module');
});

/** What a hit opens beside the entry, in bytes. Code that comes to it must be code that hits call, or be loaded late (scripts/late.ts). */
const LARGEST = { start: 250_000, hit: 150_000, store: 190_000 };

test.each(Object.entries(LARGEST))('of the bundle, the file %s has at most %d bytes', (name, most) => {
  const sizes = readdirSync(join(DIST, 'node'))
    .filter((file) => new RegExp(`^${name}-[\\w-]{8}\\.cjs$`).test(file))
    .map((file) => statSync(join(DIST, 'node', file)).size);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(most);
  expect(Math.max(...sizes)).toBeGreaterThan(most / 2);
});

test('a bundle of which a file is gone says so, without a stack trace', async () => {
  cpSync(join(DIST, 'node'), join(folder, 'node'), { recursive: true });
  for (const name of readdirSync(join(folder, 'node')))
    if (name.startsWith('stats-')) rmSync(join(folder, 'node', name));
  const ran = await run([process.execPath, join(folder, 'node', 'assay.cjs'), 'stats']);
  expect(ran).toMatchObject({ code: 125, stdout: '' });
  expect(ran.stderr.split('\n')).toHaveLength(3);
  expect(ran.stderr).toContain('assay: ASSAY_INCOMPLETE: Cannot find module');
});

test('the bundle finds its code compiled already', () => {
  const [version = ''] = readdirSync(join(DIST, 'node', 'compiled'));
  expect(version).toContain(process.version);
  expect(readdirSync(join(DIST, 'node', 'compiled', version)).length).toBeGreaterThan(1);
});

test('the executable needs nothing of the machine but the C and C++ libraries', async () => {
  const libraries = [EXECUTABLE, join(DIST, 'node', 'lmdb.node')].flatMap(librariesOf);
  const room = [
    ...[...new Set(libraries)].flatMap((file) => ['--ro-bind', file, file]),
    ...['--ro-bind', EXECUTABLE, '/assay', '--ro-bind', `${EXECUTABLE}-trace`, '/assay-trace'],
    ...['--bind', join(folder, 'workspace'), '/workspace'],
    ...['--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp', '--clearenv', '--chdir', '/workspace'],
  ];
  const inside = (args: readonly string[]) =>
    runProcess(['bwrap', ...room, '/assay', ...args], { cwd: '/', env: { PATH: '/usr/bin:/bin' } });
  const versionStep = ['run', '--json', '--store', '/workspace/store', '--', '/assay', '--version'];
  const first = await inside(versionStep);
  expect(first).toMatchObject({ code: 0, stdout: `assay ${VERSION}\n` });
  expect(summary(first).outcome).toBe('miss');
  const second = await inside(versionStep);
  expect(second).toMatchObject({ code: 0, stdout: `assay ${VERSION}\n` });
  expect(summary(second)).toMatchObject({ outcome: 'hit-local', key: summary(first).key });
});

function librariesOf(file: string): string[] {
  return [...execFileSync('ldd', [file], { encoding: 'utf8' }).matchAll(/(\/\S+) \(0x/g)].flatMap(
    ([, path]) => path ?? [],
  );
}
