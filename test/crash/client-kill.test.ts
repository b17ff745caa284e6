// kill -9 of the client while it runs a command or restores outputs, at seeded moments. The next run is
// right, whatever the killed one left behind.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { assayFolder } from '../../client/outputs/staging.ts';
import { baseEnvironment, FORMS, Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { soak } from '../rig/soak.ts';
import { describeTree } from '../rig/tree.ts';

const KILLS = soak(1_000, 30);
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20261115);

let shop: Workshop;
/** The folders of the commands. */
let temporary: string;

beforeEach(() => {
  shop = new Workshop();
  temporary = join(shop.folder, 'temporary');
  mkdirSync(temporary);
  shop.script(
    'make.sh',
    'mkdir -p out/deep/empty',
    'for i in 1 2 3 4 5 6; do { cat in.txt; echo $i; } > out/$i; sleep 0.01; done',
    'head -c 400000 /dev/zero > out/deep/large; cat in.txt >> out/deep/large',
    'ln -s deep/large out/link; printf "#!/bin/sh\\n" > out/tool; chmod +x out/tool',
    'cp in.txt copy; echo done',
  );
});

afterEach(() => shop.remove());

const ARGS = [
  'run',
  '--json',
  '--input',
  'in.txt',
  '--input',
  'make.sh',
  '--output',
  'out',
  '--output',
  'copy',
  '--',
  './make.sh',
];
const [PROGRAM, ...BEFORE] = FORMS.bundle;

/** How long an undisturbed run takes here. Kills come within that time. */
async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Returns how long the run took if it ended before the kill, and undefined if it was killed. */
async function runKilled(afterMs: number): Promise<number | undefined> {
  const began = performance.now();
  const child = spawn(PROGRAM, [...BEFORE, ...ARGS], {
    cwd: shop.workspace,
    env: { ...baseEnvironment(), ASSAY_STORE: shop.store, TMPDIR: temporary },
    stdio: 'ignore',
  });
  let tookMs: number | undefined;
  child.once('exit', () => {
    tookMs = performance.now() - began;
  });
  const ended = once(child, 'exit');
  await wait(afterMs);
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL' ? undefined : tookMs;
}

const run = () => shop.run(ARGS.slice(2), { form: 'bundle', env: { TMPDIR: temporary } });
const clear = () => {
  for (const name of ['out', 'copy']) rmSync(join(shop.workspace, name), { recursive: true, force: true });
};
const outputs = () => describeTree(shop.workspace).filter((line) => /^(out|copy)/.test(line));

test(`the next run is right after ${KILLS} kills in run and restore (seed ${SEED})`, {
  timeout: 3_600_000,
}, async () => {
  const random = new Random(SEED);
  const seen = { killed: 0, misses: 0, hits: 0 };
  shop.write('in.txt', 'warm up');
  const longest = { miss: await timed(run), hit: 0 };
  clear();
  longest.hit = await timed(run);
  for (let kill = 0; kill < KILLS; kill++) {
    const content = `content ${kill}`;
    shop.write('in.txt', content);
    const expected = await undisturbed(content);
    clear();
    const kind = kill % 2 === 1 ? 'hit' : 'miss';
    if (kind === 'hit') {
      await run();
      clear();
    }
    const tookMs = await runKilled(random.below(Math.ceil(longest[kind])));
    if (tookMs === undefined) seen.killed++;
    // The machine was slower when the first runs were timed.
    else longest[kind] = Math.min(longest[kind], tookMs);
    const next = await run();
    expect(next, `kill ${kill}`).toMatchObject({ code: 0, summary: { exitCode: 0 } });
    expect(outputs(), `kill ${kill}: outputs of the run after it`).toEqual(expected);
    if (next.summary.outcome === 'miss') {
      seen.misses++;
      expect(readdirSync(temporary), `kill ${kill}: temporary files left behind`).toEqual([]);
    } else seen.hits++;
    clear();
    expect((await run()).summary.outcome, `kill ${kill}: the run after that`).toBe('hit-local');
    expect(outputs(), `kill ${kill}: restored outputs`).toEqual(expected);
    const left = [shop.workspace, shop.folder].filter((folder) => existsSync(assayFolder(folder)));
    expect(left, `kill ${kill}: staging left behind`).toEqual([]);
  }
  keepFigures('client-kill', {
    kills: KILLS,
    'hits after it': seen.hits,
    'misses after it': seen.misses,
    'wrong outputs': 0,
    seed: SEED,
  });
  expect(seen.killed).toBeGreaterThan(KILLS / 2);
});

/** What the command makes without a cache, in a workspace of its own. */
async function undisturbed(content: string): Promise<string[]> {
  const folder = join(shop.folder, 'undisturbed');
  rmSync(folder, { recursive: true, force: true });
  shop.another('undisturbed');
  shop.write('in.txt', content, 0o644, folder);
  const child = spawn(join(shop.workspace, 'make.sh'), { cwd: folder, stdio: 'ignore' });
  await once(child, 'exit');
  return describeTree(folder).filter((line) => /^(out|copy)/.test(line));
}
