// Thousands of slow clients: some send nothing, some send a header or body byte by byte, some never read
// their response, some start HTTP/2 and stop. The server tolerates two thousand, since a healthy client can
// be slow. When more connect than the limit allows, the server closes them. Healthy clients are served
// throughout, and memory stays bounded.
//
// bench/slow-sockets.ts measures the latency of the healthy clients: it depends on the load of the machine.
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
/** Together with SOCKETS, more connections than the server tolerates. */
const MORE_SOCKETS = 1_600;
const PUT_UP_WITH = SERVER.maxConnections * SERVER.pressureConnections;
/**
 * Non-reading sockets per wave. The kernel holds up to 36 MiB per socket, so more would exhaust the machine.
 */
const MOST_UNREAD = 40;
const SILENT = { name: 'silent', first: '', reads: true };
const ROUNDS = 6;
const DRIBBLE_MS = 500;
const BUSY_CLIENTS = 32;
const MIB = 1024 * 1024;
const MOST_MEMORY = 64 * MIB;
const MOST_MEMORY_OF_ALL = 128 * MIB;
/** The time limit for connections to fall below the bound, and at the end to zero. */
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

test(`the server waits for ${SOCKETS} slow sockets, closes more, and serves healthy clients throughout (seed ${SEED})`, {
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
  /** A client that does not read does not notice a reset, so count the server's descriptors. */
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

/** A warm server: memory for healthy traffic is allocated before the measurement starts. */
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
