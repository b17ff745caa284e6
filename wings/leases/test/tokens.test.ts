// Runs with tokens of main, of a pull request, and of somebody without the right to leases, at one server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Namespace, parseNamespace } from '../../../core/namespace.ts';
import type { Identity } from '../../../server/access/identity.ts';
import { parseRights } from '../../../server/access/rights.ts';
import { Workshop } from '../../../test/rig/assay.ts';
import { Gate } from '../../../test/rig/runners/gate.ts';
import { metric, runnersOf } from '../../../test/rig/runners/once.ts';
import { testServer } from '../../../test/server/rig.ts';
import { leases } from '../part.ts';

const MAIN = parseNamespace('acme/app/main');
const PULL = parseNamespace('acme/app/pr/1');
const WITHOUT_LEASES = 'blobs:read,blobs:write,results:read,results:write,labels:write';

/** A token is the name of its identity. */
function identity(name: string, namespace: Namespace, rights: string, reads: Namespace[] = []): Identity {
  const parsed = parseRights(rights);
  if (!parsed) throw new Error(rights);
  return { name, namespace, rights: parsed, reads };
}

const IDENTITIES = [
  identity('main', MAIN, 'read-write'),
  identity('pull', PULL, 'read-write', [MAIN]),
  identity('without', MAIN, WITHOUT_LEASES),
  identity('stats', MAIN, 'server:stats'),
];
const identities = { identify: (token: string) => IDENTITIES.find(({ name }) => name === token) };

test('a pull request neither waits for main’s lease nor holds it, and takes what main publishes', async () => {
  const shop = new Workshop();
  onTestFinished(() => shop.remove());
  const { url } = await testServer({ identities, wings: [leases()] });
  const runners = await runnersOf(
    1,
    1,
    [
      ['main', 'main'],
      ['pull-1', 'pull'],
      ['pull-2', 'pull'],
      ['without', 'without'],
    ].map(([name = '', token = '']) => {
      return { name, below: shop.folder, remote: url, env: { ASSAY_TOKEN: token } };
    }),
  );
  const [main, first, second, without] = runners;
  if (!main || !first || !second || !without) throw new Error('four runners');
  const gate = new Gate();
  const input = gate.inputOf('all', 0);
  const counted = (event: string) => metric(url, `assay_action_leases_total{event="${event}"}`, 'stats');
  const ofMain = main.runSteps(input, 1);
  await expect.poll(() => counted('granted')).toBe(1);
  // Main's lease is held: the pull request is granted one of its own.
  const ofFirst = first.runSteps(input, 1);
  await expect.poll(() => counted('granted')).toBe(2);
  const ofSecond = second.runSteps(input, 1);
  await expect.poll(() => ofSecond.said()).toContain('"step-waits-for-run"');
  const withoutLease = without.runSteps(input, 1);
  await expect.poll(() => metric(url, 'assay_action_lease_waits', 'stats')).toBe(1);
  // So the first run of the pull request publishes nothing, and main does.
  ofFirst.child.kill('SIGSTOP');
  gate.open();
  const ends = await Promise.all([ofMain, ofSecond, withoutLease].map(({ ended }) => ended));
  for (const { code, said } of ends) expect(code, said).toBe(0);
  const [endOfMain, endOfSecond, endWithout] = ends;
  expect(endOfMain?.finished[0]).toMatchObject({ outcome: 'miss', actionLease: 'held', leaseWaitedMs: 0 });
  expect(endOfSecond?.finished[0]).toMatchObject({ outcome: 'hit-remote', actionLease: 'waited' });
  expect(endOfSecond?.said).toContain('"holder":"pull-1"');
  expect(endWithout?.finished[0]).toMatchObject({ leaseWaitedMs: 0 });
  for (const { folder } of [main, second, without])
    expect(readFileSync(join(folder, 'out0'), 'utf8')).toBe(`0\n${input}\n`);
  expect(await counted('granted')).toBe(2);
  expect(await counted('held')).toBe(1);
});
