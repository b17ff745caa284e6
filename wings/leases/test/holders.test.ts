// Each run that waits for an action's lease ends with the right outputs, whether its holder ends well, fails, or is
// killed, stopped or slow. No failure is handed on.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { Random } from '../../../test/rig/random.ts';
import { inputOf } from '../../../test/rig/runners/gate.ts';
import { Runner } from '../../../test/rig/runners/runner.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';

const FATES = ['SIGKILL', 'SIGSTOP', 'SIGTERM', 'fails', 'slow'] as const;
const MOMENTS = soak(200, FATES.length);
const SEED = Number(process.env.ASSAY_TEST_SEED ?? 43);
/** What each run knows of its step. A command takes less, and that of a slow holder more. */
const KNOWN_MS = 3000;
const [SECONDS, SLOW_SECONDS] = [2, 5];

test(`holders killed, stopped, cancelled, failing and slow at ${MOMENTS} moments: every run ends with right outputs`, {
  timeout: 3_600_000,
}, async () => {
  const shop = new Workshop();
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  onTestFinished(async () => {
    await server.stop();
    shop.remove();
  });
  const runnerOf = (name: string) => {
    const runner = new Runner({ name, below: shop.folder, remote: server.url });
    runner.declareSteps(1);
    return runner;
  };
  const first = runnerOf('first');
  const primed = await first.runSteps(inputOf('prime', 0, 0), 1).ended;
  expect(primed.code, primed.said).toBe(0);
  const { history } = first;
  const waits: number[] = [];
  const uses = new Map<string, number>();

  /** All moments of one fate, one after another. */
  async function suffer(fate: (typeof FATES)[number], moments: number): Promise<void> {
    const random = new Random(SEED + FATES.indexOf(fate));
    const [holder, ...others] = ['a', 'b', 'c'].map((name) => runnerOf(`${fate}-${name}`));
    if (!holder) throw new Error('a holder');
    for (let moment = 0; moment < moments; moment++) {
      const code = fate === 'fails' ? 3 : 0;
      const input = inputOf(`${fate}-${moment}`, code, fate === 'slow' ? SLOW_SECONDS : SECONDS);
      for (const runner of [holder, ...others]) runner.learn(history, KNOWN_MS);
      const held = holder.runSteps(input, 1);
      while (!held.said().includes('step-started')) await sleep(10);
      const waiting = others.map((runner) => runner.runSteps(input, 1));
      await sleep(random.below(SECONDS * 1000));
      if (fate.startsWith('SIG')) held.child.kill(fate as NodeJS.Signals);
      for (const { ended } of waiting) {
        const { code: exitCode, finished, said } = await ended;
        expect(exitCode, said).toBe(code);
        const [one] = finished;
        if (fate === 'fails') expect(one, said).toMatchObject({ outcome: 'failed', exitCode: 3 });
        expect(one, said).not.toHaveProperty('replayed');
        waits.push(one?.leaseWaitedMs ?? 0);
        const use = `${fate} ${one?.actionLease}`;
        uses.set(use, (uses.get(use) ?? 0) + 1);
      }
      for (const { folder } of fate === 'fails' ? [] : others)
        expect(readFileSync(join(folder, 'out0'), 'utf8')).toBe(`0\n${input}\n`);
      held.child.kill('SIGCONT');
      const { code: exitCode, said } = await held.ended;
      if (fate === 'SIGSTOP' || fate === 'slow') expect(exitCode, said).toBe(0);
    }
  }

  await Promise.all(FATES.map((fate) => suffer(fate, Math.ceil(MOMENTS / FATES.length))));
  console.log('holders:', {
    knownMs: KNOWN_MS,
    longestWaitMs: Math.max(...waits),
    ...Object.fromEntries(uses),
  });
});
