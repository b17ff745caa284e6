// Running a graph: which steps run, in which order, which stop and which continue.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { GRAPH } from '../../../client/limits.ts';
import { CLIENT_FORM, FORMS, Workshop } from '../../rig/assay.ts';
import { type GraphRan, runSteps, runStepsAndAt } from '../../rig/graph.ts';
import { untilThere } from '../../rig/waiting.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const config = (steps: unknown) => shop.write('assay.json', JSON.stringify({ steps }));
const run = (...args: string[]) => runSteps(shop, args);

/** gen makes upper-case of in.txt, build copies it, test reads it. */
const CHAIN = {
  gen: { command: 'tr a-z A-Z < in.txt > gen.txt', inputs: ['in.txt'], outputs: ['gen.txt'] },
  build: { command: 'mkdir dist && cp gen.txt dist/', inputs: [], outputs: ['dist'], dependsOn: ['gen'] },
  test: { command: 'grep -q . dist/gen.txt && echo fine', inputs: [], dependsOn: ['build'] },
};

describe('a chain', () => {
  test('runs in order, hits the next time, and replays its logs', async () => {
    config(CHAIN);
    shop.write('in.txt', 'abc');
    const first = await run('test');
    expect(first.outcomes).toEqual({ gen: 'miss', build: 'miss', test: 'miss' });
    expect(Object.keys(first.ends)).toEqual(['gen', 'build', 'test']);
    const again = await run('test');
    expect(again.outcomes).toEqual({ gen: 'hit-local', build: 'hit-local', test: 'hit-local' });
    expect(again.events.find(({ type }) => type === 'step-log')).toMatchObject({
      step: 'test',
      text: 'fine\n',
    });
    expect(again.summary).toMatchObject({ steps: 3, hitsLocal: 3, exitCode: 0 });
  });

  test('stops after a rebuild that changed nothing', async () => {
    config(CHAIN);
    shop.write('in.txt', 'abc');
    await run('test');
    shop.write('in.txt', 'aBc');
    expect((await run('test')).outcomes).toEqual({ gen: 'miss', build: 'hit-local', test: 'hit-local' });
  });

  test('prints in one line why each step ran', async () => {
    config(CHAIN);
    shop.write('in.txt', 'abc');
    await run('test');
    shop.write('in.txt', 'abd');
    const { ends } = await run('test');
    expect(ends.gen?.reason).toBe('in.txt changed');
    expect(ends.build?.reason).toBe('gen.txt changed');
    expect(ends.test?.reason).toBe('gen.txt changed (and 1 more)');
  });

  test('restores deleted outputs', async () => {
    config(CHAIN);
    shop.write('in.txt', 'abc');
    await run('test');
    rmSync(join(shop.workspace, 'dist'), { recursive: true });
    rmSync(join(shop.workspace, 'gen.txt'));
    const { outcomes, ends } = await run('test');
    expect(outcomes).toEqual({ gen: 'hit-local', build: 'hit-local', test: 'hit-local' });
    expect(ends.build?.outputsWritten).toBe(1);
    expect(shop.has('dist/gen.txt')).toBe(true);
  });

  test('only the requested steps and their dependencies run', async () => {
    config(CHAIN);
    shop.write('in.txt', 'abc');
    expect(Object.keys((await run('build')).ends)).toEqual(['gen', 'build']);
  });

  test('--force runs all steps; an equal result changes nothing', async () => {
    config(CHAIN);
    shop.write('in.txt', 'abc');
    await run('test');
    const { ends } = await run('--force', 'test');
    expect(ends.gen).toMatchObject({ outcome: 'miss', reason: 'forced', published: true });
    expect((await run('test')).outcomes).toEqual({ gen: 'hit-local', build: 'hit-local', test: 'hit-local' });
  });
});

test('a script with pre or post scripts warns when it runs, and not when it is a hit', async () => {
  config({ build: { inputs: [] } });
  shop.write('package.json', JSON.stringify({ scripts: { prebuild: 'false', build: 'true' } }));
  const warnings = async () =>
    (await run('build')).events.filter(({ type }) => type === 'step-warning').map(({ text }) => text);
  expect(await warnings()).toEqual([expect.stringContaining('prebuild of package.json does not run')]);
  expect(await warnings()).toEqual([]);
});

