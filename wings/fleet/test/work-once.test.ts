// Runners that miss the same actions at once, behind the load balancer of a fleet of two servers of which one is killed: each
// action runs once.
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { baseEnvironment, runProcess, Workshop } from '../../../test/rig/assay.ts';
import { Gate } from '../../../test/rig/runners/gate.ts';
import { allWait, expectOnce, metric, runnersOf, startInGroups } from '../../../test/rig/runners/once.ts';
import { soak } from '../../../test/rig/soak.ts';
import { INSTALLED, Serve } from '../../../test/server/commands/serve-process.ts';
import { startBalancer } from './rig/balancer.ts';
import { freshFleet } from './rig/services.ts';

const RUNNERS = soak(20, 3);
const ACTIONS = soak(100, 5);
const JOBS = Math.min(ACTIONS, 40);
const MINUTE = 60_000;

test(`${RUNNERS} runners that miss ${ACTIONS} actions at once run each of them once, also if a server of their fleet is killed`, {
  timeout: 20 * MINUTE,
}, async () => {
  const env = await freshFleet();
  const cwd = tmpdir();
  const migrated = await runProcess([...INSTALLED, 'db', 'migrate'], {
    cwd,
    env: { ...baseEnvironment(), ...env },
  });
  expect(migrated.code, migrated.stderr).toBe(0);
  const [killed, left] = [new Serve(['--port', '0'], { ...env }), new Serve(['--port', '0'], { ...env })];
  const [killedUrl, leftUrl] = [await killed.url(), await left.url()];
  const remote = await startBalancer(killedUrl, leftUrl);
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  const runners = await runnersOf(
    ACTIONS,
    JOBS,
    Array.from({ length: RUNNERS }, (_, at) => ({ name: `ci-${at}`, below: shop.folder, remote })),
  );
  const gate = new Gate();
  const input = gate.inputOf('all', 0);
  const running = await startInGroups(
    runners,
    (runner) => runner.runSteps(input, JOBS),
    (begun) => allWait(begun, ACTIONS, JOBS),
  );
  const waitsAt = (url: string) => metric(url, 'assay_action_lease_waits');
  const waits = (await waitsAt(killedUrl)) + (await waitsAt(leftUrl));
  killed.child.kill('SIGKILL');
  await expect.poll(() => waitsAt(leftUrl), { timeout: MINUTE }).toBeGreaterThanOrEqual(waits);
  gate.open();
  await expectOnce(runners, running, ACTIONS, input);
});
