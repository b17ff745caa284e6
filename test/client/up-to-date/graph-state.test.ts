// The recorded state of a graph. G1 to G10 are the invariants at the top of client/up-to-date/graph-state.ts.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';
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
  /* As runtimes do that ask for the memory of the machine (G10). */
  shop.write('bin/mytool', '#!/bin/sh\ngrep -q ^MemTotal /proc/meminfo\ncat "$1"/*\n', 0o755);
});
afterEach(() => shop.remove());

const path = (name: string) => join(shop.workspace, name);
const env = (more: Record<string, string> = {}) => ({
  PATH: `${path('bin')}:${process.env.PATH}`,
  ...more,
});
const build = (more: Record<string, string> = {}) => runSteps(shop, ['build'], { env: env(more) });

/** Builds, finds all outputs in place and records the graph. */
async function recorded() {
  await build();
  await settled(path('p/b/dist/out'));
  await build();
  const third = await build();
  expect(Object.values(third.ends).map(({ reason }) => reason)).toEqual(['found in place', 'found in place']);
  return third;
}

const hideStore = () => renameSync(join(shop.store, 'v5'), join(shop.folder, 'hidden'));

test('a graph that is up to date needs no store and replays its logs (G1)', async () => {
  await recorded();
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

describe('a change is noticed (G1)', () => {
  test.each<[string, () => void, string, string]>([
    ['a changed input', () => writeFileSync(path('p/a/src/in'), 'A'), 'miss', 'miss'],
    ['an input of the last step', () => writeFileSync(path('p/b/src/in'), 'B'), 'hit-local', 'miss'],
    ['a new input', () => writeFileSync(path('p/b/src/new'), 'n'), 'hit-local', 'miss'],
    ['a mode', () => chmodSync(path('p/b/src/in'), 0o755), 'hit-local', 'miss'],
    ['a tool', () => writeFileSync(path('bin/mytool'), '#!/bin/sh\ncat "$1"/* "$1"/*\n'), 'miss', 'miss'],
    [
      'a tool that appears earlier on the path (G6)',
      () => {
        mkdirSync(path('p/b/node_modules/.bin'), { recursive: true });
        writeFileSync(path('p/b/node_modules/.bin/mytool'), '#!/bin/sh\necho other\n', { mode: 0o755 });
      },
      'hit-local',
      'miss',
    ],
    [
      'a .gitignore that appears (G6)',
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
  ])('%s', async (_, damage, ofFirst, ofLast) => {
    await recorded();
    damage();
    const { outcomes } = await build();
    expect(outcomes).toEqual({ 'p/a#build': ofFirst, 'p/b#build': ofLast });
    const found = describeTree(path('p/b/dist'));
    rmSync(join(shop.store, 'client'), { recursive: true });
    expect((await build()).summary.failed).toBe(0);
    expect(describeTree(path('p/b/dist'))).toEqual(found);
  });

  test.each<[string, Record<string, string>]>([
    ['a declared variable', { MODE: 'fast' }],
    ['a variable that a pattern matches', { X_NEW: '1' }],
    ['PATH (G7)', { PATH: `/nowhere:${process.env.PATH}` }],
  ])('%s', async (_, more) => {
    await recorded();
    const { summary } = await build(more);
    expect(summary.hitsLocal).toBe(0);
  });

  test('a torn state file (G7)', async () => {
    await recorded();
    const folder = join(shop.store, 'client', 'graph');
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), 'not a state file');
    const { ends } = await build();
    expect(ends['p/a#build']?.reason).toBe('found in the local store');
  });
});

describe('a step that ran', () => {
  /** `then`: what a later step does. It takes long enough for the run to wait until all files are settled. */
  const buildThen = async (then: string) => {
    const steps = {
      first: { command: 'cat in shared > out', inputs: ['in'], outputs: ['out'] },
      last: { command: `sleep 1; ${then}; echo > end`, inputs: [], outputs: ['end'], dependsOn: ['first'] },
    };
    shop.write('assay.json', JSON.stringify({ steps }));
    for (const name of ['in', 'shared']) shop.write(name, `${name}\n`);
    await settled(path('shared'));
    const run = () => runSteps(shop, ['last']);
    expect((await run()).outcomes).toEqual({ first: 'miss', last: 'miss' });
    return (await run()).ends.first;
  };

  test('is up to date in the next run', async () => {
    const first = await buildThen('true');
    expect(first).toMatchObject({ outcome: 'hit-local', reason: 'found in place' });
  });

  test.each<[string, string, object]>([
    ['its output', 'echo other > out', { outcome: 'hit-local', outputsWritten: 1 }],
    ['its input', 'echo other > in', { outcome: 'miss' }],
    ['a file that it read', 'echo other > shared', { outcome: 'miss' }],
  ])('is not recorded if a later step changed %s (G1)', async (_, then, expected) => {
    expect(await buildThen(then)).toMatchObject(expected);
  });
});

describe.each([
  ['the local store', 'found in the local store'],
  ['its recorded state', 'remembered, and found in the local store'],
])('a step that was restored from %s', (_, reason) => {
  /** `then`: what a later step does. It takes long enough for the run to wait until all files are settled. */
  const restoredThen = async (then: string, variables: Record<string, string> = {}) => {
    const first = { command: 'cat in shared > out', inputs: ['in'], outputs: ['out'] };
    const last = { command: `sleep 1; ! test -e go || ${then}`, cache: false, dependsOn: ['first'] };
    shop.write('assay.json', JSON.stringify({ steps: { first, last } }));
    for (const name of ['in', 'shared']) shop.write(name, `${name}\n`);
    await settled(path('shared'));
    const run = async () => (await runSteps(shop, ['last'], { env: variables })).ends.first;
    expect(await run()).toMatchObject({ outcome: 'miss' });
    if (!reason.startsWith('remembered')) rmSync(join(shop.store, 'client/graph'), { recursive: true });
    rmSync(path('out'));
    shop.write('go', '');
    expect(await run()).toMatchObject({ outcome: 'hit-local', reason });
    return run();
  };

  test('is up to date in the next run', async () => {
    expect(await restoredThen('true')).toMatchObject({ outcome: 'hit-local', reason: 'found in place' });
  });

  test.each<[string, string, object]>([
    ['its output', 'echo other > out', { outcome: 'hit-local', outputsWritten: 1 }],
    ['its input', 'echo other > in', { outcome: 'miss' }],
    ['a file that the result depends on', 'echo other > shared', { outcome: 'miss' }],
  ])('is not recorded if a later step changed %s (G1, G8)', async (_, change, expected) => {
    expect(await restoredThen(change)).toMatchObject(expected);
  });

  test('is not recorded in CI', async () => {
    const end = await restoredThen('true', { CI: 'true' });
    expect(end?.reason).not.toBe('found in place');
  });
});

test('a step that was restored from a remote is up to date in the next run', async () => {
  const steps = {
    first: { command: 'cat in shared > out', inputs: ['in'], outputs: ['out'] },
    last: { command: 'sleep 1', cache: false, dependsOn: ['first'] },
  };
  shop.write('assay.json', JSON.stringify({ steps }));
  for (const name of ['in', 'shared']) shop.write(name, `${name}\n`);
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  try {
    const run = async () => (await runSteps(shop, ['--remote', server.url, 'last'])).ends.first;
    expect(await run()).toMatchObject({ outcome: 'miss' });
    rmSync(shop.store, { recursive: true });
    rmSync(path('out'));
    await settled(path('shared'));
    expect(await run()).toMatchObject({ outcome: 'hit-remote' });
    expect(await run()).toMatchObject({ outcome: 'hit-local', reason: 'found in place' });
    shop.write('shared', 'other');
    expect(await run()).toMatchObject({ outcome: 'miss' });
  } finally {
    await server.stop();
  }
});

describe('a command that makes its output in a folder that the configuration lists (G5)', () => {
  const buildTwice = async (more: string) => {
    const script = `sleep 1; ls . >/dev/null; mkdir -p dist; cat in > dist/out${more}`;
    shop.write('package.json', JSON.stringify({ private: true, workspaces: ['q/**'] }));
    shop.write('q/a/package.json', JSON.stringify({ name: 'a', scripts: { make: script } }));
    shop.write('q/a/in', 'a');
    shop.write('assay.json', '{ "packageSteps": { "make": { "inputs": ["in"], "outputs": ["dist"] } } }');
    await settled(path('assay.json'));
    const run = () => runSteps(shop, ['make']);
    expect((await run()).outcomes).toEqual({ 'a#make': 'miss' });
    return (await run()).ends;
  };

  test('leaves its step up to date', async () => {
    expect(await buildTwice('')).toMatchObject({ 'a#make': { reason: 'found in place' } });
  });

  test('and another package: the next run has its steps', async () => {
    const manifest = JSON.stringify({ name: 'c', scripts: { make: 'true' } });
    const ends = await buildTwice(`; mkdir -p ../c; echo '${manifest}' > ../c/package.json; touch ../c/in`);
    expect(Object.keys(ends).sort()).toEqual(['a#make', 'c#make']);
  });
});

test('a step is not recorded while the stats of an input are not settled (G2)', async () => {
  const future = new Date(Date.now() + 3_600_000);
  utimesSync(path('p/a/src/in'), future, future);
  await build();
  await settled(path('p/b/dist/out'));
  await build();
  const { ends } = await build();
  expect(ends['p/a#build']?.reason).toBe('found in the local store');
  expect(ends['p/b#build']?.reason).toBe('found in place');
});

test('a step with the whole workspace as input is recorded', async () => {
  shop.write('assay.json', '{ "steps": { "build": { "command": "cat in > out", "outputs": ["out"] } } }');
  shop.write('in', 'whole');
  await build();
  await settled(path('out'));
  await build();
  expect((await build()).ends.build?.reason).toBe('found in place');
});

test('a later step sees what a command changed outside the workspace (G3)', async () => {
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

test('after a command has run, every path is checked again (G3, G4)', async () => {
  await recorded();
  writeFileSync(path('p/a/src/in'), 'A');
  await build();
  writeFileSync(path('p/a/src/in'), 'a');
  const { outcomes } = await build();
  expect(outcomes).toEqual({ 'p/a#build': 'hit-local', 'p/b#build': 'hit-local' });
});

test('a stray file in an output that is also a package is noticed (G5)', async () => {
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

test('a configuration behind links is read again when one of the links changes (G1)', async () => {
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

test('a step whose definition changed is not carried over (G4)', async () => {
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
  await runSteps(shop, ['other'], { env: env() });
  await build();
  expect(readFileSync(path('out'), 'utf8')).toBe('two\n');
});

test('a later step sees a tool that a command changed (G3)', async () => {
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

test('a later step sees a tool that was restored (G3)', async () => {
  const uses = (output: string, command: string) => ({ command, outputs: [output], tools: ['mytool'] });
  const making = 'mkdir -p bin; cat in > bin/mytool; chmod +x bin/mytool';
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
