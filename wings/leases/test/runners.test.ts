// Runners with stores and folders of their own, and one server: each of many actions that all miss at once runs once.
import { join } from 'node:path';
import { onTestFinished, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { Gate } from '../../../test/rig/runners/gate.ts';
import { allWait, expectOnce, runnersOf, startInGroups } from '../../../test/rig/runners/once.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';

const RUNNERS = soak(20, 4);
const ACTIONS = soak(100, 5);
const JOBS = Math.min(ACTIONS, 40);
const MINUTE = 60_000;

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
  const running = await startInGroups(
    runners,
    (runner) => runner.runSteps(input, JOBS),
    (begun) => allWait(begun, ACTIONS, JOBS),
  );
  gate.open();
  await expectOnce(runners, running, ACTIONS, input);
});
