// `assay bazel-worker` through its protocol. examples/bazel-worker does the same with a real Bazel.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  DEFAULT_FORM,
  FORMS,
  type Form,
  RUNTIME_FORMS,
  runProcess,
  Workshop,
} from '../../../test/rig/assay.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { BAZEL } from '../limits.ts';
import { BazelDriver, encodeRequest, inputOf, type SentInput } from './bazel.ts';

let shop: Workshop;
const started: BazelDriver[] = [];

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'some words');
  shop.script(
    'tools/shout.sh',
    'while [ $# -gt 0 ]; do',
    '  case $1 in --in) in=$2; shift 2;; --out) out=$2; shift 2;; --also) echo also > "$2"; shift 2;; --fail) echo broken >&2; exit 3;; *) shift;; esac',
    'done',
    'tr a-z A-Z < "$in" > "$out"',
    'echo said; echo aside >&2',
  );
});

afterEach(() => {
  for (const bazel of started.splice(0)) bazel.child.kill('SIGKILL');
  shop.remove();
});

function start(form: Form = DEFAULT_FORM, flags = ['--output-flag=--out']): BazelDriver {
  const args = ['--store', shop.store, ...flags, '--', 'tools/shout.sh'];
  const bazel = new BazelDriver(args, { cwd: shop.workspace, form });
  started.push(bazel);
  return bazel;
}

const ARGS = ['--in', 'in.txt', '--out', 'out/made.txt'];
const inputs = (...paths: string[]): SentInput[] =>
  ['tools/shout.sh', 'in.txt', ...paths].map((path) => inputOf(shop.workspace, path));
const made = () => readFileSync(join(shop.workspace, 'out/made.txt'), 'utf8');

/** Bazel does this before each action. */
function removeOutputs(): void {
  rmSync(join(shop.workspace, 'out'), { recursive: true, force: true });
  mkdirSync(join(shop.workspace, 'out'));
}

async function build(bazel: BazelDriver, args: readonly string[] = ARGS, sent = inputs()) {
  removeOutputs();
  return bazel.request(args, sent);
}

const outcomes = ({ log }: BazelDriver) =>
  [...log.matchAll(/^assay: (hit-local|miss|uncached)/gm)].map(([, outcome]) => outcome);

describe.each(RUNTIME_FORMS)('%s', (form) => {
  test('a repeated request does not run the tool; its output files and messages are the same', async () => {
    const bazel = start(form);
    const first = await build(bazel);
    expect(first).toEqual({ exitCode: 0, output: 'said\naside\n' });
    expect(made()).toBe('SOME WORDS');
    const second = await build(bazel);
    expect(second).toEqual(first);
    expect(made()).toBe('SOME WORDS');
    await bazel.close();
    expect(outcomes(bazel)).toEqual(['miss', 'hit-local']);
  });

  test('a signal ends the tool and the worker', async () => {
    shop.script(
      'tools/shout.sh',
      'trap "echo ended > ended; exit 1" TERM',
      'echo > began',
      'sleep 60 & wait',
    );
    const bazel = start(form);
    bazel.write(encodeRequest(ARGS, inputs()));
    await vi.waitUntil(() => shop.has('began'), { timeout: 90_000 });
    bazel.child.kill('SIGTERM');
    await bazel.ended;
    expect([bazel.child.signalCode, shop.has('ended')]).toEqual(['SIGTERM', true]);
  });
});

test('another worker hits this worker’s results, and a changed input or argument misses', async () => {
  await build(start());
  const bazel = start();
  await build(bazel);
  shop.write('in.txt', 'other words');
  await build(bazel);
  expect(made()).toBe('OTHER WORDS');
  await build(bazel, [...ARGS, '--ignored']);
  await bazel.close();
  expect(outcomes(bazel)).toEqual(['hit-local', 'miss', 'miss']);
  expect(bazel.log).toContain('in.txt changed');
});

test('a tool that is replaced while the worker runs gets a new key', async () => {
  const bazel = start();
  const sent = [inputOf(shop.workspace, 'in.txt')];
  await build(bazel, ARGS, sent);
  shop.script('tools/shout.sh', 'cp in.txt out/made.txt');
  await build(bazel, ARGS, sent);
  expect(made()).toBe('some words');
  await bazel.close();
  expect(outcomes(bazel)).toEqual(['miss', 'miss']);
});

