// An input that another step makes is a dependency, declared or not. Only the declarations decide, so that
// a fresh checkout has the same order as one with earlier outputs.
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openWorkspace } from '../../../client/graph/opened-workspace.ts';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
});
afterEach(() => shop.remove());

const config = (steps: unknown, more: object = {}) =>
  shop.write('assay.json', JSON.stringify({ steps, ...more }));
const run = (...args: string[]) => runSteps(shop, args);
const open = () => openWorkspace(shop.workspace, shop.store, {});
const dependsOn = async (id: string) => (await open()).steps.get(id)?.dependsOn;
const text = (path: string) => readFileSync(join(shop.workspace, path), 'utf8');

/** Slow, so that a step that does not wait would run before the output exists. */
const BUILD = {
  command: 'sleep 0.3; mkdir dist && cp in.txt dist/app.txt',
  inputs: ['in.txt'],
  outputs: ['dist'],
};
const TEST = { command: 'cat dist/app.txt > report.txt', outputs: ['report.txt'] };

describe('an input at or below the output of another step makes an edge', () => {
  test.each<[string, object]>([
    ['the output itself', { inputs: ['dist'] }],
    ['a file in it', { inputs: ['dist/app.txt'] }],
    ['a pattern whose fixed prefix is in it', { inputs: ['dist/*.txt'] }],
    ['everything in it', { inputs: ['./dist/**'] }],
    ['alternatives of which one is in it', { inputs: ['{dist,other}/*.txt'] }],
    ['an optional input', { inputs: [], optionalInputs: ['dist/app.txt'] }],
  ])('%s', async (_, fields) => {
    config({ build: BUILD, test: { ...TEST, ...fields } });
    expect(await dependsOn('test')).toEqual(['build']);
  });

  test('a pattern in an ignored folder names the single files that steps make there', async () => {
    shop.write('.gitignore', 'out/\n');
    shop.write('in.txt', 'one');
    config({
      s1: {
        command: 'mkdir -p out/s1; cp in.txt out/s1/a.txt',
        inputs: ['in.txt'],
        outputs: ['out/s1/a.txt'],
      },
      s2: {
        command: 'mkdir -p out/s2; cp in.txt out/s2/b.txt',
        inputs: ['in.txt'],
        outputs: ['out/s2/b.txt'],
      },
      all: { command: 'cat out/s1/a.txt > all.txt', inputs: ['out/s1/**'], outputs: ['all.txt'] },
    });
    expect(await dependsOn('all')).toEqual(['s1']);
    for (const content of ['one', 'two']) {
      shop.write('in.txt', content);
      expect((await run('all')).summary.exitCode).toBe(0);
      expect(text('all.txt')).toBe(content);
    }
  });

  test('a test never sees the outputs of the previous build', async () => {
    config({ build: BUILD, test: { ...TEST, inputs: ['dist/app.txt'] } });
    shop.write('in.txt', 'old');
    await run('build', 'test');
    shop.write('in.txt', 'new');
    const { summary } = await run('test', 'build');
    expect(summary.exitCode).toBe(0);
    expect(text('report.txt')).toBe('new');
    expect(text('dist/app.txt')).toBe('new');
  });

  test('in a fresh checkout, the requested step also runs the other step', async () => {
    config({ build: BUILD, test: { ...TEST, inputs: ['dist/**'] } });
    shop.write('in.txt', 'one');
    const { ends, summary } = await run('test');
    expect(Object.keys(ends)).toEqual(['build', 'test']);
    expect(summary).toMatchObject({ exitCode: 0, misses: 2 });
    expect((await run('test')).outcomes).toEqual({ build: 'hit-local', test: 'hit-local' });
  });

  test('a program that another step makes is a dependency', async () => {
    config({
      make: { command: 'true', inputs: ['in.txt'], outputs: ['tool'] },
      line: { command: 'true && ./tool', inputs: [] },
      words: { command: ['./tool'], inputs: [], cwd: '.' },
      below: { command: ['../tool'], inputs: [], cwd: 'sub' },
      named: { command: 'true', inputs: [], tools: ['./tool'] },
      other: { command: ['/bin/tool', './tool'], inputs: [], tools: ['tool'] },
    });
    for (const step of ['line', 'words', 'below', 'named']) expect(await dependsOn(step)).toEqual(['make']);
    expect(await dependsOn('other')).toEqual([]);
  });

  test('dependencies across packages', async () => {
    const steps = (written: object) => JSON.stringify({ steps: written });
    shop.write('assay.json', JSON.stringify({ packages: ['lib', 'web'] }));
    shop.write('lib/assay.json', steps({ build: { command: 'x', inputs: ['a'], outputs: ['dist'] } }));
    shop.write(
      'web/assay.json',
      steps({
        test: { command: 'x', inputs: ['../lib/dist/**'] },
        check: { command: 'x', inputs: ['//lib/dist/a'] },
        lint: { command: 'x', inputs: ['dist/a'] },
      }),
    );
    expect(await dependsOn('web#test')).toEqual(['lib#build']);
    expect(await dependsOn('web#check')).toEqual(['lib#build']);
    expect(await dependsOn('web#lint')).toEqual([]);
  });

  test('a step is skipped if the other fails, affected if the other is, and drawn with its edge', async () => {
    config({ build: { ...BUILD, command: 'exit 3' }, test: { ...TEST, inputs: ['dist/**'] } });
    shop.write('in.txt', 'x');
    const { ends } = await run('--keep-going', 'test');
    expect(ends.test).toMatchObject({ outcome: 'skipped', reason: 'build did not succeed' });
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: shop.workspace });
    git('init', '--quiet', '--initial-branch=main');
    git('add', '.');
    git('commit', '--quiet', '--message', 'all');
    shop.write('in.txt', 'y');
    const affected = await shop.assay(['run', '--affected=main', '--dry-run', 'test']);
    expect(affected.stdout).toMatch(/^build {2}miss .*\ntest {2}unknown: build would run first\n$/);
    expect((await shop.assay(['run', '--graph'])).stdout).toContain('s0 --> s1');
  });

  test('a cycle names both steps and the file', async () => {
    config({
      build: { ...BUILD, dependsOn: ['test'] },
      test: { ...TEST, inputs: ['dist/app.txt'] },
    });
    shop.write('in.txt', 'x');
    const ran = await shop.assay(['run', 'test']);
    expect(ran.code).toBe(125);
    expect(ran.stderr).toContain(
      'ASSAY_STEP_CYCLE: test -> build (it makes dist, and test reads dist/app.txt) -> test',
    );
  });
});

