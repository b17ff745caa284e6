// An action with its outputs in place is remembered, and asks the store nothing while all that decided so stays as it is.
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

/** A run, and a hit that finds everything in place long after it was made. */
async function buildTwice() {
  await build();
  await settled(path('out'));
  return build();
}

/** The store itself, apart from what the client keeps beside it. */
const hideStore = () => renameSync(join(shop.store, 'v4'), join(shop.folder, 'hidden'));

describe('while outputs lie as they lay', () => {
  test('a hit needs nothing of the store, and says what the command said', async () => {
    expect((await buildTwice()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0 });
    const made = describeTree(shop.workspace);
    hideStore();
    const third = await build();
    expect(third.summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 0, exitCode: 0 });
    expect(third.stdout).toBe('made\n');
    expect(describeTree(shop.workspace)).toEqual(made);
  });
});

describe('the store is asked again', () => {
  test.each<[string, () => void]>([
    ['when a file’s content changed', () => writeFileSync(path('out/deep/file'), 'INPUT')],
    ['when a file’s mode changed', () => chmodSync(path('out/deep/file'), 0o755)],
    ['when a file is gone', () => rmSync(path('out/deep/file'))],
    ['when a file came', () => writeFileSync(path('out/deep/more'), 'more')],
    ['when a folder came', () => mkdirSync(path('out/deep/empty/more'))],
    ['when a link is gone', () => rmSync(path('out/link'))],
    ['when all is gone', () => rmSync(path('out'), { recursive: true })],
  ])('%s, and puts right what is wrong', async (_, spoil) => {
    await buildTwice();
    const made = describeTree(shop.workspace);
    spoil();
    expect((await build()).summary).toMatchObject({ outcome: 'hit-local', outputsWritten: 1 });
    expect(describeTree(shop.workspace)).toEqual(made);
  });

  test('when an input changed', async () => {
    await buildTwice();
    shop.write('in.txt', 'another input');
    expect((await build()).summary.outcome).toBe('miss');
  });

  test('when a declared variable has another value', async () => {
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

  test('when a tool changed, though nothing else did', async () => {
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

  test('when the memory is torn or foreign', async () => {
    await buildTwice();
    hideStore();
    const memos = join(shop.store, 'client', 'actions');
    for (const name of readdirSync(memos)) writeFileSync(join(memos, name), 'not a memory at all');
    expect((await build()).summary.outcome).toBe('miss');
  });
});