test('the tool finds the programs of its package', async () => {
  shop.write('package.json', '{"name": "one"}');
  shop.script('node_modules/.bin/helper', 'echo helped');
  shop.script('tools/shout.sh', 'helper > out/made.txt');
  expect(await build(start())).toMatchObject({ exitCode: 0 });
  expect(made()).toBe('helped\n');
});

test('a worker on another machine hits a shared result', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  try {
    const shared = (store: string) => {
      const flags = ['--store', join(shop.folder, store), '--remote', server.url, '--output-flag=--out'];
      const bazel = new BazelDriver([...flags, '--', 'tools/shout.sh'], { cwd: shop.workspace });
      started.push(bazel);
      return bazel;
    };
    const [one, two] = [shared('one'), shared('two')];
    const first = await build(one);
    expect(await build(two)).toEqual(first);
    expect(made()).toBe('SOME WORDS');
    await two.close();
    expect(two.log).toMatch(/^assay: hit-remote/m);
  } finally {
    await server.stop();
  }
});

test('a request with an input without digest is never looked up or published', async () => {
  const bazel = start();
  const blind: SentInput[] = [...inputs().slice(0, 1), { path: 'in.txt' }];
  for (const words of ['some words', 'other words']) {
    shop.write('in.txt', words);
    expect((await build(bazel, ARGS, blind)).exitCode).toBe(0);
    expect(made()).toBe(words.toUpperCase());
  }
  await build(bazel);
  await bazel.close();
  expect(outcomes(bazel)).toEqual(['uncached', 'uncached', 'miss']);
});

test.each<[string, (sent: SentInput[]) => SentInput[]]>([
  ['no inputs at all', () => []],
  ['a digest that is not SHA-256', ([first]) => (first ? [{ ...first, digest: 'abcd' }] : [])],
  ['a path that leaves the workspace', (sent) => [...sent, { path: '../x', digest: 'a'.repeat(64) }]],
  ['an absolute path', (sent) => [...sent, { path: '/etc/hostname', digest: 'a'.repeat(64) }]],
  ['a missing file', (sent) => [...sent, { path: 'nosuch', digest: 'a'.repeat(64) }]],
  ['a folder', (sent) => [...sent, { path: 'tools', digest: 'a'.repeat(64) }]],
])('a request with %s runs, uncached', async (_name, spoil) => {
  const bazel = start();
  for (let count = 0; count < 2; count++) {
    expect((await build(bazel, ARGS, spoil(inputs()))).exitCode).toBe(0);
    expect(made()).toBe('SOME WORDS');
  }
  await bazel.close();
  expect(outcomes(bazel)).toEqual(['uncached', 'uncached']);
});

test('a request with a wrong digest publishes nothing that others could hit', async () => {
  const bazel = start();
  const lie = [...inputs().slice(0, 1), { path: 'in.txt', digest: 'a'.repeat(64) }];
  await build(bazel, ARGS, lie);
  await build(bazel, ARGS, lie);
  await bazel.close();
  expect(outcomes(bazel)).toEqual(['miss', 'miss']);
  expect(bazel.log.match(/not stored/g)).toHaveLength(2);
});

test('a failing tool runs again, and its messages are in the response', async () => {
  const bazel = start();
  for (let count = 0; count < 2; count++) {
    expect(await build(bazel, [...ARGS, '--fail'])).toEqual({ exitCode: 1, output: 'broken\n' });
  }
  await bazel.close();
  expect(outcomes(bazel)).toEqual(['miss', 'miss']);
});

test('an unnamed output prevents publishing', async () => {
  const bazel = start();
  const args = [...ARGS, '--also', 'out/also.txt'];
  await build(bazel, args);
  await build(bazel, args);
  expect(existsSync(join(shop.workspace, 'out/also.txt'))).toBe(true);
  expect(outcomes(bazel)).toEqual(['miss', 'miss']);
  const named = start(DEFAULT_FORM, ['--output-flag=--out', '--output-flag=--also']);
  await build(named, args);
  await build(named, args);
  expect(existsSync(join(shop.workspace, 'out/also.txt'))).toBe(true);
  await named.close();
  expect(outcomes(named)).toEqual(['miss', 'hit-local']);
});

