// A graph that was found in place is remembered as a whole; whatever could matter is looked at before that is believed.
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { describeTree } from '../../rig/tree.ts';
import { settled } from '../../rig/waiting.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write(
    'assay.json',
    JSON.stringify({
      packages: ['p/*'],
      packageSteps: {
        build: {
          command: 'mkdir -p dist/empty && mytool src > dist/out && echo said',
          inputs: ['src/**'],
          outputs: ['dist'],
          env: ['MODE', 'X_*'],
          tools: ['mytool'],
          dependsOn: ['^build'],
        },
      },
    }),
  );
  shop.write('p/a/src/in', 'a');
  shop.write('p/b/src/in', 'b');
  shop.write('p/b/assay.json', '{"dependencies": ["p/a"]}');
  shop.write('bin/mytool', '#!/bin/sh\ncat "$1"/*\n', 0o755);
});
afterEach(() => shop.remove());

const path = (name: string) => join(shop.workspace, name);
const env = (more: Record<string, string> = {}) => ({
  PATH: `${path('bin')}:${process.env.PATH}`,
  ...more,
});
/** As the bundle: these are many runs, and from source each would take most of its time to be read. */
const build = (more: Record<string, string> = {}) =>
  runSteps(shop, ['build'], { env: env(more), form: 'bundle' });

/** Built, found in place, and remembered as a whole. */
async function remembered() {
  await build();
  await settled(path('p/b/dist/out'));
  await build();
  const third = await build();
  expect(Object.values(third.ends).map(({ reason }) => reason)).toEqual(['found in place', 'found in place']);
  return third;
}

const hideStore = () => renameSync(join(shop.store, 'v4'), join(shop.folder, 'hidden'));

test('it needs nothing of the store, and says what the commands said', async () => {
  await remembered();
  const made = describeTree(shop.workspace);
  hideStore();
  const again = await build();
  expect(again.summary).toMatchObject({ hitsLocal: 2, exitCode: 0 });
  expect(again.events.filter(({ type }) => type === 'step-log').map(({ text }) => text)).toEqual([
    'said\n',
    'said\n',
  ]);
  expect(describeTree(shop.workspace)).toEqual(made);
});

describe('what is not as it was is seen', () => {
  test.each<[string, () => void, string, string]>([
    ['a changed input', () => writeFileSync(path('p/a/src/in'), 'A'), 'miss', 'miss'],
    ['an input of the last step', () => writeFileSync(path('p/b/src/in'), 'B'), 'hit-local', 'miss'],
    ['a new input', () => writeFileSync(path('p/b/src/new'), 'n'), 'hit-local', 'miss'],
    ['a mode', () => chmodSync(path('p/b/src/in'), 0o755), 'hit-local', 'miss'],
    ['a tool', () => writeFileSync(path('bin/mytool'), '#!/bin/sh\ncat "$1"/* "$1"/*\n'), 'miss', 'miss'],
    [
      'a tool that comes earlier on the path',
      () => {
        mkdirSync(path('p/b/node_modules/.bin'), { recursive: true });
        writeFileSync(path('p/b/node_modules/.bin/mytool'), '#!/bin/sh\necho other\n', { mode: 0o755 });
      },
      'hit-local',
      'miss',
    ],
    [
      'a .gitignore',
      () => {
        mkdirSync(path('.git'));
        writeFileSync(path('p/b/src/.gitignore'), 'extra\n');
        writeFileSync(path('p/b/src/extra'), 'x');
      },
      'hit-local',
      'miss',
    ],
    [
      'the configuration',
      () => writeFileSync(path('p/b/assay.json'), '{"dependencies": ["p/a"], "defaults": {"env": ["Q=1"]}}'),
      'hit-local',
      'miss',
    ],
    ['an output that was edited', () => writeFileSync(path('p/a/dist/out'), 'A'), 'hit-local', 'hit-local'],
    ['an output that is gone', () => rmSync(path('p/a/dist/out')), 'hit-local', 'hit-local'],
    ['a stray file in an output', () => writeFileSync(path('p/b/dist/stray'), ''), 'hit-local', 'hit-local'],
  ])('%s', async (_, spoil, ofFirst, ofLast) => {
    await remembered();
    spoil();
    const { outcomes } = await build();
    expect(outcomes).toEqual({ 'p/a#build': ofFirst, 'p/b#build': ofLast });
    const found = describeTree(path('p/b/dist'));
    rmSync(join(shop.store, 'client'), { recursive: true });
    expect((await build()).summary.failed).toBe(0);
    expect(describeTree(path('p/b/dist'))).toEqual(found);
  });

  test.each<[string, Record<string, string>]>([
    ['a declared variable', { MODE: 'fast' }],
    ['one that a pattern takes', { X_NEW: '1' }],
    ['the path, if it leads to another tool', { PATH: `/nowhere:${process.env.PATH}` }],
  ])('%s', async (_, more) => {
    await remembered();
    const { summary } = await build(more);
    expect(summary.hitsLocal).toBe(0);
  });

  test('a memory that is torn is none', async () => {
    await remembered();
    const folder = join(shop.store, 'client', 'graph');
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), 'not a memory at all');
    const { ends } = await build();
    expect(ends['p/a#build']?.reason).toBe('found in the local store');
  });
});

