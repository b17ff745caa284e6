// A fleet whose servers are replaced one by one, from the release before to this version and back, while clients store
// results. docs/UPGRADE.md promises it.
import { tmpdir } from 'node:os';
import { Agent } from 'undici';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { NOW, type Release, unpackEarlier } from '../../../test/release/earlier.ts';
import { AT_ONCE, clientsOf, type Entry, entryOf, lost, store } from '../../../test/release/entries.ts';
import { baseEnvironment, runProcess } from '../../../test/rig/assay.ts';
import { soak } from '../../../test/rig/soak.ts';
import { Serve } from '../../../test/server/commands/serve-process.ts';
import { type FleetEnvironment, freshFleet } from './rig/services.ts';

const WRITERS = 4;
/** Of all writers together, before and after each change of the fleet. */
const ENTRIES = soak(500, 40);

let earlier: ReturnType<typeof unpackEarlier>;
let agent: Agent;
beforeAll(() => {
  earlier = unpackEarlier();
});
afterAll(() => earlier.remove());
beforeEach(() => {
  agent = new Agent({ connections: AT_ONCE });
});
afterEach(() => agent.destroy());

interface Node {
  readonly url: string;
  /** As its service would: requests in flight are finished. */
  stop(): Promise<void>;
}

async function start({ program }: Release, env: FleetEnvironment): Promise<Node> {
  const server = new Serve(['--port', '0'], { ...env }, program);
  const url = await server.url();
  const stop = async () => {
    server.child.kill('SIGTERM');
    expect(await server.ended()).toBe(0);
  };
  return { url, stop };
}

function migrate({ program }: Release, env: FleetEnvironment) {
  return runProcess([...program, 'db', 'migrate'], {
    cwd: tmpdir(),
    env: { ...baseEnvironment(), ...env },
  });
}

/** Stores entries, each at the next server of the fleet, and keeps those that were acknowledged. */
class Writer {
  readonly acknowledged: Entry[] = [];
  readonly #name: string;
  #count = 0;

  constructor(name: string) {
    this.#name = name;
  }

  async run(fleet: readonly Node[], isOver: () => boolean): Promise<void> {
    for (; !isOver(); this.#count++) {
      const clients = clientsOf(fleet[this.#count % fleet.length]?.url ?? '', agent);
      const entry = entryOf(clients, this.#name, this.#count);
      // The server may be one that goes: a proxy has not noticed yet.
      if (await store(clients, entry).catch(() => false)) this.acknowledged.push(entry);
    }
  }
}

test('servers replaced one by one, there and back, lose nothing that any of them acknowledged', {
  timeout: 900_000,
}, async () => {
  const env = await freshFleet();
  expect(await migrate(earlier.release, env)).toMatchObject({ code: 0 });
  const fleet = [await start(earlier.release, env), await start(earlier.release, env)];
  const writers = Array.from({ length: WRITERS }, (_, at) => new Writer(`writer ${at}`));
  const acknowledged = () => writers.flatMap((writer) => writer.acknowledged);
  const foundByAll = async (entries: readonly Entry[]) => {
    for (const { url } of fleet) expect(await lost(clientsOf(url, agent), entries), url).toEqual([]);
  };
  /** Returns what was acknowledged before, during and after the change. */
  const during = async (change: () => Promise<void>): Promise<Entry[]> => {
    const before = new Set(acknowledged());
    const hasMore = (count: number) => acknowledged().length >= before.size + count;
    let isChanged = false;
    const writing = Promise.all(
      writers.map((writer) => writer.run(fleet, () => isChanged && hasMore(2 * ENTRIES))),
    );
    await expect.poll(() => hasMore(ENTRIES), { timeout: 300_000 }).toBe(true);
    await change().finally(() => {
      isChanged = true;
    });
    await writing;
    return acknowledged().filter((entry) => !before.has(entry));
  };

  await foundByAll(
    await during(async () => {
      expect(await migrate(NOW, env)).toMatchObject({ code: 0 });
    }),
  );
  const steps = [
    [0, NOW],
    [1, NOW],
    [1, earlier.release],
    [0, earlier.release],
  ] as const;
  for (const [at, release] of steps) {
    const next = await start(release, env);
    const stored = await during(async () => {
      const [old] = fleet.splice(at, 1, next);
      await old?.stop();
    });
    await foundByAll(stored);
  }
  await foundByAll(acknowledged());
  for (const { stop } of fleet) await stop();
});