test('--assay-output names an output and is not passed to the tool', async () => {
  shop.script('tools/shout.sh', 'echo "$@" > out/made.txt');
  const bazel = start(DEFAULT_FORM, []);
  const args = ['--assay-output=out/made.txt', 'a'];
  await build(bazel, args);
  expect(made()).toBe('a\n');
  await build(bazel, args);
  await bazel.close();
  expect(made()).toBe('a\n');
  expect(outcomes(bazel)).toEqual(['miss', 'hit-local']);
});

test('a request that arrives in pieces is processed when it is complete', async () => {
  const bazel = start();
  const bytes = encodeRequest(ARGS, inputs());
  for (let broken = 1; broken < bytes.length; broken += Math.ceil(bytes.length / 12)) {
    removeOutputs();
    bazel.write(bytes.subarray(0, broken));
    await new Promise(setImmediate);
    bazel.write(bytes.subarray(broken));
    expect(await bazel.response()).toEqual({ exitCode: 0, output: 'said\naside\n' });
  }
  await bazel.close();
  expect(new Set(outcomes(bazel).slice(1))).toEqual(new Set(['hit-local']));
});

test.each([
  ['garbage', Buffer.alloc(20, 0xff)],
  ['a request above the limit', Buffer.from([0xff, 0xff, 0xff, 0x7f, 1, 2, 3])],
  ['half a request', encodeRequest(['a'.repeat(100)], []).subarray(0, 50)],
  ['an invalid message', Buffer.from([3, 0xff, 0xff, 0xff])],
  ['a message with an argument longer than itself', Buffer.from([4, 0x0a, 0x7f, 0x61, 0x61])],
])('%s ends the worker with an error message', async (_name, bytes) => {
  const bazel = start();
  bazel.write(bytes);
  const { code, stderr } = await bazel.close();
  expect(stderr).toContain('ASSAY_BAD_WIRE');
  expect(code).toBe(125);
});

test('the output of a tool is truncated at the limit', async () => {
  const [tenth, times] = [BAZEL.maxOutputBytes / 8, 10];
  shop.script('tools/shout.sh', `for i in $(seq ${times}); do head -c ${tenth} /dev/zero | tr '\\0' a; done`);
  const { exitCode, output } = await build(start());
  expect(exitCode).toBe(0);
  expect(output.length).toBeLessThan(BAZEL.maxOutputBytes + 200);
  expect(output.slice(-100)).toContain(`wrote more than ${BAZEL.maxOutputBytes} bytes`);
});

test('an unusable store costs only the hits', async () => {
  const args = [
    '--store',
    join(shop.write('a-file', ''), 'store'),
    '--output-flag=--out',
    '--',
    'tools/shout.sh',
  ];
  const bazel = new BazelDriver(args, { cwd: shop.workspace });
  started.push(bazel);
  for (let count = 0; count < 2; count++) expect((await build(bazel)).exitCode).toBe(0);
  expect((await bazel.close()).code).toBe(0);
  expect(outcomes(bazel)).toEqual(['miss', 'miss']);
});

test('without --persistent_worker the tool runs once, with the arguments of the param file', async () => {
  shop.write('request.params', `${ARGS.join('\n')}\n`);
  removeOutputs();
  const command = [...FORMS[DEFAULT_FORM], 'bazel-worker', '--output-flag=--out', '--', 'tools/shout.sh'];
  const ran = await shop.assay([...command.slice(2), '@request.params']);
  expect(ran.code, ran.stderr).toBe(0);
  // The tool's two streams are read apart: either may come first.
  expect(ran.stdout.trim().split('\n').sort()).toEqual(['aside', 'said']);
  expect(made()).toBe('SOME WORDS');
  const failed = await runProcess([...command, '--fail'], { cwd: shop.workspace, env: {} });
  expect(failed.code).toBe(3);
});
