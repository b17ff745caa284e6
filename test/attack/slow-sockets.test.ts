// Two thousand clients that take their time: some say nothing, some send a header or a body byte by byte, some never read
// their answer, some begin HTTP/2 and stop. All are cut in the time that the limits set, others are served meanwhile as
// if nobody were there, and memory stays.
//
// How much longer those others wait is measured in bench/slow-sockets.ts: it says nothing on a machine that does other
// things too. Nor does how soon those are gone who do not read: 4 to 8 s after the kernel's buffers are full, which takes the
// machine some hundred megabytes first.
import { readdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { forgetPeak, peakBytes, residentBytes } from '../rig/memory.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { Dribbler, manners } from '../rig/slow-sockets.ts';
import { type Item, newBlob, read, send } from '../rig/uploads.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const SOCKETS = 2_000;
const DRIBBLE_MS = 500;
const BUSY_CLIENTS = 32;
const MIB = 1024 * 1024;
const MOST_MEMORY = 64 * MIB;
const LONGEST_LIFE_MS = 15_000;
/** Until none is left, so that it can be said which ones lived too long. */
const PATIENCE_MS = 60_000;

let shop: Workshop;
let server: ServerProcess;
let agent: Agent;

beforeEach(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(shop.store, { form: 'bundle' });
  agent = new Agent({ connections: 4 });
});

afterEach(async () => {
  await agent.destroy();
  await server.kill();
  shop.remove();
});

test(`${SOCKETS} slow sockets are cut, and nobody else notices (seed ${SEED})`, {
  timeout: 180_000,
}, async () => {
  const random = new Random(SEED);
  const pid = server.child.pid ?? 0;
  const items = Array.from({ length: 20 }, () => newBlob(random, 1 + random.below(20_000)));
  const large = newBlob(random, 8 * MIB);
  for (const item of [...items, large]) expect(await send(server.url, item, agent)).toBe(200);
  await workOff(items, large);
  const [atRest, before] = [residentBytes(pid), openFiles(pid)];
  forgetPeak(pid);

  const kinds = manners(large.path);
  const port = Number(new URL(server.url).port);
  const dribblers = Array.from(
    { length: SOCKETS },
    (_, number) => new Dribbler(port, kinds[number % kinds.length] ?? raise()),
  );
  await Promise.all(dribblers.map((dribbler) => dribbler.opened()));
  const began = performance.now();
  const seen = { healthy: 0, wrong: 0 };
  const senders = dribblers.filter(({ manner }) => manner.reads);
  let isCalm = false;
  while (!isCalm && performance.now() - began < PATIENCE_MS) {
    for (const dribbler of dribblers) dribbler.dribble();
    for (const item of items) {
      if ((await read(server.url, item, agent)) === 'right') seen.healthy++;
      else seen.wrong++;
    }
    await wait(DRIBBLE_MS);
    // Who does not read does not see that it was cut off: the server's descriptors tell.
    isCalm = senders.every(({ isGone }) => isGone) && openFiles(pid) <= before;
  }
  const calmAfterMs = performance.now() - began;
  const memory = peakBytes(pid) - atRest;
  const kept = openFiles(pid) - before;
  const stayed = senders.filter(({ isGone }) => !isGone).map(({ manner }) => manner.name);
  for (const dribbler of dribblers) dribbler.end();
  const longestLifeMs = Math.max(...(await Promise.all(senders.map((sender) => sender.lifeMs()))));
  keepFigures('slow-sockets', {
    sockets: SOCKETS,
    'still there at the end': new Set(stayed).size + Math.max(0, kept),
    'longest life of one that sends too slowly (s)': Math.round(longestLifeMs / 1000),
    'of one that does not read (s)': Math.round(calmAfterMs / 1000),
    'healthy answers meanwhile': seen.healthy,
    'wrong or failed': seen.wrong,
    'memory (MiB)': Math.ceil(memory / MIB),
    seed: SEED,
  });
  expect(new Set(stayed)).toEqual(new Set());
  expect(kept).toBeLessThanOrEqual(0);
  expect(longestLifeMs).toBeLessThan(LONGEST_LIFE_MS);
  expect(seen.wrong).toBe(0);
  expect(seen.healthy).toBeGreaterThan(items.length);
  expect(memory).toBeLessThan(MOST_MEMORY);
});

/** A server that has had something to do: what healthy traffic needs is there before anything is counted. */
async function workOff(items: readonly Item[], large: Item): Promise<void> {
  const busy = new Agent({ connections: BUSY_CLIENTS });
  const client = async () => {
    for (let round = 0; round < 10; round++) {
      for (const item of [...items, large]) expect(await read(server.url, item, busy)).toBe('right');
    }
  };
  await Promise.all(Array.from({ length: BUSY_CLIENTS }, client));
  await busy.destroy();
}

function raise(): never {
  throw new Error('there is no manner');
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
