// The recorded state of one action. A1 to A5 are the invariants at the top of
// client/up-to-date/action-state.ts.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { describeTree } from '../../rig/tree.ts';
import { settled } from '../../rig/waiting.ts';

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
const states = () => join(shop.store, 'client', 'actions');
const hideStore = () => renameSync(join(shop.store, 'v5'), join(shop.folder, 'hidden'));

describe('an action that is up to date', () => {
  test('needs no store and replays the log (A1)', async () => {
    expect((await buildTwice()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0 });
    const made = describeTree(shop.workspace);
    hideStore();
    const third = await build();
    expect(third.summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0, exitCode: 0 });
    expect(third.stdout).toBe('made\n');
    expect(describeTree(shop.workspace)).toEqual(made);
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
  ])('%s, and its outputs are restored (A1)', async (_, damage) => {
    await buildTwice();
    const made = describeTree(shop.workspace);
    damage();
    expect((await build()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 1 });
    expect(describeTree(shop.workspace)).toEqual(made);
  });

  test('if an input changed (A1)', async () => {
    await buildTwice();
    shop.write('in.txt', 'another input');
    expect((await build()).summary.outcome).toBe('miss');
  });

  test('if a declared variable has another value (A1)', async () => {
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

  test('if only a tool changed (A1)', async () => {
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

  test('if the state file is torn or foreign (A5)', async () => {
    await buildTwice();
    hideStore();
    for (const name of readdirSync(states())) writeFileSync(join(states(), name), 'not a state file');
    expect((await build()).summary.outcome).toBe('miss');
  });
});

describe('an action is not recorded', () => {
  const recorded = () => (existsSync(states()) ? readdirSync(states()) : []);

  test('before its outputs were found in place (A2)', async () => {
    await build();
    expect(recorded()).toEqual([]);
    await settled(path('out'));
    await build();
    expect(recorded()).toHaveLength(1);
  });

  test('while the stats of an input are not settled (A3)', async () => {
    const future = new Date(Date.now() + 3_600_000);
    utimesSync(path('in.txt'), future, future);
    expect((await buildTwice()).summary.outcome).toBe('hit-local');
    expect(recorded()).toEqual([]);
  });

  test.each([
    ['a variable that looks secret', ['--env', 'MY_TOKEN=secret']],
    ['a declared PATH', ['--env', 'PATH']],
  ])('with %s (A4)', async (_, flags) => {
    const inputs = ['--input', 'in.txt', '--input', 'make.sh'];
    const made = () => shop.run([...inputs, ...flags, '--output', 'out', '--', './make.sh']);
    await made();
    await settled(path('out'));
    expect((await made()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0 });
    expect(recorded()).toEqual([]);
  });

  test('with a link to something that is not declared (A4)', async () => {
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
