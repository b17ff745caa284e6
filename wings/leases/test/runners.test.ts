// Runners with stores and folders of their own, and one server: each of many actions that all miss at once runs once.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { Workshop } from '../../../test/rig/assay.ts';
import { Gate, inputOf, metric, Runner } from '../../../test/rig/runners.ts';
import { ServerProcess } from '../../../test/rig/server.ts';
import { soak } from '../../../test/rig/soak.ts';

const RUNNERS = soak(20, 4);
const ACTIONS = soak(100, 5);
/** Fewer than a run waits for at once. */
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
  const runners = Array.from({ length: RUNNERS }, (_, at) => {
    const runner = new Runner({ name: `ci-${at}`, below: shop.folder, remote: server.url });
    runner.declareSteps(ACTIONS);
    return runner;
  });
  const primed = await runners[0]?.runSteps(inputOf('prime', 0, 0), JOBS).ended;
  expect(primed?.code, primed?.said).toBe(0);
  const history = runners[0]?.history ?? '';
  for (const runner of runners) runner.learn(history, 10 * MINUTE);
  const gate = new Gate();
  const input = gate.inputOf('all', 0);
  const running = runners.map((runner) => runner.runSteps(input, JOBS));
  // Each runner holds or awaits as many as it may.
  const waits = () => metric(server.url, 'assay_action_lease_waits');
  await expect.poll(waits, { timeout: 5 * MINUTE }).toBe((RUNNERS - 1) * JOBS);
  gate.open();
  const ends = await Promise.all(running.map(({ ended }) => ended));
  for (const { code, said } of ends) expect(code, said).toBe(0);
  for (const { folder } of runners)
    for (let at = 0; at < ACTIONS; at++)
      expect(readFileSync(join(folder, `out${at}`), 'utf8')).toBe(`${at}\n${input}\n`);
  const finished = ends.flatMap((end) => end.finished);
  const ran = finished.filter(({ outcome }) => outcome === 'miss');
  const hedged = ran.filter(({ actionLease }) => actionLease === 'hedged');
  console.log('runners:', {
    actions: finished.length,
    ran: ran.length,
    hedged: hedged.length,
    waited: finished.filter(({ actionLease }) => actionLease === 'waited').length,
    longestWaitMs: Math.max(...finished.map(({ leaseWaitedMs }) => leaseWaitedMs)),
  });
  expect(finished).toHaveLength(RUNNERS * ACTIONS);
  expect(hedged.length).toBeLessThanOrEqual(ACTIONS / 10);
  expect(ran.length - hedged.length).toBe(ACTIONS);
});
