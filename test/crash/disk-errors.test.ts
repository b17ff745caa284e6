// A failing disk: strace makes the n-th sync, write or rename of a running server fail, for every n until
// there are none left. Acknowledged uploads are present, refused ones can be sent again, and the server needs
// no restart.
import { join } from 'node:path';
import { Agent } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { type Injection, Injector } from '../rig/strace.ts';
import { type Item, newBlob, newResult, read, send } from '../rig/uploads.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
/** strace counts calls per thread, so only one thread writes files. */
const ONE_THREAD = { UV_THREADPOOL_SIZE: '1' };

const random = new Random(SEED);
const agent = new Agent({ connections: 8 });
/** As many as there are connections: most rounds have an upload that arrives during a commit. */
const SMALL_ONES = 8;
const acknowledged: Item[] = [];
const seen = { rounds: 0, injected: 0, refused: 0 };
let shop: Workshop;
let server: ServerProcess;

beforeAll(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(shop.store, { form: 'bundle', env: ONE_THREAD });
});

afterAll(async () => {
  await agent.destroy();
  await server.kill();
  shop.remove();
});

const INDEX = 'v5/index/data.mdb';

test.each<Omit<Injection, 'nth'>>([
  { call: 'fsync', error: 'EIO' },
  { call: 'fdatasync', error: 'EIO' },
  { call: 'pwrite64', error: 'ENOSPC' },
  { call: 'pwrite64', error: 'EIO', path: INDEX },
  { call: 'writev', error: 'ENOSPC', path: INDEX },
  { call: '/^rename', error: 'EIO' },
  { call: '/^mkdir', error: 'ENOSPC' },
])(
  '$error on each $call in turn: nothing acknowledged is lost, and everything can be sent again',
  async ({ call, error, path }) => {
    const where = path === undefined ? {} : { path: join(shop.store, path) };
    let injected = 0;
    for (let nth = 1; nth === 1 || injected > 0; nth++) {
      injected = await disturb({ call, error, nth, ...where });
    }
  },
);

/** One round of uploads during which one call fails. Returns whether there was such a call. */
async function disturb(injection: Injection): Promise<number> {
  const large = newBlob(random, 70_000 + random.below(200_000));
  const small = newBlob(random, 1 + random.below(20_000));
  const result = newResult(random, small, large);
  const others = Array.from({ length: SMALL_ONES }, () => newBlob(random, 1 + random.below(9000)));
  const { value: answers, injected } = await Injector.during(server.child.pid ?? 0, injection, async () => [
    ...(await sendAll([large, small])),
    ...(await sendAll([result, ...others])),
  ]);

  const title = JSON.stringify(injection);
  const refused = answers.filter(({ status }) => status !== 200);
  if (injected > 0) expect(refused.length, `${title}: no upload was refused`).toBeGreaterThan(0);
  else expect(refused, title).toEqual([]);
  expect(server.child.exitCode, title).toBeNull();
  for (const { item, status } of answers) {
    const found = await read(server.url, item, agent);
    if (status === 200) expect(found, `${title}: ${item.path} was acknowledged`).toBe('right');
    else expect(['right', 404], `${title}: ${item.path} was refused with ${status}`).toContain(found);
  }
  for (const { item } of refused) expect(await send(server.url, item, agent), `${title}, again`).toBe(200);
  acknowledged.push(...answers.map(({ item }) => item));
  seen.rounds++;
  seen.injected += injected;
  seen.refused += refused.length;
  return injected;
}

async function sendAll(items: readonly Item[]): Promise<{ item: Item; status: number }[]> {
  return Promise.all(items.map(async (item) => ({ item, status: await send(server.url, item, agent) })));
}

test(`everything acknowledged is present after kill -9 (seed ${SEED})`, async () => {
  await server.kill();
  server = await ServerProcess.start(shop.store, { form: 'bundle' });
  const lost: string[] = [];
  for (const item of acknowledged) {
    if ((await read(server.url, item, agent)) !== 'right') lost.push(item.path);
  }
  expect(lost).toEqual([]);
  expect(seen.injected).toBeGreaterThan(20);
  keepFigures('disk-errors', {
    'calls that failed': seen.injected,
    'uploads refused for it': seen.refused,
    acknowledged: acknowledged.length,
    'acknowledged lost': 0,
    restarts: 0,
    seed: SEED,
  });
});
