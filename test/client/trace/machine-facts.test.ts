// Two machines, each with a workspace at another path and a store of its own, and one remote. A result is
// taken at another path, unless an output contains the path of the workspace.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RanWithSummary, type RunOptions, Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { inNamespaces } from '../../rig/users.ts';
import { FIRST_RUN, factIs } from '../run/misses.ts';

let shop: Workshop;
let server: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(`${shop.folder}/server`);
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

type Files = Readonly<Record<string, string>>;

interface Machine {
  readonly workspace: string;
  run(...args: string[]): Promise<RanWithSummary>;
}

function machine(name: string, path: string, files: Files, options: RunOptions = {}): Machine {
  const workspace = join(shop.folder, name, path);
  mkdirSync(workspace, { recursive: true });
  for (const [file, content] of Object.entries(files)) shop.write(file, content, 0o755, workspace);
  const flags = ['--remote', server.url, '--store', join(shop.folder, name, 'store')];
  return { workspace, run: (...args) => shop.run([...flags, ...args], { cwd: workspace, ...options }) };
}

/** The outcome of the second machine, after the first has run the same. */
async function elsewhere(files: Files, args: readonly string[], options: RunOptions = {}) {
  const one = machine('one', 'checkout', files, options);
  const two = machine('two', 'deeper/somewhere-else', files, options);
  const first = await one.run(...args);
  expect(first.summary).toMatchObject({ outcome: 'miss', published: true, shared: true });
  const second = await two.run(...args);
  return { one, two, first, second, outcome: second.summary.outcome, reason: second.summary.reason };
}

const PYTHON = ['--env', 'PYTHONDONTWRITEBYTECODE=1', '--input', 'make.py', '--output', 'out'];
const python = (...lines: string[]): Files => ({ 'make.py': ['import os', ...lines, ''].join('\n') });

const pathIn = (output: string) =>
  factIs("the workspace's path", 'another', `and ${output} contains it: run with --sandbox`);

describe('gcc -g', () => {
  const FILES = { 'a.c': 'int a(void) { return 1; }\n' };
  const compile = (...flags: string[]) => ['--input', 'a.c', '--output', 'a.o', '--', 'gcc', '-g', ...flags];

  test('at another path is a miss that names the output and the flag', async () => {
    const { outcome, reason, two } = await elsewhere(FILES, compile('-c', 'a.c', '-o', 'a.o'));
    expect(outcome).toBe('miss');
    expect(reason).toBe(
      factIs("the workspace's path", 'another', 'and a.o contains it: compile with -ffile-prefix-map=$PWD=.'),
    );
    rmSync(join(two.workspace, 'a.o'));
    const again = await two.run(...compile('-c', 'a.c', '-o', 'a.o'));
    expect(again.summary.outcome).toBe('hit-local');
    expect(readFileSync(join(two.workspace, 'a.o')).includes(two.workspace)).toBe(true);
  });

  test('with that flag is a hit', async () => {
    const shell = ['--input', 'a.c', '--output', 'a.o', '--', 'sh', '-c'];
    const { outcome } = await elsewhere(FILES, [...shell, 'gcc -g -ffile-prefix-map=$PWD=. -c a.c -o a.o']);
    expect(outcome).toBe('hit-remote');
  });

  test('without debug information is a hit', async () => {
    const args = ['--input', 'a.c', '--output', 'a.o', '--', 'gcc', '-c', 'a.c', '-o', 'a.o'];
    expect((await elsewhere(FILES, args)).outcome).toBe('hit-remote');
  });
});

describe('an output with the path of the workspace', () => {
  test.each([
    ['as it is', `open('out', 'w').write(os.getcwd())`],
    ['with escaped slashes', `open('out', 'w').write(os.getcwd().replace('/', '\\\\/'))`],
    ['as UTF-16', `open('out', 'wb').write(os.getcwd().encode('utf-16'))`],
    ['in a folder', `os.mkdir('out'); open('out/b', 'w').write('b'); open('out/a', 'w').write(os.getcwd())`],
    ['in a name', `os.makedirs('out' + os.getcwd()); open('out' + os.getcwd() + '/x', 'w').write('x')`],
    [
      'across two pieces of a large file',
      `at = (1 << 20) * 20 - 10; open('out', 'wb').write(b'x' * at + os.getcwd().encode() + b'\\n' + b'y' * at)`,
    ],
  ])('%s is a miss at another path', async (_, line) => {
    const { outcome, reason, one } = await elsewhere(python(line), [...PYTHON, '--', 'python3', 'make.py']);
    expect(outcome).toBe('miss');
    expect(['out', 'out/a'].map(pathIn)).toContain(reason);
    rmSync(join(one.workspace, 'out'), { recursive: true });
    expect((await one.run(...PYTHON, '--', 'python3', 'make.py')).summary.outcome).toBe('hit-local');
  });

  test('is a miss in another workspace of the same store too', async () => {
    const args = ['--output', 'out', '--', 'sh', '-c', 'pwd > out'];
    const [a, b] = [shop.another('a'), shop.another('b')];
    expect((await shop.run(args, { cwd: a })).summary.outcome).toBe('miss');
    expect((await shop.run(args, { cwd: b })).summary).toMatchObject({
      outcome: 'miss',
      reason: pathIn('out'),
    });
    for (const folder of [a, b]) {
      rmSync(join(folder, 'out'));
      expect((await shop.run(args, { cwd: folder })).summary.outcome).toBe('hit-local');
      expect(readFileSync(join(folder, 'out'), 'utf8')).toBe(`${folder}\n`);
    }
  });
});

