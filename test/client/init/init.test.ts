// A first configuration is what was seen: it runs, it hits, and what it was not sure of is said.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseDocument } from '../../../client/config/document.ts';
import { Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write('src/a.txt', 'hi\n');
});
afterEach(() => shop.remove());

const written = () => readFileSync(join(shop.workspace, 'assay.json'), 'utf8');

const configured = () => {
  const withoutRemarks = written().replaceAll(/^ *\/\/.*\n/gm, '');
  return JSON.parse(withoutRemarks).steps;
};

describe('from scripts', () => {
  beforeEach(() => {
    shop.write(
      'package.json',
      JSON.stringify({
        scripts: {
          build: 'mkdir -p dist && tr a-z A-Z < src/a.txt > dist/a.txt',
          test: 'grep -q HI dist/a.txt',
          dev: 'sleep 1000',
        },
      }),
    );
  });

  test('inputs, outputs and order are those that were seen; then everything hits', async () => {
    const { code, stderr } = await shop.assay(['init']);
    expect(code, stderr).toBe(0);
    expect(stderr).toContain('wrote assay.json with build, test');
    const { steps } = JSON.parse(written());
    expect(steps).toMatchObject({
      build: { inputs: ['src/**'], outputs: ['dist'] },
      test: { inputs: [], dependsOn: ['build'] },
    });
    expect(steps.dev).toBeUndefined();
    rmSync(join(shop.workspace, 'dist'), { recursive: true });
    expect((await runSteps(shop, ['test'])).outcomes).toEqual({ build: 'miss', test: 'miss' });
    expect((await runSteps(shop, ['test'])).outcomes).toEqual({ build: 'hit-local', test: 'hit-local' });
  });

  test('a file that is there is not replaced, a script that is not there not invented', async () => {
    expect(await shop.assay(['init', 'biuld'])).toMatchObject({ code: 2 });
    expect(existsSync(join(shop.workspace, 'assay.json'))).toBe(false);
    shop.write('assay.json', '{}');
    expect((await shop.assay(['init'])).stderr).toContain('assay.json is there already');
    expect(written()).toBe('{}');
  });
});

describe('in a workspace of packages', () => {
  beforeEach(() => {
    const manifest = (folder: string, content: object) =>
      shop.write(`${folder}package.json`, JSON.stringify(content));
    const scripts = { build: 'npm run build --workspaces', format: 'true' };
    manifest('', { workspaces: ['packages/*'], scripts });
    manifest('packages/app/', {
      name: 'app',
      dependencies: { lib: '1.0.0' },
      scripts: {
        build: 'cat src/main ../lib/dist/* ../../shared.txt > app.out',
        test: 'grep -q lib app.out',
      },
    });
    manifest('packages/lib/', {
      name: 'lib',
      scripts: { build: 'mkdir -p dist && cp src/text dist/text' },
    });
    shop.write('packages/app/src/main', 'main\n');
    shop.write('packages/lib/src/text', 'lib\n');
    shop.write('shared.txt', 'shared\n');
  });

  const stepsIn = (folder: string) =>
    JSON.parse(readFileSync(join(shop.workspace, folder, 'assay.json'), 'utf8')).steps;

  test('each package gets a file; what it needs of others is run first, and depended on', async () => {
    const { code, stderr } = await shop.assay(['init']);
    expect(code, stderr).toBe(0);
    expect(stepsIn('')).toEqual({});
    expect(stepsIn('packages/lib')).toEqual({ build: { inputs: ['src/**'], outputs: ['dist'] } });
    expect(stepsIn('packages/app')).toEqual({
      build: { inputs: ['src/**', '//shared.txt'], outputs: ['app.out'], dependsOn: ['^build'] },
      test: { inputs: [], dependsOn: ['build'] },
    });
    const all = (outcome: string) => ({ 'app#build': outcome, 'app#test': outcome, 'lib#build': outcome });
    expect((await runSteps(shop, ['build', 'test'])).outcomes).toEqual(all('miss'));
    expect((await runSteps(shop, ['build', 'test'])).outcomes).toEqual(all('hit-local'));
  });

  test('nothing is run or written where one of them has a file already', async () => {
    shop.write('packages/lib/assay.json', '{}');
    const { code, stderr } = await shop.assay(['init']);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('packages/lib/assay.json is there already'),
    });
    expect(existsSync(join(shop.workspace, 'assay.json'))).toBe(false);
    expect(existsSync(join(shop.workspace, 'packages/lib/dist'))).toBe(false);
  });
});

test('from a Makefile', async () => {
  shop.write('Makefile', 'OUT := out\nall: $(OUT)/b\n$(OUT)/b: src/a.txt\n\tmkdir -p $(OUT)\n\tcp $< $@\n');
  expect((await shop.assay(['init'])).stderr).toContain('wrote assay.json with all');
  expect(JSON.parse(written()).steps.all).toMatchObject({
    command: ['make', 'all'],
    inputs: ['Makefile', 'src/**'],
    outputs: ['out'],
  });
});

