// Runners with stores and folders of their own, and one server: each of many actions that all miss at once runs once.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { Gate } from '../../../test/rig/runners/gate.ts';
import { expectOnce, runnersOf, startInGroups } from '../../../test/rig/runners/once.ts';
import type { Running } from '../../../test/rig/runners/runner.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';

const RUNNERS = soak(20, 4);
const ACTIONS = soak(100, 5);
const JOBS = Math.min(ACTIONS, 40);
const MINUTE = 60_000;

/** Of so many runners: all steps that others run, but for those of runners whose slots are full of commands, which don't ask. */
function waitsOf(runners: number): number {
  return (runners - 1) * ACTIONS - Math.floor(ACTIONS / JOBS) * (ACTIONS - JOBS);
}

test(`${RUNNERS} runners that miss ${ACTIONS} actions at once run each of them once`, {
  timeout: 20 * MINUTE,
}, async () => {
  const shop = new Workshop();
  const server = await ServerProcess.start(join(shop.folder, 'server'));
  onTestFinished(async () => {
    await server.stop();
    shop.remove();
  });
  const runners = await runnersOf(
    ACTIONS,
    JOBS,
    Array.from({ length: RUNNERS }, (_, at) => ({
      name: `ci-${at}`,
      below: shop.folder,
      remote: server.url,
    })),
  );
  const gate = new Gate();
  const input = gate.inputOf('all', 0);
  // A step that waits gives its place to another one, so more of them wait than there are places.
  const waits = (running: readonly Running[]) =>
    running.reduce((sum, one) => sum + one.said().split('"step-waits-for-run"').length - 1, 0);
  const running = await startInGroups(
    runners,
    (runner) => runner.runSteps(input, JOBS),
    (begun) =>
      expect.poll(() => waits(begun), { timeout: 5 * MINUTE }).toBeGreaterThanOrEqual(waitsOf(begun.length)),
  );
  gate.open();
  await expectOnce(runners, running, ACTIONS, input);
});