describe('a pattern that covers the output of another step', () => {
  const refused = async () => {
    const why = await open().then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(why).toMatchObject({ code: 'ASSAY_INPUT_UNORDERED' });
    return String(why);
  };

  test.each<[string, object, string]>([
    ['every file', { inputs: ['**'] }, 'add "dependsOn": ["build"], or "!dist/**" to its "inputs"'],
    ['no inputs', {}, 'add "dependsOn": ["build"], or "inputs": ["**", "!dist/**"]'],
    ['a file extension', { inputs: ['**/*.txt'] }, '"!dist/**"'],
    ['ignored files, on purpose', { inputs: ['**'], includeIgnored: true }, '"!dist/**"'],
  ])('%s: is refused in a fresh checkout, with both remedies', async (_, fields, remedies) => {
    config({ build: BUILD, test: { command: 'true', ...fields } });
    shop.write('in.txt', 'x');
    const said = await refused();
    expect(said).toContain('assay.json: test ');
    expect(said).toContain('dist (from build)');
    expect(said).toContain(remedies);
  });

  test('is refused for a folder that contains the output, and for a file', async () => {
    config({
      gen: { command: 'true', inputs: ['in.txt'], outputs: ['src/gen'] },
      note: { command: 'true', inputs: ['in.txt'], outputs: ['note.txt'] },
      build: { command: 'true', inputs: ['src'] },
      test: { command: 'true', inputs: ['*.txt'] },
    });
    expect(await refused()).toContain('"!src/gen/**"');
    config({
      note: { command: 'true', inputs: ['in.txt'], outputs: ['note.txt'] },
      test: { command: 'true', inputs: ['*.txt'] },
    });
    expect(await refused()).toContain('or "!note.txt" to its "inputs"');
  });

  test('of a later step is refused, and only an exclusion is suggested', async () => {
    config({
      build: { command: 'true', inputs: ['**'], outputs: ['dist'] },
      test: { command: 'true', inputs: [], outputs: ['coverage'], dependsOn: ['build'] },
    });
    const said = await refused();
    expect(said).toContain('add "!coverage/**" to its "inputs"');
    expect(said).not.toContain('"dependsOn"');
  });

  test.each<[string, object]>([
    ['dependsOn', { inputs: ['**'], dependsOn: ['build', 'pack'] }],
    ['dependsOn of a later step', { inputs: ['**'], dependsOn: ['pack'] }],
    ['cache: false', { cache: false }],
    ['an exclusion', { inputs: ['**', '!dist/**', '!pack.tar'] }],
    ['an exclusion of all folders of that name', { inputs: ['**', '!**/dist/**', '!*.tar'] }],
    ['an exclusion and no inputs', { optionalInputs: ['!dist', '!pack.tar'] }],
  ])('is accepted with %s', async (_, fields) => {
    config({
      build: BUILD,
      pack: { command: 'tar cf pack.tar dist', inputs: ['dist'], outputs: ['pack.tar'] },
      test: { command: 'true', ...fields },
    });
    await expect(open()).resolves.toBeDefined();
  });

  test('a program without a file extension is excluded by the pattern that the error suggests', async () => {
    config({
      build: { command: 'cp in.txt main', inputs: ['in.txt'], outputs: ['main'] },
      test: { command: 'true', inputs: ['**', '!main/**'] },
    });
    shop.write('in.txt', 'x');
    await run('build', 'test');
    shop.write('in.txt', 'y');
    const { ends } = await run('--jobs', '1', 'build', 'test');
    expect(ends.test?.reason).toBe('in.txt changed');
  });

  test('is accepted while .gitignore hides the output', async () => {
    config({ build: BUILD, test: { command: 'true' }, lint: { command: 'true', inputs: ['**'] } });
    shop.write('in.txt', 'x');
    shop.write('.gitignore', 'dist/\n');
    for (const _ of [1, 2, 3]) expect((await run('build', 'test', 'lint')).summary.exitCode).toBe(0);
    rmSync(join(shop.workspace, '.gitignore'));
    await refused();
  });

  test('is accepted if the pattern cannot match the output', async () => {
    config({
      build: BUILD,
      note: { command: 'true', inputs: ['in.txt'], outputs: ['reports/note.txt'] },
      test: { command: 'true', inputs: ['*.txt', 'src/**/*.ts', 'reports/**/*.md', 'dis*t.c'] },
    });
    await expect(open()).resolves.toBeDefined();
  });
});

