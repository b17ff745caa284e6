// The three faults of caches that Assay prevents, each with the guarantee that prevents it.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FORMS, type Form, type RanWithSummary, type RunOptions, Workshop } from '../../rig/assay.ts';
import { changed } from './misses.ts';

const FLAGS = ['--input', 'src/**', '--output', 'out', '--env', 'MODE', '--tool', 'stamp'];
const BUILD = ['sh', '-c', 'mkdir -p out && { cat src/*.txt; echo "$MODE$LEAK"; stamp; } > out/all.txt'];

describe.each(Object.keys(FORMS) as Form[])('%s', (form) => {
  let shop: Workshop;
  let toolFolder: string;

  const build = (options: RunOptions = {}): Promise<RanWithSummary> => {
    const PATH = `${toolFolder}:${process.env.PATH}`;
    return shop.run([...FLAGS, '--', ...BUILD], {
      form,
      ...options,
      env: { PATH, MODE: 'debug', ...options.env },
    });
  };
  const output = () => readFileSync(join(shop.workspace, 'out/all.txt'), 'utf8');

  beforeEach(() => {
    shop = new Workshop();
    shop.write('src/a.txt', 'first\n');
    shop.write('src/b.txt', 'second\n');
    toolFolder = shop.another('tools');
    shop.write('stamp', '#!/bin/sh\necho stamp 1\n', 0o755, toolFolder);
  });

  afterEach(() => shop.remove());

  test('the same action is a hit, with the same output, log and exit code', async () => {
    const first = await build();
    expect(first.summary).toMatchObject({ outcome: 'miss', published: true, exitCode: 0 });
    const made = output();
    rmSync(join(shop.workspace, 'out'), { recursive: true });
    const second = await build();
    expect(second.summary).toMatchObject({ outcome: 'hit-local', key: first.summary.key, exitCode: 0 });
    expect(output()).toBe(made);
    expect(second.stdout).toBe(first.stdout);
  });

  test('a changed declared input is a miss', async () => {
    const { summary } = await build();
    shop.write('src/a.txt', 'FIRST\n');
    const next = await build();
    expect(next.summary).toMatchObject({ outcome: 'miss', reason: 'src/a.txt changed' });
    expect(next.summary.key).not.toBe(summary.key);
    expect(output()).toContain('FIRST');
  });

  test('a changed declared variable is a miss', async () => {
    await build();
    const next = await build({ env: { MODE: 'release' } });
    expect(next.summary).toMatchObject({ outcome: 'miss', reason: changed('variable', 'MODE') });
    expect(output()).toContain('release');
  });

  test('a changed tool is a miss', async () => {
    await build();
    shop.write('stamp', '#!/bin/sh\necho stamp 2\n', 0o755, toolFolder);
    const next = await build();
    expect(next.summary).toMatchObject({ outcome: 'miss', reason: changed('tool', 'stamp') });
    expect(output()).toContain('stamp 2');
  });

  test('an undeclared variable cannot change the output', async () => {
    await build();
    const made = output();
    rmSync(join(shop.workspace, 'out'), { recursive: true });
    const next = await build({ env: { LEAK: 'leaked' } });
    expect(next.summary.outcome).toBe('hit-local');
    expect(output()).toBe(made);
    rmSync(shop.store, { recursive: true });
    expect((await build({ env: { LEAK: 'leaked' } })).summary.outcome).toBe('miss');
    expect(output()).toBe(made);
  });
});
