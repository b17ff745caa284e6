// A command that reads the ignore file of Assay's own folder, as git does: the file is there only while Assay works in
// the workspace, so it is no reason for a miss. A file of somebody else in its place is one.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IGNORE_STATE, IGNORES_ALL } from '../../../system/paths/assay-folder.ts';
import { Workshop } from '../../rig/assay.ts';
import { ServerProcess } from '../../rig/server.ts';

const READ = 'cat .assay/.gitignore in';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('in', '1\n');
});

afterEach(() => shop.remove());

const run = (script: string, ...more: string[]) =>
  shop.run([...more, '--input', 'in', '--output', 'o', '--', 'sh', '-c', script]);

test('the state is that of the content', () => {
  expect(IGNORE_STATE).toBe(`file ${createHash('sha256').update(IGNORES_ALL).digest('hex')}`);
});

test('an unchanged step is found in place by its stats, and restored', async () => {
  expect((await run(`${READ} >o`)).summary).toMatchObject({ outcome: 'miss', published: true });
  expect((await run(`${READ} >o`)).summary.outcome).toBe('hit-local');
  expect((await run(`${READ} >o`)).summary).toMatchObject({
    outcome: 'hit-local',
    receipt: { compared: 'stats' },
  });
  rmSync(join(shop.workspace, 'o'));
  expect((await run(`${READ} >o`)).summary.outcome).toBe('hit-local');
  expect(readFileSync(join(shop.workspace, 'o'), 'utf8')).toBe(`${IGNORES_ALL}1\n`);
});

test('an ignore file with other content is a miss', async () => {
  await run(`${READ} >o`);
  shop.write('.assay/.gitignore', 'x\n');
  expect((await run(`${READ} >o`)).summary.outcome).toBe('miss');
  expect(readFileSync(join(shop.workspace, 'o'), 'utf8')).toBe('x\n1\n');
});

test('a clone takes the result from a server, also while another run works in it', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'served'));
  try {
    const clone = shop.another('clone');
    shop.write('in', '1\n', 0o644, clone);
    for (const folder of [shop.workspace, clone]) execFileSync('git', ['init', '-q', folder]);
    const command = [
      '--remote',
      server.url,
      '--input',
      'in',
      '--output',
      'o',
      '--',
      'sh',
      '-c',
      `${READ} >o`,
    ];
    expect((await shop.run(command)).summary).toMatchObject({ shared: true });
    // The state in which another run of the clone leaves it for a while.
    shop.write('.assay/.gitignore', IGNORES_ALL, 0o644, clone);
    const elsewhere = ['--store', join(shop.folder, 'store-2')];
    expect((await shop.run([...elsewhere, ...command], { cwd: clone })).summary.outcome).toBe('hit-remote');
  } finally {
    await server.stop();
  }
});
