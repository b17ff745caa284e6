// --cache-failures=local: a watched failure is kept on this machine alone, and never for long.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('in', 'one');
});
afterEach(() => shop.remove());

const configure = (command: string, more: object = {}) =>
  shop.write(
    'assay.json',
    JSON.stringify({ steps: { test: { command: ['sh', '-c', command], inputs: ['in'], ...more } } }),
  );
/** Prints a message on standard error first. */
const counted = (rest: string) => `echo "the message" >&2; ${rest}`;
const test1 = (...flags: readonly string[]) => runSteps(shop, [...flags, 'test']);
const failures = join('client', 'failures');
const notes = () => readdirSync(join(shop.store, failures));

test('a failure is replayed with its log, marked, and --force runs it', async () => {
  configure(counted('cat in; exit 3'));
  const first = await test1('--cache-failures=local');
  expect(first).toMatchObject({ code: 3, ends: { test: { outcome: 'failed', exitCode: 3 } } });
  expect(first.ends.test?.replayed).toBeUndefined();
  expect(first.ends.test?.notPublished).toBe('it failed; the failure is kept on this machine for a day');
  const again = await test1('--cache-failures=local');
  expect(again).toMatchObject({ code: 3, ends: { test: { exitCode: 3, replayed: true } } });
  expect(again.ends.test?.reason).toMatch(
    /^it failed less than a minute ago, and that is kept on this machine/,
  );
  const logs = again.events.filter(({ type }) => type === 'step-log');
  // The order of two streams that are both full is nobody's promise.
  expect(logs.map(({ text }) => text).sort()).toEqual(['one', 'the message\n']);
  expect((await test1('--cache-failures=local', '--force')).ends.test?.replayed).toBeUndefined();
  expect((await test1()).ends.test?.replayed, 'a run that did not ask for it').toBeUndefined();
  shop.write('in', 'two');
  expect((await test1('--cache-failures=local')).ends.test?.replayed, 'another input').toBeUndefined();
});

test('a success for the same facts comes before a failure', async () => {
  const dice = {
    command: ['bash', '-c', 'exit $((RANDOM % 2 * 5))'],
    inputs: ['in'],
    cacheFailures: 'local',
  };
  shop.write('assay.json', JSON.stringify({ steps: { test: dice } }));
  const codes = new Set<number | null>();
  while (codes.size < 2) codes.add((await test1('--force')).code);
  expect(notes()).toHaveLength(1);
  expect((await test1()).ends.test).toMatchObject({ outcome: 'hit-local', exitCode: 0 });
});

test('a note is taken for a day, and one that is torn, from the future or without its blobs is a miss', async () => {
  configure(counted('exit 3'), { cacheFailures: 'local' });
  await test1();
  const [name = ''] = notes();
  const file = join(shop.store, failures, name);
  const text = readFileSync(file, 'utf8');
  const note: { result: string; at: number } = JSON.parse(text);
  const isReplayed = async (content: string) => {
    writeFileSync(file, content);
    const { ends, code } = await test1();
    expect(code).toBe(3);
    return ends.test?.replayed ?? false;
  };
  const at = (milliseconds: number) => JSON.stringify({ ...note, at: note.at + milliseconds });
  expect(await isReplayed(text)).toBe(true);
  expect(await isReplayed(at(-25 * 60 * 60 * 1000))).toBe(false);
  expect(await isReplayed(at(60 * 60 * 1000))).toBe(false);
  expect(await isReplayed(text.slice(0, 20))).toBe(false);
  expect(await isReplayed(JSON.stringify({ ...note, result: 'a'.repeat(64) }))).toBe(false);
});

test.each([
  ['a signal', 'kill -9 $$'],
  ['a signal that a shell reports', 'exit 137'],
  ['a timeout', 'timeout 0.01 sleep 5'],
])('a failure by %s is not kept', async (_, command) => {
  configure(command, { cacheFailures: 'local' });
  const { ends } = await test1();
  expect(ends.test).toMatchObject({ outcome: 'failed' });
  expect(notes).toThrow('ENOENT');
});

test.each([
  ['nobody watched', { command: ['sh', '-c', 'exit 4'], hermetic: 'off' }],
  [
    'nothing proves',
    { command: ['bash', '-c', 'exec 3<>/dev/tcp/127.0.0.1/1; exit 4'], keepUnproven: 'local' },
  ],
])('a failure that %s is not kept', async (_, step) => {
  shop.write(
    'assay.json',
    JSON.stringify({ steps: { test: { ...step, inputs: [], cacheFailures: 'local' } } }),
  );
  expect((await test1()).ends.test).toMatchObject({ exitCode: 4, outcome: 'failed' });
  expect(notes).toThrow('ENOENT');
});

test('no remote gets a kept failure, and no other clone takes it from one', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  try {
    configure(counted('exit 3'), { cacheFailures: 'local' });
    const remote = ['--remote', server.url];
    await test1(...remote);
    expect((await test1(...remote)).ends.test?.replayed).toBe(true);
    const elsewhere = await runSteps(shop, [...remote, '--store', join(shop.folder, 'other'), 'test']);
    expect(elsewhere.ends.test?.replayed).toBeUndefined();
  } finally {
    await server.stop();
  }
});

test('a kept failure touches no output', async () => {
  configure('test "$(cat in)" = one && cp in made', { outputs: ['made'], cacheFailures: 'local' });
  expect((await test1()).code).toBe(0);
  shop.write('in', 'two');
  for (const replayed of [undefined, true]) {
    expect((await test1()).ends.test?.replayed).toBe(replayed);
    expect(readFileSync(join(shop.workspace, 'made'), 'utf8')).toBe('one');
  }
});

test('a command without a step keeps its failure too, and no state outlives it', async () => {
  const args = [
    'run',
    '--cache-failures=local',
    '--input',
    'in',
    '--json',
    '--',
    'sh',
    '-c',
    'cat in; exit 3',
  ];
  const reason = async () =>
    JSON.parse((await shop.assay(args)).stderr.trimEnd().split('\n').at(-1) ?? '').reason;
  expect(await reason()).toBe('no earlier run');
  expect(await reason()).toContain('is kept on this machine');
  const [name = ''] = notes();
  writeFileSync(join(shop.store, failures, name), '');
  expect(await reason()).toContain('it failed before');
});
