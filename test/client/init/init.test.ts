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
    expect((await shop.assay(['init'])).stderr).toContain('there is an assay.json already');
    expect(written()).toBe('{}');
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
