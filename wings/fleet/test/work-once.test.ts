// Runners that miss the same actions at once, at a fleet of two servers of which one is killed: each action runs once.
import { tmpdir } from 'node:os';
import { expect, onTestFinished, test } from 'vitest';
import { baseEnvironment, runProcess, Workshop } from '../../../test/rig/assay.ts';
import { Gate } from '../../../test/rig/runners/gate.ts';
import { expectOnce, metric, runnersOf, startInGroups } from '../../../test/rig/runners/once.ts';
import { soak } from '../../../test/rig/soak.ts';
import { INSTALLED, Serve } from '../../../test/server/commands/serve-process.ts';
import { freshFleet } from './rig/services.ts';
import { TcpProxy } from './rig/tcp-proxy.ts';

const RUNNERS = soak(20, 3);
const ACTIONS = soak(20, 3);
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
  const [killedUrl, leftUrl] = [new URL(await killed.url()), await left.url()];
  // As a balancer does, it leads to the other server when the first is gone.
  const proxy = await TcpProxy.start(killedUrl.hostname, Number(killedUrl.port));
  const shop = new Workshop();
  onTestFinished(async () => {
    await proxy.stop();
    shop.remove();
  });
  const remotes = [`http://127.0.0.1:${proxy.port}`, leftUrl];
  const runners = await runnersOf(
    ACTIONS,
    ACTIONS,
    Array.from({ length: RUNNERS }, (_, at) => ({
      name: `ci-${at}`,
      below: shop.folder,
      remote: remotes[at % remotes.length] ?? leftUrl,
    })),
  );
  const gate = new Gate();
  const input = gate.inputOf('all', 0);
  const waits = async (...urls: string[]) => {
    const all = await Promise.all(urls.map((url) => metric(url, 'assay_action_lease_waits')));
    return all.reduce((sum, one) => sum + one, 0);
  };
  const allWait = (count: number, ...urls: string[]) =>
    expect.poll(() => waits(...urls), { timeout: 5 * MINUTE }).toBe((count - 1) * ACTIONS);
  const running = await startInGroups(
    runners,
    (runner) => runner.runSteps(input, ACTIONS),
    ({ length }) => allWait(length, killedUrl.origin, leftUrl),
  );
  const port = Number(new URL(leftUrl).port);
  proxy.target = { host: '127.0.0.1', port };
  killed.child.kill('SIGKILL');
  await allWait(RUNNERS, leftUrl);
  gate.open();
  await expectOnce(runners, running, ACTIONS, input);
});