test('a command whose output depends on no path is a hit at another path', async () => {
  const args = [...PYTHON, '--', 'python3', 'make.py'];
  const { outcome } = await elsewhere(python(`open('out', 'w').write('the same everywhere')`), args);
  expect(outcome).toBe('hit-remote');
});

test('a path in the log alone is a hit, and the log has the path of this workspace', async () => {
  const lines = [
    `import sys`,
    `open('out', 'w').write('the same')`,
    `print('in', os.getcwd(), '/workspace', flush=True)`,
    `print(os.getcwd() + '/make.py:1: careful', file=sys.stderr, flush=True)`,
    `os.write(1, os.getcwd()[:9].encode()); os.write(1, os.getcwd()[9:].encode() + b'\\n')`,
  ];
  const { one, two, first, second, outcome } = await elsewhere(python(...lines), [
    ...PYTHON,
    '--',
    'python3',
    'make.py',
  ]);
  expect(outcome).toBe('hit-remote');
  expect(second.stdout).toBe(first.stdout.replaceAll(one.workspace, two.workspace));
  expect(second.stdout).toContain(`in ${two.workspace} /workspace\n${two.workspace}\n`);
  expect(second.stderr).toContain(`${two.workspace}/make.py:1: careful\n`);
  const again = await two.run(...PYTHON, '--', 'python3', 'make.py');
  expect(again.summary.outcome).toBe('hit-local');
  expect(again.stdout).toBe(second.stdout);
  const here = await one.run(...PYTHON, '--', 'python3', 'make.py');
  expect(here.stdout).toBe(first.stdout);
});

test('two runs at different paths that differ in the log’s path alone have one result', async () => {
  const args = ['--output', 'out', '--', 'sh', '-c', 'pwd; pwd >&2; echo made > out'];
  const one = machine('one', 'checkout', {});
  const two = machine('two', 'deeper/somewhere-else', {});
  await one.run(...args);
  const alone = ['--store', join(shop.folder, 'two', 'store'), ...args];
  expect((await shop.run(alone, { cwd: two.workspace })).summary.outcome).toBe('miss');
  const shown = async (name: string, key: string) => {
    const { stdout } = await shop.assay(['show', '--json', '--store', join(shop.folder, name, 'store'), key]);
    const { stdoutBytes, stderrBytes, outputs } = JSON.parse(stdout).result;
    return { stdoutBytes, stderrBytes, outputs };
  };
  const { key } = (await two.run(...args)).summary;
  expect(await shown('two', key)).toEqual(await shown('one', key));
});

test('the home folder in an output is a miss for a user with another', async () => {
  const home = join(shop.folder, 'some-home');
  const run = (HOME: string) =>
    shop.run(['--output', 'out', '--', 'sh', '-c', `echo ${home}/.cache > out`], { env: { HOME } });
  expect((await run(home)).summary.outcome).toBe('miss');
  rmSync(join(shop.workspace, 'out'));
  expect((await run(home)).summary.outcome).toBe('hit-local');
  expect((await run(join(shop.folder, 'other-home'))).summary).toMatchObject({
    outcome: 'miss',
    reason: factIs('the home folder', 'another', 'and out contains it'),
  });
});

test('the host name in an output is a miss on another host', async () => {
  const on = async (host: string, script: string) => {
    const named = [...inNamespaces('--uts'), 'sh', '-c', 'hostname "$0" && exec "$@"', host];
    const ran = await shop.assayIn(named, ['run', '--json', '--output', 'out', '--', 'sh', '-c', script]);
    const { outcome, reason } = JSON.parse(ran.stderr.trimEnd().split('\n').at(-1) ?? '');
    return outcome === 'miss' ? `miss: ${reason}` : outcome;
  };
  expect(await on('build-host-7', 'uname -n > out')).toBe(`miss: ${FIRST_RUN}`);
  expect(await on('build-host-7', 'uname -n > out')).toBe('hit-local');
  expect(await on('build-host-71', 'uname -n > out')).toBe(
    `miss: ${factIs('the host name', 'another', 'and out contains it')}`,
  );
  expect(readFileSync(join(shop.workspace, 'out'), 'utf8')).toBe('build-host-71\n');
  expect(await on('build-host-7', 'uname -n > /dev/null; echo build-host-71 > out')).toMatch('miss');
  expect(await on('build-host-8', 'uname -n > /dev/null; echo build-host-71 > out')).toBe('hit-local');
});
