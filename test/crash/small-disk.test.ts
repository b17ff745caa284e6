// A disk that is full most of the time: a server on 16 MiB is sent twice as much. Accepted uploads are
// present. The server refuses the others with 507, or with 409 for a result whose blob it refused. Nothing
// partial is visible.
import { mkdirSync } from 'node:fs';
import { Agent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { type Item, newBlob, newResult, read, send } from '../rig/uploads.ts';
import { inNamespaces } from '../rig/users.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const UPLOADS = 2_000;
const CLIENTS = 8;

let shop: Workshop;
let agent: Agent;
let server: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  agent = new Agent({ connections: CLIENTS });
  mkdirSync(shop.store);
  server = await ServerProcess.start(shop.store, { form: 'bundle', wrapper: onSmallDisk(shop.store) });
});

afterEach(async () => {
  await agent.destroy();
  await server.kill();
  shop.remove();
});

/**
 * In a mount namespace that ends with the process. A user other than root becomes root of a user namespace.
 */
function onSmallDisk(folder: string): string[] {
  return [
    ...inNamespaces('--mount'),
    'sh',
    '-ec',
    'mount -t tmpfs -o size=16m assay "$0"; exec "$@"',
    folder,
  ];
}

test(`${UPLOADS} uploads to 16 MiB: 0 corrupt, all reads right (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const random = new Random(SEED);
  const items = Array.from({ length: UPLOADS / 2 }, (_, number) => {
    const isLarge = number % 20 === 0;
    const blob = newBlob(random, isLarge ? 100_000 + random.below(400_000) : 1 + random.below(40_000));
    return [blob, newResult(random, blob)] as const;
  });
  const taken: Item[] = [];
  const refused: Item[] = [];
  const statuses = new Map<number, number>();
  const sendOne = async (item: Item): Promise<boolean> => {
    const status = await send(server.url, item, agent);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    (status === 200 ? taken : refused).push(item);
    return status === 200;
  };
  const waiting = [...items];
  const work = async (): Promise<void> => {
    for (let pair = waiting.shift(); pair; pair = waiting.shift()) {
      const [blob, result] = pair;
      const isThere = await sendOne(blob);
      await sendOne(result);
      if (isThere) expect(await read(server.url, blob, agent)).toBe('right');
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, work));

  for (const item of taken) expect(await read(server.url, item, agent), item.path).toBe('right');
  for (const item of refused) expect(await read(server.url, item, agent), item.path).toBe(404);
  // A result whose blob was refused gets 409; all others are refused for lack of space.
  expect([...statuses.keys()].sort()).toEqual([200, 409, 507]);
  expect(taken.length + refused.length).toBe(UPLOADS);
  expect(server.child.exitCode).toBeNull();
  keepFigures('small-disk', {
    uploads: UPLOADS,
    taken: taken.length,
    'refused with 507 for want of space': statuses.get(507) ?? 0,
    'results refused with 409, as their blob had been refused': statuses.get(409) ?? 0,
    'wrong answers': 0,
    seed: SEED,
  });
});
