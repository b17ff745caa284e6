// Thousands of clients that take their time: some say nothing, some send a header or a body byte by byte, some never read
// their answer, some begin HTTP/2 and stop. Two thousand are waited for, since a healthy client may be slow too. When more
// come than leave room for others, they are cut. Healthy clients are served all the time, and memory stays.
//
// How much longer those others wait is measured in bench/slow-sockets.ts: it says nothing on a machine that does other
// things too.
import { readdirSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { SERVER } from '../../server/limits.ts';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { forgetPeak, peakBytes, residentBytes } from '../rig/memory.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { Dribbler, manners } from '../rig/slow-sockets.ts';
import { type Item, newBlob, read, send } from '../rig/uploads.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const SOCKETS = 2_000;
/** With those there are more than a server puts up with. */
const MORE_SOCKETS = 1_600;
const PUT_UP_WITH = SERVER.maxConnections * SERVER.pressureConnections;
/** Each time that they come. On one machine a kernel holds up to 36 MiB for each, and runs short of memory for all others. */
const MOST_UNREAD = 40;
const SILENT = { name: 'silent', first: '', reads: true };
const ROUNDS = 6;
const DRIBBLE_MS = 500;
const BUSY_CLIENTS = 32;
const MIB = 1024 * 1024;
const MOST_MEMORY = 64 * MIB;
const MOST_MEMORY_OF_ALL = 128 * MIB;
/** Until there is room again, and at the end until none is left. */
const LONGEST_MS = 60_000;

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

test(`${SOCKETS} slow sockets are waited for, more are cut, and nobody else notices (seed ${SEED})`, {
  timeout: 240_000,
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
  const seen = { healthy: 0, wrong: 0 };
  const dribblers: Dribbler[] = [];
  const come = async (count: number) => {
    const port = Number(new URL(server.url).port);
    for (let number = 0; number < count; number++) {
      const kind = kinds[number % kinds.length] ?? raise();
      const isTooMuch = !kind.reads && number >= MOST_UNREAD * kinds.length;
      dribblers.push(new Dribbler(port, isTooMuch ? SILENT : kind));
    }
    await Promise.all(dribblers.map((dribbler) => dribbler.opened()));
  };
  const dribbleAndServe = async () => {
    for (const dribbler of dribblers) dribbler.dribble();
    for (const item of [...items, large]) {
      if ((await read(server.url, item, agent)) === 'right') seen.healthy++;
      else seen.wrong++;
    }
    await wait(DRIBBLE_MS);
  };
  const until = async (isReached: () => boolean) => {
    const began = performance.now();
    while (!isReached() && performance.now() - began < LONGEST_MS) await dribbleAndServe();
    return performance.now() - began;
  };
  /** Who does not read does not see that it was cut off: the server's descriptors tell. */
  const stillThere = () => Math.max(0, openFiles(pid) - before);

  await come(SOCKETS);
  for (let round = 0; round < ROUNDS; round++) await dribbleAndServe();
  const waitedFor = stillThere();
  const memory = peakBytes(pid) - atRest;
  await come(MORE_SOCKETS);
  const roomAfterMs = await until(() => stillThere() <= PUT_UP_WITH);
  const memoryOfAll = peakBytes(pid) - atRest;
  for (const dribbler of dribblers) dribbler.end();
  await until(() => stillThere() === 0);
  keepFigures('slow-sockets', {
    sockets: SOCKETS,
    'of these waited for': waitedFor,
    'more that came': MORE_SOCKETS,
    'room again after (s)': Math.round(roomAfterMs / 1000),
    'healthy answers meanwhile': seen.healthy,
    'wrong or failed': seen.wrong,
    'memory (MiB)': Math.ceil(memory / MIB),
    'memory with those that came (MiB)': Math.ceil(memoryOfAll / MIB),
    seed: SEED,
  });
  expect(seen.wrong).toBe(0);
  expect(SOCKETS + MORE_SOCKETS).toBeGreaterThan(PUT_UP_WITH);
  expect(waitedFor).toBeGreaterThan(0.95 * SOCKETS);
  expect(roomAfterMs).toBeLessThan(LONGEST_MS);
  expect(stillThere()).toBe(0);
  expect(memory).toBeLessThan(MOST_MEMORY);
  expect(memoryOfAll).toBeLessThan(MOST_MEMORY_OF_ALL);
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
