// The recorded state of a single run, a graph of one step. G1 to G10 are the invariants at the top of
// client/up-to-date/graph-state.ts.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Summary, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { describeTree } from '../../rig/tree.ts';
import { settled } from '../../rig/waiting.ts';
import { Machine } from '../path-sets/machine.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in.txt', 'input');
  shop.script(
    'make.sh',
    'mkdir -p out/deep/empty',
    'cp in.txt out/deep/file',
    'ln -s deep/file out/link',
    'echo made',
  );
});

afterEach(() => shop.remove());

const path = (name: string) => join(shop.workspace, name);
const build = () =>
  shop.run(['--input', 'in.txt', '--input', 'make.sh', '--output', 'out', '--', './make.sh']);

/** A run, and a hit that finds the settled outputs in place and records the action. */
async function buildTwice() {
  await build();
  await settled(path('out'));
  return build();
}

/** Hides the store but not the client folder. */
const states = () => join(shop.store, 'client', 'graph');
const hideStore = () => renameSync(join(shop.store, 'v5'), join(shop.folder, 'hidden'));

describe('an action that is up to date', () => {
  test('needs no store and replays the log (G1)', async () => {
    expect((await buildTwice()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0 });
    const made = describeTree(shop.workspace);
    hideStore();
    const third = await build();
    expect(third.summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0, exitCode: 0 });
    expect(third.stdout).toBe('made\n');
    expect(describeTree(shop.workspace)).toEqual(made);
  });

  test('replays a failure with its exit code', async () => {
    shop.script('make.sh', 'mkdir out', 'exit 7');
    const flags = ['--cache-failures', '--input', 'make.sh', '--output', 'out'];
    const made = () => shop.run([...flags, '--', './make.sh']);
    await made();
    await settled(path('out'));
    await made();
    hideStore();
    expect((await made()).summary).toMatchObject({
      outcome: 'hit-local',
      reason: 'found in place',
      exitCode: 7,
    });
  });
});

describe('an action is looked up again', () => {
  test.each<[string, () => void]>([
    ['if the content of an output changed', () => writeFileSync(path('out/deep/file'), 'INPUT')],
    ['if the mode of an output changed', () => chmodSync(path('out/deep/file'), 0o755)],
    ['if a file of an output is gone', () => rmSync(path('out/deep/file'))],
    ['if an output has one more file', () => writeFileSync(path('out/deep/more'), 'more')],
    ['if an output has one more folder', () => mkdirSync(path('out/deep/empty/more'))],
    ['if a link of an output is gone', () => rmSync(path('out/link'))],
    ['if the whole output is gone', () => rmSync(path('out'), { recursive: true })],
  ])('%s, and its outputs are restored (G1)', async (_, damage) => {
    await buildTwice();
    const made = describeTree(shop.workspace);
    damage();
    expect((await build()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 1 });
    expect(describeTree(shop.workspace)).toEqual(made);
  });

  test('if an input changed (G1)', async () => {
    await buildTwice();
    shop.write('in.txt', 'another input');
    expect((await build()).summary.outcome).toBe('miss');
  });

  test('if a declared variable has another value (G1)', async () => {
    const made = (mode: string) =>
      shop.run(
        ['--input', 'make.sh', '--input', 'in.txt', '--env', 'MODE', '--output', 'out', '--', './make.sh'],
        {
          env: { MODE: mode },
        },
      );
    await made('one');
    await settled(path('out'));
    await made('one');
    hideStore();
    expect((await made('one')).summary.outcome).toBe('hit-local');
    expect((await made('two')).summary.outcome).toBe('miss');
  });

  test.each<[string, string[], Record<string, string>, Record<string, string>]>([
    ['a variable appears that a pattern matches', ['--env', 'X_*'], {}, { X_NEW: '1' }],
    // The later declaration counts.
    ['the value of a variable changed', ['--env', 'V=1', '--env', 'V'], { V: 'one' }, { V: 'two' }],
  ])('if %s (G1)', async (_, variables, before, after) => {
    const inputs = ['--input', 'make.sh', '--input', 'in.txt', ...variables];
    const made = (env: Record<string, string>) =>
      shop.run([...inputs, '--output', 'out', '--', './make.sh'], { env });
    await made(before);
    await settled(path('out'));
    await made(before);
    hideStore();
    expect((await made(before)).summary.reason).toBe('found in place');
    expect((await made(after)).summary.outcome).toBe('miss');
  });

  test('if only a tool changed (G1)', async () => {
    const tools = shop.another('tools');
    shop.write('helper', '#!/bin/sh\necho one\n', 0o755, tools);
    const made = () =>
      shop.run(
        ['--input', 'make.sh', '--input', 'in.txt', '--tool', 'helper', '--output', 'out', '--', './make.sh'],
        {
          env: { PATH: `${tools}:${process.env.PATH}` },
        },
      );
    await made();
    await settled(path('out'));
    await made();
    hideStore();
    expect((await made()).summary.outcome).toBe('hit-local');
    shop.write('helper', '#!/bin/sh\necho two\n', 0o755, tools);
    expect((await made()).summary.outcome).toBe('miss');
  });

  test('if the state file is torn or foreign (G7)', async () => {
    await buildTwice();
    hideStore();
    for (const name of readdirSync(states())) writeFileSync(join(states(), name), 'not a state file');
    expect((await build()).summary.outcome).toBe('miss');
  });
});

