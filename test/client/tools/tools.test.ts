// Tools are in the key by content, whatever their path, with everything that they load at the start.
import { renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;
let tools: string;

beforeEach(() => {
  shop = new Workshop();
  tools = shop.another('tools');
});

afterEach(() => shop.remove());

const withTools = (folder = tools) => ({ env: { PATH: `${folder}:${process.env.PATH}` } });
const tool = (name: string, content: string, folder = tools) => shop.write(name, content, 0o755, folder);

test('the same tool in another folder gives the same key', async () => {
  tool('gen', '#!/bin/sh\necho gen\n');
  const first = await shop.run(['--', 'gen'], withTools());
  renameSync(tools, join(shop.folder, 'moved'));
  const second = await shop.run(['--', 'gen'], withTools(join(shop.folder, 'moved')));
  expect(second.summary).toMatchObject({ outcome: 'hit-local', key: first.summary.key });
});

test('a script’s interpreter is in the key, also through env', async () => {
  tool('speak', '#!/bin/sh\necho one: "$@"\n');
  tool('direct', `#!${tools}/speak\n`);
  tool('by-env', '#!/usr/bin/env speak\n');
  const before = [
    await shop.run(['--', 'direct'], withTools()),
    await shop.run(['--', 'by-env'], withTools()),
  ];
  tool('speak', '#!/bin/sh\necho two: "$@"\n');
  const after = [
    await shop.run(['--', 'direct'], withTools()),
    await shop.run(['--', 'by-env'], withTools()),
  ];
  expect(before.map(({ code }) => code)).toEqual([0, 0]);
  expect(after.map(({ summary }) => summary.outcome)).toEqual(['miss', 'miss']);
  expect(after[1]?.stdout).toContain('two:');
});

test('a tool in an npm package is keyed by the package’s version', async () => {
  const folder = 'node_modules/lib';
  shop.write(`${folder}/bin/lib.js`, '#!/bin/sh\necho stub\n', 0o755);
  shop.write(`${folder}/package.json`, '{"version":"1.0.0"}');
  symlinkSync('../lib/bin/lib.js', join(shop.another('workspace/node_modules/.bin'), 'lib'));
  const bin = withTools(join(shop.workspace, 'node_modules/.bin'));
  const first = await shop.run(['--', 'lib'], bin);
  expect((await shop.run(['--', 'lib'], bin)).summary.outcome).toBe('hit-local');
  writeFileSync(join(shop.workspace, folder, 'package.json'), '{"version":"1.0.1"}');
  const next = await shop.run(['--', 'lib'], bin);
  expect(next.summary.outcome).toBe('miss');
  expect(next.summary.key).not.toBe(first.summary.key);
});

test('the command finds a declared tool under its own name, and the tool sees its own path', async () => {
  shop.write('data', 'beside the tool\n', 0o644, tools);
  tool("it's", '#!/bin/sh\ncat "$(dirname "$0")/data"; echo "$@"\n');
  const ran = await shop.run(['--tool', "it's", '--', 'sh', '-c', '"it\'s" a "b c"'], withTools());
  expect(ran.stdout).toBe('beside the tool\na b c\n');
});

test('an undeclared tool outside the base is not found', async () => {
  tool('gen', '#!/bin/sh\necho gen\n');
  const ran = await shop.run(['--', 'sh', '-c', 'gen'], withTools());
  expect(ran.code).toBe(127);
});

test.each([
  ['a tool', ['--tool', 'no-such-tool', '--', 'true'], 125, 'ASSAY_TOOL_NOT_FOUND'],
  ['the command', ['--', 'no-such-command'], 127, 'ASSAY_COMMAND_NOT_FOUND'],
  ['a command in the workspace', ['--', './nothing'], 127, 'ASSAY_COMMAND_NOT_FOUND'],
  ['a command that is a folder', ['--', './.'], 127, 'ASSAY_COMMAND_NOT_FOUND'],
])('%s that does not exist is refused by name', async (_name, args, code, error) => {
  const ran = await shop.assay(['run', '--json', ...args]);
  expect(ran.code).toBe(code);
  expect(ran.stderr).toContain(error);
  expect(JSON.parse(ran.stderr.trim().split('\n').at(-1) ?? '')).toMatchObject({
    exitCode: code,
    error: { code: error },
  });
});
