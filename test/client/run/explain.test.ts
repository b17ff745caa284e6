// Explanations of misses.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('src/a', 'a');
  shop.write('src/deep/b', 'b');
});

afterEach(() => shop.remove());

interface Change {
  flags?: string[];
  command?: string[];
  env?: Record<string, string>;
}

const run = ({ flags = [], command = ['true'], env = {} }: Change = {}) =>
  shop.run(['--input', 'src/**', '--env', 'MODE', ...flags, '--', ...command], {
    env: { MODE: 'one', ...env },
  });

/** What changes, its reason in one line, and the line that `assay explain` lists if that one has values. */
test.each<[string, () => Change | undefined, string, string?]>([
  ['a changed input', () => void shop.write('src/deep/b', 'B'), 'src/deep/b changed'],
  ['a new input', () => void shop.write('src/new', 'n'), 'src/new was added'],
  ['a removed input', () => void rmSync(join(shop.workspace, 'src/a')), 'src/a was removed'],
  [
    'a removed folder',
    () => void rmSync(join(shop.workspace, 'src/deep'), { recursive: true }),
    'src/deep was removed',
  ],
  ['a mode', () => void shop.write('src/a', 'a', 0o755), 'src/a changed'],
  ['a variable', () => ({ env: { MODE: 'two' } }), 'the variable MODE changed', 'MODE one -> two'],
  ['a new variable', () => ({ flags: ['--env', 'X=1'] }), 'the variable X was added', 'X was added (1)'],
  ['a tool', () => ({ flags: ['--tool', 'ls'] }), 'the tool ls was added'],
  [
    'the command',
    () => ({ command: ['true', 'really'] }),
    'the command line changed',
    'command true -> true really',
  ],
])('%s', async (_name, change, reason, listed = reason) => {
  expect((await run()).summary.reason).toBe('no earlier run');
  const next = await run(change() ?? {});
  expect(next.summary).toMatchObject({ outcome: 'miss', reason });
  const { stdout, code } = await shop.assay(['explain']);
  expect(code).toBe(0);
  expect(stdout).toContain(`outcome  miss: ${reason}`);
  expect(stdout).toContain(`  ${listed}\n`);
});

test('several differences are counted in the line and listed in full', async () => {
  await run();
  shop.write('src/a', 'A');
  const next = await run({ env: { MODE: 'two' } });
  expect(next.summary.reason).toBe('the variable MODE changed (and 1 more)');
  const { stdout } = await shop.assay(['explain', '--json']);
  const { differences } = JSON.parse(stdout);
  expect(differences).toEqual([
    { kind: 'variable', name: 'MODE', before: 'one', after: 'two' },
    { kind: 'input', change: 'changed', path: 'src/a' },
  ]);
});

test('a program that never ran here is not compared with another one', async () => {
  await run();
  expect((await run({ command: ['ls'] })).summary.reason).toBe('no earlier run');
});

describe('a command that never ran is compared only with a similar one', () => {
  const shell = (line: string, ...flags: string[]) =>
    shop.run([...flags, '--', 'sh', '-c', line]).then(({ summary }) => summary.reason);

  test('another line for the same shell', async () => {
    await shell('kill -0 $$', '--output', 'x', '--input', 'src/a');
    expect(await shell('mkfifo f', '--output', 'y', '--input', 'src/deep')).toBe('no earlier run');
  });

  test.each<[string, [string, ...string[]], [string, ...string[]], string]>([
    ['an input', ['true one', '--input', 'src/a'], [': two', '--input', 'src/a'], 'the command line changed'],
    ['an output', ['touch x', '--output', 'x'], ['echo > x', '--output', 'x'], 'the command line changed'],
    ['most words', ['test 1 = 1'], ['test 1 = 1 -a 1'], 'the command line changed'],
    ['a program and nothing else', ['echo a b'], ['echo c d'], 'no earlier run'],
  ])('in common: %s', async (_, first, second, reason) => {
    await shell(...first);
    expect(await shell(...second)).toContain(reason);
  });
});

test('a hit is explained as a hit', async () => {
  await run();
  await run();
  expect((await shop.assay(['explain'])).stdout).toContain('outcome  hit-local: found in the local store');
});

