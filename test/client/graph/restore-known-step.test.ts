// A step whose outputs are deleted is restored from the graph's recorded state, if everything that determines
// its
// result is unchanged. Any change is noticed.
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { describeTree } from '../../rig/tree.ts';
import { settled } from '../../rig/waiting.ts';

const REMEMBERED = 'remembered, and found in the local store';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  const build = {
    command: 'mkdir -p dist/empty && mytool src > dist/out',
    inputs: ['src/**'],
    outputs: ['dist'],
    tools: ['mytool'],
    dependsOn: ['^build'],
  };
  shop.write('assay.json', JSON.stringify({ packages: ['p/*'], packageSteps: { build } }));
  shop.write('p/a/src/in', 'a');
  shop.write('p/b/src/in', 'b');
  shop.write('p/b/assay.json', '{"dependencies": ["p/a"]}');
  shop.write('bin/mytool', '#!/bin/sh\ncat "$1"/*\n', 0o755);
});
afterEach(() => shop.remove());

const path = (name: string) => join(shop.workspace, name);

/** Runs the bundle: from the sources, each of these many runs would spend most of its time on loading. */
const build = () =>
  runSteps(shop, ['build'], { env: { PATH: `${path('bin')}:${process.env.PATH}` }, form: 'bundle' });

/** Builds the graph and records its state. */
async function remembered(): Promise<void> {
  await build();
  await settled(path('p/b/dist/out'));
  await build();
}

const deleteOutputs = () => {
  for (const name of ['p/a/dist', 'p/b/dist']) rmSync(path(name), { recursive: true });
};
const loseResults = () => {
  for (const name of readdirSync(shop.store))
    if (name !== 'client') rmSync(join(shop.store, name), { recursive: true });
};
const reasons = async () => {
  const { ends } = await build();
  return [ends['p/a#build']?.reason, ends['p/b#build']?.reason];
};

test('a step is restored from its recorded state repeatedly, and found in place once its stats have settled', async () => {
  await remembered();
  const made = describeTree(shop.workspace);
  for (const _ of [1, 2]) {
    deleteOutputs();
    expect(await reasons()).toEqual([REMEMBERED, REMEMBERED]);
    expect(describeTree(shop.workspace)).toEqual(made);
  }
  await settled(path('p/b/dist/out'));
  /* A run that took long has recorded them by itself. */
  await build();
  expect(await reasons()).toEqual(['found in place', 'found in place']);
});

test('a step is restored if only some of its outputs are deleted', async () => {
  await remembered();
  const made = describeTree(shop.workspace);
  rmSync(path('p/a/dist/out'));
  rmSync(path('p/b/dist'), { recursive: true });
  expect(await reasons()).toEqual([REMEMBERED, REMEMBERED]);
  expect(describeTree(shop.workspace)).toEqual(made);
});

test('a step is restored from its state even if another step runs', async () => {
  await remembered();
  deleteOutputs();
  writeFileSync(path('p/b/src/in'), 'B');
  expect(await reasons()).toEqual([REMEMBERED, 'p/b/src/in changed']);
  expect(readFileSync(path('p/b/dist/out'), 'utf8')).toBe('B');
});

test('outputs restored just now are checked again, since their stats are not settled', async () => {
  await remembered();
  deleteOutputs();
  await build();
  writeFileSync(path('p/a/dist/out'), 'x');
  const { outcomes } = await build();
  expect(outcomes).toEqual({ 'p/a#build': 'hit-local', 'p/b#build': 'hit-local' });
  expect(readFileSync(path('p/a/dist/out'), 'utf8')).toBe('a');
});

test('a step runs if the store has lost its result', async () => {
  await remembered();
  deleteOutputs();
  loseResults();
  const { summary } = await build();
  expect(summary).toMatchObject({ misses: 2, exitCode: 0 });
  expect(readFileSync(path('p/b/dist/out'), 'utf8')).toBe('b');
});

test('a result that another run published instead is not taken for the recorded one', async () => {
  const build = { command: 'date +%N > made', inputs: ['p/a/src/in'], outputs: ['made'] };
  const copy = { command: 'cp made copied', inputs: [], outputs: ['copied'], dependsOn: ['build'] };
  shop.write('assay.json', JSON.stringify({ steps: { build, copy } }));
  const other = shop.another('other');
  cpSync(shop.workspace, other, { recursive: true });
  const copyIn = (cwd: string) => runSteps(shop, ['copy'], { cwd, form: 'bundle' });
  await copyIn(shop.workspace);
  await settled(path('copied'));
  await copyIn(shop.workspace);
  expect((await copyIn(shop.workspace)).ends.copy?.reason).toBe('found in place');
  loseResults();
  await copyIn(other);
  rmSync(path('made'));
  await copyIn(shop.workspace);
  expect(readFileSync(path('copied'), 'utf8')).toBe(readFileSync(path('made'), 'utf8'));
});

test.each<[string, () => void, string | undefined]>([
  ['an input changed', () => writeFileSync(path('p/b/src/in'), 'B'), 'miss'],
  ['an input was added', () => writeFileSync(path('p/b/src/new'), 'n'), 'miss'],
  [
    'the configuration changed',
    () => writeFileSync(path('p/b/assay.json'), '{"defaults":{"env":["Q=1"]}}'),
    'miss',
  ],
  [
    'a package hides its inputs',
    () => {
      mkdirSync(path('.git'));
      writeFileSync(path('p/b/.gitignore'), 'new\n');
      writeFileSync(path('p/b/src/new'), 'n');
    },
    'miss',
  ],
  [
    'a new tool is earlier on PATH',
    () => {
      mkdirSync(path('p/b/node_modules/.bin'), { recursive: true });
      writeFileSync(path('p/b/node_modules/.bin/mytool'), '#!/bin/sh\necho other\n', { mode: 0o755 });
    },
    'miss',
  ],
  [
    'its folder became a link, which removes the step',
    () => {
      renameSync(path('p/b'), path('moved'));
      symlinkSync('../moved', path('p/b'));
    },
    undefined,
  ],
])('a step is looked up as usual if %s', async (_, spoil, outcome) => {
  await remembered();
  deleteOutputs();
  spoil();
  const { ends } = await build();
  expect(ends['p/b#build']?.outcome).toBe(outcome);
  expect(ends['p/b#build']?.reason).not.toBe(REMEMBERED);
});
