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

test('what it is not sure of stands beside the step, and is said', async () => {
  shop.write('package.json', JSON.stringify({ scripts: { test: 'cat src/a.txt; exit 3' } }));
  const { stderr } = await shop.assay(['init']);
  expect(stderr).toContain('not sure of test: it ended with 3');
  expect(written()).toContain('// Not sure: it ended with 3');
  expect(() => parseDocument({ file: 'assay.json', text: written() })).not.toThrow();
});
