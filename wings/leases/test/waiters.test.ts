// Bounds of waits and of the leases of a token, and what a busy server gives up first.
import { expect, test } from 'vitest';
import { LONGEST_POLL_MS } from '../../../core/action-lease.ts';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { actionLeases } from '../../../store/layers/action-leases.ts';
import { MemoryLeases } from '../../../test/rig/stores/memory/leases.ts';
import { addressOf } from '../../../test/store/content.ts';
import { LEASES } from '../limits.ts';
import { TokenLeases } from '../token-leases.ts';
import { Waiters } from '../waiters.ts';

const OPEN_POLLS = LEASES.waitersPerLease + 24;

async function start(now = Date.now) {
  const leases = actionLeases(new MemoryLeases(now));
  let refusal: string | undefined;
  const waiters = new Waiters({ leases, openPolls: OPEN_POLLS, now, refusal: () => refusal });
  const held = async (name: string) => {
    const address = addressOf(name);
    const { lease } = await leases.acquire(address, { id: name.padStart(32, '0'), holder: name });
    return { address, lease };
  };
  const wait = ({ address, lease }: Awaited<ReturnType<typeof held>>, isGone = () => false) =>
    waiters.wait({ address, lease, others: [], waitMs: LONGEST_POLL_MS, isGone });
  return {
    leases,
    waiters,
    held,
    wait,
    refuse(why: string) {
      refusal = why;
    },
  };
}

test('one lease has a bounded number of waits, and so has a server', async () => {
  const { waiters, held, wait, refuse } = await start();
  const one = await held('one');
  const other = await held('other');
  const waits = Array.from({ length: LEASES.waitersPerLease }, () => wait(one));
  await expect.poll(() => waiters.count).toBe(LEASES.waitersPerLease);
  expect(await wait(one)).toEqual({ end: 'refused', why: '1000 requests wait for this lease already' });
  while (waits.length < OPEN_POLLS) waits.push(wait(other));
  await expect.poll(() => waiters.count).toBe(OPEN_POLLS);
  expect(await wait(other)).toEqual({
    end: 'refused',
    why: `${OPEN_POLLS} requests wait for leases already`,
  });
  refuse('the server is busy');
  for (const end of await Promise.all(waits))
    expect(end).toEqual({ end: 'refused', why: 'the server is busy' });
  expect(waiters.count).toBe(0);
});

test('a client that is gone waits no more', async () => {
  const { waiters, held, wait } = await start();
  let isGone = false;
  const waited = wait(await held('one'), () => isGone);
  isGone = true;
  expect(await waited).toEqual({ end: 'gone' });
  expect(waiters.count).toBe(0);
});

test('a wait goes on while the leases can’t be read, and ends in its time', async () => {
  const { leases, waiters, held } = await start();
  const [ending, lasting] = [await held('ending'), await held('lasting')];
  const { states } = leases;
  let reads = 0;
  leases.states = () => {
    reads++;
    return Promise.reject(new Error('PostgreSQL is away'));
  };
  const wait = ({ address, lease }: typeof ending, waitMs: number) =>
    waiters.wait({ address, lease, others: [], waitMs, isGone: () => false });
  const [first, second] = [wait(ending, LONGEST_POLL_MS), wait(lasting, 300)];
  expect(await second).toMatchObject({ end: 'held', lease: { fence: lasting.lease.fence } });
  expect(reads).toBeGreaterThan(1);
  leases.states = states;
  const { fence } = ending.lease;
  await leases.release(ending.address, { id: 'ending'.padStart(32, '0'), fence }, { reason: 'done' });
  waiters.wake(ending.address);
  expect(await first).toMatchObject({ end: 'ended' });
});

test('a token has a bounded number of leases, and gets room as they are over', () => {
  let now = 0;
  const tokens = new TokenLeases(() => now);
  for (let number = 0; number < LEASES.perToken; number++) tokens.count('ci', `${number}`);
  expect([tokens.hasRoom('ci'), tokens.hasRoom('other')]).toEqual([false, true]);
  now = LEASES.recentMs;
  expect(tokens.hasRoom('ci')).toBe(true);
});

test('a result that is stored elsewhere ends the waits for its key alone', async () => {
  const { waiters, held } = await start();
  const [one, other] = [await held('one'), await held('other')];
  const ends: string[] = [];
  const waits = [one, other].map(({ address, lease }) =>
    waiters
      .wait({ address, lease, others: [DEFAULT_NAMESPACE], waitMs: 300, isGone: () => false })
      .then(({ end }) => ends.push(end)),
  );
  await expect.poll(() => waiters.count).toBe(2);
  await new Promise((resolve) => setImmediate(resolve));
  waiters.published(DEFAULT_NAMESPACE, one.address.key);
  await Promise.all(waits);
  expect(ends).toEqual(['published', 'held']);
});
