// I2 after a power loss: strace records every system call of a process that fills a store. Then the test lays
//    out the disk as a power loss at each moment may have left it, and opens the store on it.
//
// It relies on what sync promises. A disk that ignores syncs is out of scope.
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { keepFigures } from '../rig/figures.ts';
import { makeQuickFolder } from '../rig/folders.ts';
import { soak } from '../rig/soak.ts';
import type { Verdict } from './power/checker.ts';
import { RECORDED_CALLS } from './power/recording.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const ITEMS = 12;
const SAMPLES = soak(10_000, 600);
const LONGEST_STRING = 4_000_000;

const run = promisify(execFile);
const script = (name: string) => join(import.meta.dirname, 'power', `${name}.ts`);

let folder = '';
beforeEach(() => {
  // In memory if possible: thousands of stores are opened, and their syncs do not matter.
  folder = makeQuickFolder();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test(`power loss: every cut and ${SAMPLES} reorderings between syncs, 0 wrong bytes, 0 acknowledged lost (seed ${SEED})`, {
  timeout: 600_000,
}, async () => {
  const root = join(folder, 'recorded', 'store');
  mkdirSync(join(folder, 'recorded'));
  await record(root);
  const verdict = await check(root);
  expect(verdict).toMatchObject({ wrong: [], lost: [], unusable: [] });
  expect(verdict.acknowledged).toBe(2 * ITEMS);
  expect(verdict.syncs).toBeGreaterThan(ITEMS);
  const { cuts, samples, operations, syncs, acknowledged } = verdict;
  keepFigures('power-loss', {
    'recorded operations': operations,
    syncs,
    cuts: 2 * cuts,
    reorderings: samples,
    acknowledged,
    'wrong bytes': 0,
    'acknowledged lost': 0,
    'stores that did not open': 0,
    seed: SEED,
  });
});

async function record(root: string): Promise<void> {
  const strace = ['-f', '--seccomp-bpf', '-xx', '-s', String(LONGEST_STRING), '-o', join(folder, 'trace')];
  await run('strace', [
    ...strace,
    '-e',
    `trace=${RECORDED_CALLS.join()}`,
    process.execPath,
    script('writer'),
    root,
    String(SEED),
    String(ITEMS),
  ]);
}

async function check(root: string): Promise<Verdict> {
  const args = [script('checker'), folder, root, String(SEED), String(ITEMS), String(SAMPLES)];
  try {
    const { stdout } = await run(process.execPath, args);
    return JSON.parse(stdout);
  } catch (cause) {
    const current = join(folder, 'current');
    const at = existsSync(current) ? readFileSync(current, 'utf8') : 'the recording, before the first store';
    throw new Error(`the checker ended at: ${at}`, { cause });
  }
}
