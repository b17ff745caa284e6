// `assay checkpoint list`, `show`, `restore` and `drop`: what is stored of the steps that did not finish.
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { rot } from '../../../test/rig/stores/rot.ts';

let shop: Workshop;
const closers: (() => Promise<void>)[] = [];

beforeEach(() => {
  shop = new Workshop();
});

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
  shop.remove();
});

const NUMBER = (number: number) => `${number}\n`.repeat(50_000);

/** Seals two checkpoints and fails. */
const FAILING = [
  'seal() { : > $ASSAY_CHECKPOINT_DESK/r.request; while [ -e $ASSAY_CHECKPOINT_DESK/r.request ]; do sleep 0.02; done; }',
  'for i in 1 2; do yes $i | head -n 50000 > state/n; seal; done; exit 1',
].join('\n');

async function seal(...args: string[]): Promise<string> {
  const run = ['--output', 'made', '--checkpoint', 'state', ...args, '--', 'sh', '-c', FAILING];
  const { summary } = await shop.run(run);
  expect(summary.exitCode).toBe(1);
  return summary.key;
}

interface Listed {
  readonly checkpoints: readonly {
    readonly key: string;
    readonly number: number;
    readonly from: string;
    readonly step: string;
    readonly owner: string;
    readonly takenAt: string;
    readonly bytes: number;
    readonly files: number;
    readonly valid: boolean;
    readonly fault?: string;
  }[];
}

async function list(...args: string[]): Promise<Listed['checkpoints']> {
  const { code, stdout, stderr } = await shop.assay(['checkpoint', 'list', '--json', ...args]);
  expect(code, stderr).toBe(0);
  const listed: Listed = JSON.parse(stdout);
  return listed.checkpoints;
}

test('a list says of each checkpoint when it was sealed, where, how large it is, and that it is valid', async () => {
  const key = await seal('--env', 'ASSAY_WHERE=ci-7');
  const found = await list();
  expect(found.map(({ number }) => number)).toEqual([2, 1]);
  expect(found[0]).toMatchObject({
    key,
    from: 'local',
    step: 'sh → made',
    valid: true,
    files: 1,
    bytes: 100_000,
  });
  expect(Date.parse(found[0]?.takenAt ?? '')).toBeGreaterThan(Date.parse(found[1]?.takenAt ?? ''));
  expect(found[0]?.owner).not.toBe('');
  const { stdout } = await shop.assay(['checkpoint', 'show', 'sh → made', '1']);
  expect(stdout).toContain('state/n (97.7 KiB)');
});

test('the newest valid checkpoint is restored into a folder, a damaged one is named and skipped', async () => {
  const key = await seal();
  rot(shop.store, NUMBER(2));
  const look = join(shop.folder, 'look');
  const { code, stderr } = await shop.assay(['checkpoint', 'restore', '--into', look, key.slice(0, 12)]);
  expect(code, stderr).toBe(0);
  expect(stderr).toContain('checkpoint 2 is skipped');
  expect(readFileSync(join(look, 'state/n'), 'utf8')).toBe(NUMBER(1));
  expect(shop.has('made')).toBe(false);
  expect((await list()).map(({ number, valid }) => [number, valid])).toEqual(
    expect.arrayContaining([
      [2, false],
      [1, true],
    ]),
  );
  const again = await shop.assay(['checkpoint', 'restore', '--into', look, key]);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('is not empty');
});

test('a run that skips a damaged checkpoint says which', async () => {
  await seal();
  rmSync(join(shop.workspace, 'state'), { recursive: true });
  rot(shop.store, NUMBER(2));
  const { stderr, summary } = await shop.run([
    ...['--output', 'made', '--checkpoint', 'state'],
    ...['--', 'sh', '-c', FAILING],
  ]);
  expect(stderr).toContain('checkpoint 2 is skipped');
  expect(summary.warnings).toContain('starting from checkpoint 1');
});

test('checkpoints are dropped by number and by age, also damaged ones', async () => {
  await seal();
  const { stderr, code } = await shop.assay(['checkpoint', 'drop']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('say which')]);
  await shop.assay(['checkpoint', 'drop', '--older-than', '1h']);
  expect(await list()).toHaveLength(2);
  rot(shop.store, NUMBER(2));
  await list();
  await shop.assay(['checkpoint', 'drop', '--keep', '1']);
  expect((await list()).map(({ number, valid }) => [number, valid])).toEqual([[1, true]]);
  await shop.assay(['checkpoint', 'drop', 'sh → made']);
  expect(await list()).toEqual([]);
});

test('the checkpoints of an action at the remote are listed and restored, too', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  closers.push(() => server.stop());
  const key = await seal('--remote', server.url);
  const store = join(shop.folder, 'other-store');
  const at = ['--remote', server.url, '--store', store];
  expect(await list(...at)).toEqual([]);
  const [newest] = await list(...at, key);
  expect(newest).toMatchObject({ key, number: 2, from: 'remote', valid: true, bytes: 100_000 });
  const look = join(shop.folder, 'look');
  const restored = await shop.assay(['checkpoint', 'restore', ...at, '--into', look, key]);
  expect(restored.code, restored.stderr).toBe(0);
  expect(readFileSync(join(look, 'state/n'), 'utf8')).toBe(NUMBER(2));
});

test('all checkpoints that two runs have sent to the remote are listed', async () => {
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  closers.push(() => server.stop());
  const at = (name: string) => ['--remote', server.url, '--store', join(shop.folder, name)];
  await seal(...at('first'));
  const key = await seal(...at('second'));
  const found = await list(...at('third'), key);
  // Each run has sent its newest; those before may be overtaken.
  expect(found.map(({ number }) => number)).toEqual(expect.arrayContaining([4, 2]));
  expect(found[0]).toMatchObject({ number: 4, from: 'remote', valid: true });
});

test('bare `assay checkpoint` is for the command of a step, and refuses other words', async () => {
  const { code, stderr } = await shop.assay(['checkpoint', 'lst']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('list, show, restore or drop')]);
  expect(existsSync(shop.store)).toBe(false);
});