describe('a step that reads another step’s output without declaring it', () => {
  const STEPS = {
    build: { command: 'mkdir dist && cp in.txt dist/app.txt', inputs: ['in.txt'], outputs: ['dist'] },
    test: { command: 'cat dist/app.txt', inputs: [] },
  };

  test.each<[string, object]>([
    ['declared inputs', {}],
    ['observed inputs', { observed: true }],
  ])('gets a warning to depend on it: %s', async (_, fields) => {
    config({ ...STEPS, test: { ...STEPS.test, ...fields } });
    shop.write('in.txt', 'x');
    await run('build');
    const { events } = await run('test');
    const warning = events.find(({ type }) => type === 'step-warning');
    expect(warning?.text).toContain('dist/app.txt ("dependsOn": ["build"])');
  });

  test('gets no warning for listing the workspace itself', async () => {
    config({ ...STEPS, look: { command: 'ls . .. > /dev/null', inputs: [] } });
    shop.write('in.txt', 'x');
    expect((await run('look')).ends.look).toMatchObject({ outcome: 'miss', exitCode: 0 });
  });

  test('gets the dependency from audit --fix', async () => {
    config(STEPS);
    shop.write('in.txt', 'x');
    await run('build');
    await shop.assay(['audit', '--fix', 'test']);
    expect(JSON.parse(text('assay.json')).steps.test).toEqual({ ...STEPS.test, dependsOn: ['build'] });
    expect((await shop.assay(['audit', 'test'])).code).toBe(0);
  });
});