test('a path that cannot be looked at any more is a change, and no error (G1)', async () => {
  const folder = shop.another('outside');
  shop.write('config', 'outside', 0o644, folder);
  shop.script('make.sh', 'mkdir out', 'cat ../outside/config > out/file || true');
  await buildTwice();
  expect((await build()).summary.reason).toBe('found in place');
  rmSync(folder, { recursive: true });
  symlinkSync('outside', folder);
  expect((await build()).summary).toMatchObject({ outcome: 'miss', exitCode: 0 });
  expect(readFileSync(path('out/file'), 'utf8')).toBe('');
});

test('a state file of another graph gives no state (G7)', async () => {
  const step = { command: 'cat in.txt > built', inputs: ['in.txt'], outputs: ['built'] };
  shop.write('assay.json', JSON.stringify({ steps: { step } }));
  await settled(path('assay.json'));
  await buildTwice();
  const ofAction = readdirSync(states());
  const run = () => runSteps(shop, ['step']);
  await run();
  await settled(path('built'));
  await run();
  expect((await run()).ends.step?.reason).toBe('found in place');
  const ofSteps = readdirSync(states()).filter((name) => !ofAction.includes(name));
  const [action, steps] = [ofAction, ofSteps].map(([name = '']) => join(states(), name));
  if (!action || !steps) throw new Error('there are not two states');
  const [actionState, stepsState] = [readFileSync(action), readFileSync(steps)];
  writeFileSync(steps, actionState);
  expect((await run()).ends.step?.reason).toBe('found in the local store');
  writeFileSync(action, stepsState);
  expect((await build()).summary.reason).toBe('found in the local store');
});

describe('an action is not recorded', () => {
  const recorded = () => (existsSync(states()) ? readdirSync(states()) : []);

  test('before its outputs were found in place (G8)', async () => {
    await build();
    expect(recorded()).toEqual([]);
    await settled(path('out'));
    await build();
    expect(recorded()).toHaveLength(1);
  });

  test('while the stats of an input are not settled (G2)', async () => {
    const future = new Date(Date.now() + 3_600_000);
    utimesSync(path('in.txt'), future, future);
    expect((await buildTwice()).summary.outcome).toBe('hit-local');
    expect(recorded()).toEqual([]);
  });

  test.each([
    ['a variable that looks secret', ['--env', 'MY_TOKEN=secret']],
    ['a declared PATH', ['--env', 'PATH']],
  ])('with %s (G9)', async (_, flags) => {
    const inputs = ['--input', 'in.txt', '--input', 'make.sh'];
    const made = () => shop.run([...inputs, ...flags, '--output', 'out', '--', './make.sh']);
    await made();
    await settled(path('out'));
    expect((await made()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0 });
    expect(recorded()).toEqual([]);
  });

  test('with a link to something that is not declared (G9)', async () => {
    shop.write('undeclared.txt', 'undeclared');
    shop.link('link.txt', 'undeclared.txt');
    const inputs = ['--input', 'in.txt', '--input', 'make.sh', '--input', 'link.txt'];
    const made = () => shop.run([...inputs, '--output', 'out', '--', './make.sh']);
    await made();
    await settled(path('out'));
    expect((await made()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0 });
    expect(recorded()).toEqual([]);
  });
});

describe('properties of the machine that a result depends on (G10)', () => {
  const MEMINFO = '/proc/meminfo';
  const READ = ['--output', 'out', '--', 'sh', '-c', `grep -c Total ${MEMINFO} /proc/cpuinfo > out`];

  /** This machine with other numbers in /proc/meminfo. */
  function otherwise(line: RegExp, now: string): Machine {
    const file = shop.write(`../${now}`, readFileSync(MEMINFO, 'latin1').replace(line, now));
    return new Machine({ [MEMINFO]: file });
  }

  const on = async (machine: Machine): Promise<Summary> => (await machine.run(shop, READ)).summary;
  const HERE = new Machine({});

  test('are compared without the store', async () => {
    expect(await on(HERE)).toMatchObject({ outcome: 'miss', published: true });
    await settled(path('out'));
    expect(await on(HERE)).toMatchObject({ outcome: 'hit-local', reason: 'found in the local store' });
    expect(await on(HERE)).toMatchObject({ outcome: 'hit-local', reason: 'found in place' });
    const busy = otherwise(/^MemFree:.*/m, 'MemFree: 1 kB');
    expect(await on(busy)).toMatchObject({ outcome: 'hit-local', reason: 'found in place' });
    const larger = otherwise(/^MemTotal:.*/m, 'MemTotal: 9999999 kB');
    expect(await on(larger)).toMatchObject({ outcome: 'miss' });
    expect(await on(HERE)).toMatchObject({ outcome: 'hit-local' });
  });
});