test('a step that takes the whole workspace as its input is remembered too', async () => {
  shop.write('assay.json', '{ "steps": { "build": { "command": "cat in > out", "outputs": ["out"] } } }');
  shop.write('in', 'whole');
  await build();
  await settled(path('out'));
  await build();
  expect((await build()).ends.build?.reason).toBe('found in place');
});

test('what a command changed outside the workspace is seen by the steps after it', async () => {
  const outside = join(shop.folder, 'outside');
  writeFileSync(outside, 'old');
  const reads = (name: string) => ({ command: `cat ${outside} > ${name}`, inputs: [], outputs: [name] });
  const writes = { command: `cat in > ${outside} && echo done > b`, inputs: ['in'], outputs: ['b'] };
  const steps = {
    a: reads('a'),
    b: { ...writes, dependsOn: ['a'] },
    build: { ...reads('c'), dependsOn: ['b'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  shop.write('in', 'old');
  await build();
  shop.write('in', 'new');
  const { outcomes } = await build();
  expect(outcomes).toEqual({ a: 'hit-local', b: 'miss', build: 'miss' });
  expect(readFileSync(path('c'), 'utf8')).toBe('new');
});

test('a command that ran makes everything be looked at anew', async () => {
  await remembered();
  writeFileSync(path('p/a/src/in'), 'A');
  await build();
  writeFileSync(path('p/a/src/in'), 'a');
  const { outcomes } = await build();
  expect(outcomes).toEqual({ 'p/a#build': 'hit-local', 'p/b#build': 'hit-local' });
});

test('a stray file is seen in an output that is a package too', async () => {
  const command = 'mkdir -p gen && cat in > gen/out && echo {} > gen/package.json';
  const steps = { build: { command, inputs: ['in'], outputs: ['gen'] } };
  shop.write('assay.json', JSON.stringify({ packages: ['gen'], steps }));
  shop.write('in', 'in');
  shop.write('gen/package.json', '{}');
  await build();
  await settled(path('gen/out'));
  await build();
  expect((await build()).ends.build?.reason).toBe('found in place');
  writeFileSync(path('gen/stray'), '');
  await build();
  expect(readdirSync(path('gen'))).toEqual(['out', 'package.json']);
});

test('a configuration behind several links is read again when one of them leads elsewhere', async () => {
  const saying = (word: string) => ({
    steps: { build: { command: `echo ${word} > out`, inputs: [], outputs: ['out'] } },
  });
  shop.write('one/config.json', JSON.stringify(saying('one')));
  shop.write('two/config.json', JSON.stringify(saying('two')));
  rmSync(path('assay.json'));
  shop.link('assay.json', 'now/config.json');
  shop.link('now', 'one');
  await build();
  await settled(path('out'));
  await build();
  expect((await build()).ends.build?.reason).toBe('found in place');
  rmSync(path('now'));
  shop.link('now', 'two');
  await build();
  expect(readFileSync(path('out'), 'utf8')).toBe('two\n');
});

test('a step that was declared anew while another one ran is not the one that is remembered', async () => {
  const saying = (word: string) => ({
    build: { command: `echo ${word} > out`, inputs: [], outputs: ['out'] },
    other: { command: 'true', inputs: [] },
  });
  const declare = (word: string) => shop.write('assay.json', JSON.stringify({ steps: saying(word) }));
  declare('one');
  await build();
  await settled(path('out'));
  await build();
  expect((await build()).ends.build?.reason).toBe('found in place');
  await settled(declare('two'));
  await runSteps(shop, ['other'], { env: env(), form: 'bundle' });
  await build();
  expect(readFileSync(path('out'), 'utf8')).toBe('two\n');
});

test('a tool that a command changed is seen by the steps after it', async () => {
  const uses = (name: string) => ({
    command: `mytool in > ${name}`,
    inputs: ['in/**'],
    outputs: [name],
    tools: ['mytool'],
  });
  const install = { command: 'cat new > bin/mytool', inputs: ['new'], hermetic: 'off' };
  const steps = {
    before: uses('a'),
    install: { ...install, dependsOn: ['before'] },
    build: { ...uses('b'), dependsOn: ['install'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  shop.write('in/one', 'one');
  shop.write('new', '#!/bin/sh\ncat "$1"/*\n');
  await build();
  await settled(path('b'));
  await build();
  expect((await build()).ends.build?.reason).toBe('found in place');
  shop.write('new', '#!/bin/sh\necho new\n');
  await build();
  expect(readFileSync(path('b'), 'utf8')).toBe('new\n');
});

test('a tool that was restored is seen by the steps after it', async () => {
  const uses = (output: string, command: string) => ({ command, outputs: [output], tools: ['mytool'] });
  const making = 'cat in > bin/mytool; chmod +x bin/mytool';
  const steps = {
    before: { ...uses('a', 'echo a > a'), inputs: [] },
    made: { command: making, inputs: ['in'], outputs: ['bin/mytool'], dependsOn: ['before'] },
    build: { ...uses('b', './bin/mytool > b'), inputs: ['!bin/**'], dependsOn: ['made'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  for (const word of ['one', 'two', 'two', 'one']) {
    shop.write('in', `#!/bin/sh\necho ${word}\n`);
    await build();
    expect(readFileSync(path('b'), 'utf8')).toBe(`${word}\n`);
  }
});