describe('more steps than jobs', () => {
  const gate = (name: string) => join(shop.folder, name);
  const open = (name: string) => writeFileSync(gate(name), '');
  /** Opens the gate so late that a step that waits for its job slot must start again. */
  const openLate = async () => {
    await wait(GRAPH.lateMs + 100);
    open('gate');
  };
  const held = (name = 'gate', after = '') => ({
    command: `${untilThere(gate(name))}; ${after}`,
    inputs: [],
    outputs: [],
    cache: false,
  });
  const COPY = { command: 'cp in.txt out.txt', inputs: ['in.txt'], outputs: ['out.txt'] };
  const ABC = ['--jobs', '2', 'a', 'b', 'copy'];

  test('a step whose input changes while it waits for a slot runs with the new input, and is published', async () => {
    config({ a: held(), b: held(), copy: COPY });
    shop.write('in.txt', 'early');
    const { events, ends } = await runStepsAndAt(shop, ABC, { type: 'step-waiting', step: 'copy' }, () => {
      shop.write('in.txt', 'late');
      return openLate();
    });
    const about = events.filter(({ step }) => step === 'copy').map(({ type }) => type);
    expect(about).toEqual(['step-started', 'step-waiting', 'step-resumed', 'step-finished']);
    expect(ends.copy).toMatchObject({ outcome: 'miss', published: true });
    expect(readFileSync(join(shop.workspace, 'out.txt'), 'utf8')).toBe('late');
    rmSync(join(shop.workspace, 'out.txt'));
    expect((await run('copy')).outcomes).toEqual({ copy: 'hit-local' });
  });

  test('a step that waits for a slot when another step fails is skipped, with the reason', async () => {
    config({ a: held('first', 'exit 3'), b: held('second'), copy: COPY });
    shop.write('in.txt', 'x');
    const aFailed = { type: 'step-finished', step: 'a' };
    const running = runStepsAndAt(shop, ABC, aFailed, () => open('second'));
    open('first');
    const { ends, outcomes } = await running;
    expect(outcomes).toEqual({ a: 'failed', b: 'miss', copy: 'skipped' });
    expect(ends.copy?.reason).toBe('a failed before this step started');
    expect(shop.has('out.txt')).toBe(false);
  });

  test.each([
    ['late', openLate],
    ['at once', () => open('gate')],
  ])(
    'a step that waits for a slot, which it gets %s, lets another run make its result, and uses it',
    async (_, openIt) => {
      config({ a: held(), b: held(), copy: COPY });
      shop.write('in.txt', 'x');
      let other: GraphRan | undefined;
      const both = await runStepsAndAt(shop, ABC, { type: 'step-waiting', step: 'copy' }, async () => {
        other = await run('copy').finally(openIt);
      });
      expect(other?.outcomes).toEqual({ copy: 'miss' });
      expect(other?.events.filter(({ type }) => type === 'step-warning')).toEqual([]);
      expect(both.outcomes).toEqual({ a: 'miss', b: 'miss', copy: 'hit-local' });
    },
  );

  test('a step may run another step of the same graph', async () => {
    const nested = (name: string) => ({
      command: `${FORMS[CLIENT_FORM].join(' ')} run --store ${shop.store} copy && cp out.txt ${name}.txt`,
      inputs: ['in.txt'],
      outputs: [`${name}.txt`],
    });
    config({ a: nested('a'), b: nested('b'), copy: COPY });
    shop.write('in.txt', 'x');
    const { code, outcomes } = await run('--jobs', '2', 'a', 'b', 'copy');
    expect([code, Object.keys(outcomes).sort()]).toEqual([0, ['a', 'b', 'copy']]);
    expect(readFileSync(join(shop.workspace, 'b.txt'), 'utf8')).toBe('x');
  });

  test('a run that waits for another run of the same action stops on SIGINT', async () => {
    const command = `touch '${gate('begun')}'; ${untilThere(gate('gate'))}; echo made > out.txt`;
    config({ long: { command, outputs: ['out.txt'] } });
    const first = run('long');
    await expect.poll(() => existsSync(gate('begun'))).toBe(true);
    const [program, ...before] = FORMS[CLIENT_FORM];
    const child = spawn(program, [...before, 'run', '--json', 'long'], {
      cwd: shop.workspace,
      env: { ...process.env, ASSAY_STORE: shop.store },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    const waits = new Promise<void>((resolve) => {
      child.stdout.on('data', (text) => {
        said += text;
        if (said.includes('step-warning')) resolve();
      });
    });
    await waits;
    child.kill('SIGINT');
    const [code] = await once(child, 'exit');
    expect(code).toBe(130);
    expect(said).toContain('"outcome":"skipped"');
    expect(shop.has('out.txt')).toBe(false);
    open('gate');
    expect((await first).code).toBe(0);
  });

  test('a step that waited long starts again, and finds a program that appeared meanwhile', async () => {
    const tool = join(shop.workspace, 'node_modules/.bin/tool');
    const make = `mkdir -p node_modules/.bin; printf "#!/bin/sh\\necho made\\n" > new; chmod +x new; mv new ${tool}`;
    config({
      make: held('gate', make),
      b: { ...held(), command: untilThere(tool) },
      use: { command: 'tool > out.txt', outputs: ['out.txt'] },
    });
    const args = ['--jobs', '2', 'make', 'b', 'use'];
    const useWaits = { type: 'step-waiting', step: 'use' };
    const { outcomes } = await runStepsAndAt(shop, args, useWaits, openLate);
    expect(outcomes.use).toBe('miss');
    expect(readFileSync(join(shop.workspace, 'out.txt'), 'utf8')).toBe('made\n');
  });

  test('a hit does not wait for running commands', async () => {
    config({ a: held(), b: held(), copy: COPY });
    shop.write('in.txt', 'x');
    await run('copy');
    rmSync(join(shop.workspace, 'out.txt'));
    const copyEnds = { type: 'step-finished', step: 'copy' };
    const { ends } = await runStepsAndAt(shop, ABC, copyEnds, () => open('gate'));
    expect(Object.keys(ends)[0]).toBe('copy');
  });
});

test('an uncached step runs each time', async () => {
  config({ deploy: { command: 'echo now', cache: false } });
  for (let time = 0; time < 2; time++) {
    const { ends } = await run('deploy');
    expect(ends.deploy).toMatchObject({ outcome: 'miss', reason: 'it is not cached', published: false });
  }
});

describe('independent steps', () => {
  /** Each waits for the other one's file: run sequentially they would never end. */
  const MEET = {
    a: { command: 'touch /tmp/$ROOM-a; while ! test -e /tmp/$ROOM-b; do sleep 0.01; done', env: ['ROOM'] },
    b: { command: 'touch /tmp/$ROOM-b; while ! test -e /tmp/$ROOM-a; do sleep 0.01; done', env: ['ROOM'] },
    both: { command: 'rm /tmp/$ROOM-a /tmp/$ROOM-b', env: ['ROOM'], dependsOn: ['a', 'b'] },
  };

  test('run concurrently', async () => {
    config(MEET);
    const ROOM = `assay-meet-${process.pid}`;
    const { code } = await runSteps(shop, ['--jobs', '2', 'both'], { env: { ROOM } });
    expect(code).toBe(0);
  });
});

describe('a failing step', () => {
  const FORK = {
    bad: { command: 'echo broken >&2; exit 7', inputs: [] },
    after: { command: 'true', inputs: [], dependsOn: ['bad'] },
    last: { command: 'true', inputs: [], dependsOn: ['after'] },
    other: { command: 'true', inputs: [] },
  };

  test('ends the run with its exit code, and no new step starts', async () => {
    config(FORK);
    const { code, outcomes, ends } = await run('--jobs', '1', 'last', 'other');
    expect(code).toBe(7);
    expect(outcomes).toEqual({ bad: 'failed', after: 'skipped', last: 'skipped', other: 'skipped' });
    expect(ends.last?.reason).toBe('bad did not succeed');
    expect(ends.other?.reason).toBe('bad failed before this step started');
  });

  test('with --keep-going, does not stop the others', async () => {
    config(FORK);
    const { code, outcomes } = await run('--keep-going', 'last', 'other');
    expect(code).toBe(7);
    expect(outcomes).toEqual({ bad: 'failed', after: 'skipped', last: 'skipped', other: 'miss' });
  });

  test('is not cached: it runs again', async () => {
    config(FORK);
    await run('bad');
    expect((await run('bad')).outcomes).toEqual({ bad: 'failed' });
  });

  test('whose program does not exist fails, and the run does not crash', async () => {
    config({ gone: { command: ['no-such-program'] } });
    const { code, ends } = await run('gone');
    expect(code).toBe(127);
    expect(ends.gone?.reason).toContain('ASSAY_COMMAND_NOT_FOUND');
  });
});

describe('refused before anything runs:', () => {
  test.each<[string, unknown, string[], string]>([
    [
      'a cycle, with its path',
      {
        a: { command: 'true', dependsOn: ['b'] },
        b: { command: 'true', dependsOn: ['c'] },
        c: { command: 'true', dependsOn: ['b'] },
      },
      ['a'],
      'ASSAY_STEP_CYCLE: b -> c -> b',
    ],
    [
      'two steps with the same output',
      { a: { command: 'true', outputs: ['x'] }, b: { command: 'true', outputs: ['x'] } },
      ['a'],
      'a and b both claim x',
    ],
    [
      'an output inside that of another step',
      { a: { command: 'true', outputs: ['x'] }, b: { command: 'true', outputs: ['x/y/z'] } },
      ['a'],
      'a and b both claim x/y/z',
    ],
    ['an unknown step', { build: { command: 'true' } }, ['biuld'], 'did you mean build?'],
    ['no step', { build: { command: 'true' } }, [], 'name a step. Steps: build.'],
    [
      'no step of many',
      Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`s${at}`, { command: 'true' }])),
      [],
      's18, s19 and 5 more.',
    ],
    ['a wrong number of jobs', { build: { command: 'true' } }, ['--jobs', '0', 'build'], '--jobs takes'],
    ['an unknown mode of logs', { build: { command: 'true' } }, ['--logs', 'some', 'build'], '--logs takes'],
  ])('%s', async (_, steps, args, words) => {
    config(steps);
    const ran = await shop.assay(['run', ...args]);
    expect(ran.code).toBe(125);
    expect(ran.stderr).toContain(words);
    expect(ran.stdout).toBe('');
  });
});
