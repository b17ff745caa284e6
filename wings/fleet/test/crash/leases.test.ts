// Action leases and fences over a failover of PostgreSQL that forgets the last grants: a stale fence never wins, a newer
// one never loses, and no fence is given twice.
import { afterEach, expect, test } from 'vitest';
import { compareFences, type Fence } from '../../../../core/action-lease.ts';
import { parseNamespace } from '../../../../core/namespace.ts';
import type { LeaseRequest } from '../../../../store/action-leases.ts';
import { addLayers } from '../../../../store/open.ts';
import type { Store } from '../../../../store/store.ts';
import { Random } from '../../../../test/rig/random.ts';
import { soak } from '../../../../test/rig/soak.ts';
import { addressOf, resultNaming } from '../../../../test/store/content.ts';
import { openFleetEngine } from '../../engine/engine.ts';
import { migrate } from '../../engine/index/schema.ts';
import { MemoryObjects } from '../engine/memory-objects.ts';
import { ReplicatedPostgres } from '../rig/replicated-postgres.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 1);
const FAILOVERS = soak(50, 1);
const ACTIONS = 6;
const MINUTE = 60_000;
const CHECKPOINTS = parseNamespace('checkpoint');

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}, MINUTE);

interface Held {
  readonly action: string;
  readonly id: string;
  readonly fence: Fence;
}

async function start() {
  const postgres = await ReplicatedPostgres.start(false);
  cleanups.push(() => postgres.stop());
  await migrate(postgres.url);
  const objects = new MemoryObjects();
  const node = async () => {
    const engine = await openFleetEngine({ index: postgres.url, objects, onEvent: () => {}, answerMs: 3000 });
    cleanups.push(() => engine.close());
    return addLayers(engine, () => {});
  };
  return { postgres, nodes: [await node(), await node()] as const };
}

async function acquire(store: Store, action: string, name: string): Promise<Held | undefined> {
  const request: LeaseRequest = { id: Buffer.from(name.padEnd(16)).toString('hex'), holder: name };
  const acquired = await store.actionLeases?.acquire(addressOf(action), request);
  return acquired?.outcome === 'granted'
    ? { action, id: request.id, fence: acquired.lease.fence }
    : undefined;
}

/** Saves a checkpoint under the lease. */
const save = (store: Store, { action, fence }: Held, count: number) =>
  store.labels
    .put(
      { namespace: CHECKPOINTS, label: `${action}/${fence.epoch}.${fence.number}/${count}` },
      addressOf('a checkpoint').key,
      { lease: addressOf(action), fence },
    )
    .catch((error: unknown) => (error instanceof Error && 'code' in error ? error.code : error));

const end = (store: Store, { action, id, fence }: Held) =>
  store.actionLeases?.release(addressOf(action), { id, fence }, { reason: 'cancelled' });

test.each(Array.from({ length: FAILOVERS }, (_, index) => SEED + index))(
  'over a failover that forgets the last grants, with seed %i',
  async (seed) => {
    const random = new Random(seed);
    const { postgres, nodes } = await start();
    const [one, two] = nodes;
    await one.results.put({ namespace: CHECKPOINTS, key: addressOf('a checkpoint').key }, resultNaming());
    const actions = Array.from({ length: ACTIONS }, (_, index) => `action ${index}`);
    const given: Fence[] = [];
    const grant = async (store: Store, action: string, name: string): Promise<Held> => {
      const held = await acquire(store, action, name);
      if (!held) throw new Error(`${name} was not granted ${action}`);
      given.push(held.fence);
      return held;
    };
    const before = new Map<string, Held>();
    for (const action of actions) before.set(action, await grant(random.pick(nodes), action, 'before'));
    await postgres.caughtUp();
    postgres.replication.link = 'frozen';
    // The standby learns of none of these.
    const tail = new Map<string, Held>();
    for (const action of actions.filter(() => random.below(2) === 0)) {
      const held = before.get(action);
      if (held) await end(one, held);
      tail.set(action, await grant(random.pick(nodes), action, 'tail'));
    }
    await postgres.failOver();
    for (const node of nodes)
      await expect
        .poll(() => node.actionLeases?.states([]).then(() => 'answers', String), { timeout: MINUTE })
        .toBe('answers');
    for (const action of actions) {
      const store = random.pick(nodes);
      const forgotten = tail.get(action);
      if (forgotten) expect(await save(store, forgotten, 1)).toBe('ASSAY_STALE_FENCE');
      const older = before.get(action);
      if (!older) throw new Error('each action had a lease');
      await end(store, older);
      const newer = await grant(store, action, 'after');
      expect(await save(random.pick(nodes), newer, 1)).toBe('stored');
      for (const stale of [older, ...(forgotten ? [forgotten] : [])]) {
        expect(await save(random.pick(nodes), stale, 2)).toBe('ASSAY_STALE_FENCE');
        expect(await store.actionLeases?.heartbeat(addressOf(action), stale)).toBe(false);
      }
      const newest = await two.labels.newest(CHECKPOINTS, [`${action}/`]);
      expect(newest?.label).toBe(`${action}/${newer.fence.epoch}.${newer.fence.number}/1`);
    }
    // No fence was given twice, and the later ones are greater, also than those that the failover forgot.
    expect(given.toSorted(compareFences)).toEqual(given);
    expect(new Set(given.map(({ epoch, number }) => `${epoch}.${number}`)).size).toBe(given.length);
    expect(new Set(given.map(({ epoch }) => epoch)).size).toBe(2);
  },
  3 * MINUTE,
);
