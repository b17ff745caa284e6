// A result that holds now and has other outputs is a divergence, also if the two runs looked at other paths.
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hasRival } from '../../../client/path-sets/rivals.ts';
import { digestOf } from '../../../core/digest.ts';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';
import { contentOf, resultNaming, resultWith } from '../../store/content.ts';

const [OWN, OTHER] = ['own', 'other'].map((name) => digestOf(Buffer.from(name)));
const A = resultNaming(digestOf(contentOf('a', 10)));
const B = resultNaming(digestOf(contentOf('b', 10)));
const FAILED = resultWith({ exitCode: 1 });
const SET = [
  {
    root: 'workspace',
    path: 'a',
    names: false,
    state: 'absent',
    left: '',
    without: [],
    lens: '',
    shown: [],
    note: '',
  },
];

async function* only<T>(...items: T[]): AsyncGenerator<T> {
  yield* items;
}

test.each([
  ['other outputs', { key: OTHER, set: SET }, B, true],
  ['the same outputs', { key: OTHER, set: SET }, A, false],
  ['no result', { key: OTHER, set: SET }, undefined, false],
  ['other outputs under the same key', { key: OWN, set: SET }, B, false],
  ['other outputs without a path set', { key: OTHER }, B, false],
  ['a failure', { key: OTHER, set: SET }, FAILED, false],
])('%s', async (_what, { key, ...rest }, stored, isRival) => {
  if (!key || !OWN) throw new Error('no key');
  const found = only({ key, ...rest });
  expect(await hasRival({ key: OWN.hash, result: A }, found, async () => stored)).toBe(isRival);
});

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
});

afterEach(() => shop.remove());

/** Its output and the name that it looks for differ in every run, by the clock. */
const SCRIPT = 'n=$(date +%s%N); test -e "look-$n"; echo $n > out';

async function run(...flags: string[]) {
  const command = ['--inputs=observed', '--output', 'out', '--', 'sh', '-c', SCRIPT];
  return (await shop.run([...flags, ...command])).summary;
}

test('in the local store', async () => {
  expect(await run()).toMatchObject({ outcome: 'miss', published: true });
  expect(await run('--force')).toMatchObject({ outcome: 'miss', published: false, diverged: true });
  expect(await run()).toMatchObject({ outcome: 'hit-local' });
});

test.each(['http', 'grpc'])('at a remote, over %s', async (protocol) => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  try {
    const remote = server.url.replace(/^http/, protocol);
    const at = (store: string) => ['--remote', remote, '--store', join(shop.folder, store)];
    expect(await run(...at('one'))).toMatchObject({ outcome: 'miss', published: true, shared: true });
    const second = await run(...at('two'), '--force');
    expect(second).toMatchObject({ outcome: 'miss', published: true, shared: false, diverged: true });
    expect(await run(...at('three'))).toMatchObject({ outcome: 'hit-remote' });
  } finally {
    await server.stop();
  }
});

test('a run with the same outputs is none', async () => {
  const script = 'n=$(date +%s%N); test -e "look-$n"; echo made > out';
  const command = ['--inputs=observed', '--output', 'out', '--', 'sh', '-c', script];
  for (const flags of [[], ['--force'], ['--force']]) {
    const { summary } = await shop.run([...flags, ...command]);
    expect(summary).toMatchObject({ outcome: 'miss', published: true });
  }
});