test('a run that failed before is not "no earlier run"', async () => {
  await run({ command: ['false'] });
  const { summary } = await run({ command: ['false'] });
  expect(summary.reason).toBe('it failed before: it ended with 1');
  expect((await shop.assay(['explain'])).stdout).toContain(
    'outcome  miss: it failed before: it ended with 1',
  );
});

test('a run whose result was not published says why', async () => {
  const make = () => run({ flags: ['--output', 'out'] });
  await make();
  expect((await make()).summary.reason).toBe(
    'it ran before, but left no result: its declared output out is missing',
  );
});

test('a repeated miss says once why nothing is kept', async () => {
  const step = ['--input', 'src/**', '--output', 'out', '--', 'true'];
  const first = await shop.assay(['run', ...step]);
  expect(first.stderr).toMatch(/no earlier run; ran .*, not published: its declared output out is missing/);
  const again = await shop.assay(['run', ...step]);
  expect(again.stderr).toMatch(
    /left no result: its declared output out is missing; ran .*, not published again$/m,
  );
});

test('an earlier action that is no longer stored is not "no earlier run"', async () => {
  await run();
  for (const name of readdirSync(shop.store))
    if (name !== 'client') rmSync(join(shop.store, name), { recursive: true });
  shop.write('src/a', 'A');
  expect((await run()).summary.reason).toContain('the earlier action is no longer stored');
});

describe('with a remote', () => {
  let server: ServerProcess;

  beforeEach(async () => {
    server = await ServerProcess.start(`${shop.folder}/server`);
  });

  afterEach(() => server.stop());

  const steps = { copy: { command: 'cp src/a out', inputs: ['src/**'], outputs: ['out'] } };
  const at = (store: string) => ['--remote', server.url, '--store', `${shop.folder}/${store}`];

  test('the miss after a remote hit names what changed, in the dry run and in the run', async () => {
    shop.write('assay.json', JSON.stringify({ steps }));
    await runSteps(shop, [...at('one'), 'copy']);
    rmSync(join(shop.workspace, 'out'));
    expect((await runSteps(shop, [...at('two'), 'copy'])).outcomes).toEqual({ copy: 'hit-remote' });
    shop.write('src/deep/b', 'B');
    const foretold = await shop.assay(['run', '--dry-run', '--json', ...at('two'), 'copy']);
    expect(JSON.parse(foretold.stdout)).toMatchObject({ outcome: 'miss', why: 'src/deep/b changed' });
    const { ends } = await runSteps(shop, [...at('two'), 'copy']);
    expect(ends.copy).toMatchObject({ outcome: 'miss', reason: 'src/deep/b changed' });
    const explained = await shop.assay(['explain', '--json', '--store', `${shop.folder}/two`, 'copy']);
    expect(JSON.parse(explained.stdout)).toMatchObject({
      reason: 'src/deep/b changed',
      differences: [{ kind: 'input', change: 'changed', path: 'src/deep/b' }],
    });
  });

  test('a result of the remote that is refused is not "no earlier run"', async () => {
    const survives = (store: string, ...flags: string[]) =>
      shop.run([
        ...at(store),
        ...flags,
        '--output',
        'out',
        '--',
        'sh',
        '-c',
        'echo x > out; echo x > ../beside',
      ]);
    const first = await survives('one', '--keep-unproven=shared');
    expect(first.summary).toMatchObject({ shared: true, status: 'unproven' });
    rmSync(join(shop.workspace, 'out'));
    const { summary } = await survives('two');
    expect(summary).toMatchObject({ outcome: 'miss' });
    expect(summary.reason).toMatch(
      /^refused: the remote’s result is unproven: it wrote outside the workspace: ..\/beside/,
    );
    const explained = await shop.assay(['explain', '--store', `${shop.folder}/two`]);
    expect(explained.stdout).toContain('outcome  miss: refused: the remote’s result is unproven');
  });
});

test('a workspace without a run is refused with a hint', async () => {
  const ran = await shop.assay(['explain']);
  expect(ran.code).toBe(2);
  expect(ran.stderr).toContain('ASSAY_NO_HISTORY');
});