describe('in a tree that is already built', () => {
  const begin = 'clean up, remove what init wrote, and run it again';

  test('a Makefile that is up to date: what was made before is no input, and the way out is said', async () => {
    shop.write('.gitignore', 'out\n');
    shop.write('Makefile', 'all: out/b\nout/b: src/a.txt\n\tmkdir -p out\n\tcp $< $@\n');
    await shop.assay(['run', '--hermetic=off', '--output', 'out', '--', 'make', 'all']);
    const { stderr } = await shop.assay(['init']);
    expect(stderr).toContain(`not sure of all: it reads what .gitignore hides, which is not declared: out.`);
    expect(stderr).toContain(begin);
    expect(configured().all).toEqual({ command: ['make', 'all'], inputs: ['Makefile', 'src/**'] });
    expect((await shop.assay(['run', 'all'])).code).toBe(0);
  });

  test('a script that skips its work, where nothing is ignored', async () => {
    shop.write('dist/a.txt', 'HI\n');
    shop.write('package.json', JSON.stringify({ scripts: { build: 'test -f dist/a.txt' } }));
    expect((await shop.assay(['init'])).stderr).toContain(`not sure of build: it made nothing. If all of it`);
  });

  test('what a step reads of what another just made is its input, though it is ignored', async () => {
    shop.write('.gitignore', 'dist\n');
    const scripts = { build: 'mkdir -p dist && cp src/a.txt dist/a.txt', test: 'cat dist/a.txt' };
    shop.write('package.json', JSON.stringify({ scripts }));
    expect((await shop.assay(['init'])).stderr).not.toContain('.gitignore hides');
    expect(configured().test).toEqual({ inputs: [], dependsOn: ['build'] });
  });
});

test('a folder that was looked for and is not there is no input: a run would find nothing in it', async () => {
  shop.write('package.json', JSON.stringify({ scripts: { test: 'cat src/a.txt; test -f gone/x || true' } }));
  await shop.assay(['init']);
  expect(configured().test).toEqual({ inputs: ['src/**'] });
  expect((await shop.assay(['run', 'test'])).code).toBe(0);
});

test('variables can’t be seen: it says so, and names those that appear in what is read', async () => {
  shop.write('src/x.js', 'process.env.MODE; process.env["API_URL"]; process.env.HOME');
  shop.write('package.json', JSON.stringify({ scripts: { test: 'N=1; cat src/x.js; echo $CI $N' } }));
  const { stderr } = await shop.assay(['init']);
  expect(stderr).toContain('not sure of variables: which ones a command looks at can’t be seen');
  expect(stderr).toMatch(/not sure of test: variables that it may look at.*: API_URL, CI, MODE\n/);
});

test('right after init of packages that import each other an audit finds nothing', async () => {
  const build = 'mkdir -p dist && cp src/index.js dist/';
  const test = 'node --input-type=module -e "await import(\'./dist/index.js\')"';
  const lint = 'grep -c name src/index.js';
  shop.write('.gitignore', 'node_modules\ndist\n');
  shop.write('package.json', JSON.stringify({ workspaces: ['packages/*'] }));
  const add = (name: string, dependencies: Record<string, string>, source: string) => {
    const manifest = { name: `@x/${name}`, type: 'module', exports: './dist/index.js', dependencies };
    const scripts = { build, test, lint };
    shop.write(`packages/${name}/package.json`, JSON.stringify({ ...manifest, scripts }));
    shop.write(`packages/${name}/src/index.js`, `${source}export const name = '${name}';\n`);
    shop.link(`node_modules/@x/${name}`, `../../packages/${name}`);
  };
  add('util', {}, '');
  add('ui', { '@x/util': '1' }, 'import "@x/util";\n');
  add('app', { '@x/ui': '1', '@x/util': '1' }, 'import "@x/ui"; import "@x/util";\n');
  expect((await shop.assay(['init'])).code).toBe(0);
  const { code, stdout } = await shop.assay(['audit', '--all']);
  expect([code, stdout]).toEqual([0, expect.stringContaining('9 of 9 steps are hermetic')]);
});

test('what it is not sure of stands beside the step, and is said', async () => {
  shop.write('package.json', JSON.stringify({ scripts: { test: 'cat src/a.txt; exit 3' } }));
  const { stderr } = await shop.assay(['init']);
  expect(stderr).toContain('not sure of test: it ended with 3');
  expect(written()).toContain('// Not sure: it ended with 3');
  expect(() => parseDocument({ file: 'assay.json', text: written() })).not.toThrow();
});
