// Two thousand clients that take their time: some say nothing, some send a header or a body byte by byte, some never read
// their answer, some begin HTTP/2 and stop. All are cut in the time that the limits set, others are served meanwhile as
// if nobody were there, and memory stays.
//
// How much longer those others wait is measured in bench/slow-sockets.ts: it says nothing on a machine that does other
// things too.
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { Agent } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { forgetPeak, peakBytes, residentBytes } from '../rig/memory.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { type Item, newBlob, read, send } from '../rig/uploads.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const SOCKETS = 2_000;
const DRIBBLE_MS = 500;
const BUSY_CLIENTS = 32;
const MIB = 1024 * 1024;
/** 64 MiB is the aim; V8, which collects garbage when it likes, has been seen to take 20 more. */
const MOST_MEMORY = 96 * MIB;
/** They are to be gone within 15 s; a machine that does other things too may take twice as long to notice. */
const PATIENCE_MS = 30_000;

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

/** What it sends at once, and what it sends byte by byte after that. */
interface Manner {
  readonly name: string;
  readonly first: string;
  readonly next?: string;
  readonly reads: boolean;
}

function manners(large: Item): Manner[] {
  const put = `PUT /cas/${'d'.repeat(64)} HTTP/1.1\r\nhost: x\r\n`;
  return [
    { name: 'unread answer', first: `GET ${large.path} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(3), reads: false },
    { name: 'silent', first: '', reads: true },
    {
      name: 'header',
      first: 'GET /heal',
      next: 'thz HTTP/1.1\r\nhost: x\r\nx-much: '.padEnd(500, 'x'),
      reads: true,
    },
    { name: 'small body', first: `${put}content-length: 60000\r\n\r\n`, next: 'x'.repeat(500), reads: true },
    { name: 'large body', first: `${put}content-length: 900000\r\n\r\n`, next: 'x'.repeat(500), reads: true },
    {
      name: 'chunked body',
      first: `${put}transfer-encoding: chunked\r\n\r\n`,
      next: '1\r\nx\r\n'.repeat(100),
      reads: true,
    },
    { name: 'preface', first: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', reads: true },
    { name: 'half a preface', first: 'PR', reads: true },
  ];
}

class Dribbler {
  readonly socket: Socket;
  #opened = performance.now();
  goneAfterMs: number | undefined;
  readonly name: string;
  readonly reads: boolean;
  #left: string;

  constructor(port: number, { name, first, next = '', reads }: Manner) {
    this.name = name;
    this.reads = reads;
    this.#left = next;
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => {});
    this.socket.on('connect', () => {
      this.#opened = performance.now();
    });
    this.socket.on('close', () => {
      this.goneAfterMs = performance.now() - this.#opened;
    });
    if (reads) this.socket.resume();
    else this.socket.pause();
    this.socket.write(first);
  }

  /** One byte more, where there is one. A socket that is not read only learns of its end by writing. */
  dribble(): void {
    if (this.goneAfterMs !== undefined || this.#left === '') return;
    this.socket.write(this.#left.slice(0, 1));
    this.#left = this.#left.slice(1);
  }
}

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

  const kinds = manners(large);
  const port = Number(new URL(server.url).port);
  const dribblers = Array.from(
    { length: SOCKETS },
    (_, number) => new Dribbler(port, kinds[number % kinds.length] ?? raise()),
  );
  const began = performance.now();
  const seen = { healthy: 0, wrong: 0 };
  const left = () => dribblers.filter(({ goneAfterMs, reads }) => reads && goneAfterMs === undefined);
  let isCalm = false;
  while (!isCalm && performance.now() - began < PATIENCE_MS) {
    for (const dribbler of dribblers) dribbler.dribble();
    for (const item of items) {
      if ((await read(server.url, item, agent)) === 'right') seen.healthy++;
      else seen.wrong++;
    }
    await wait(DRIBBLE_MS);
    isCalm = left().length === 0 && openFiles(pid) <= before;
  }
  const calmAfterMs = performance.now() - began;
  const memory = peakBytes(pid) - atRest;
  const stayed = left().map(({ name }) => name);
  const kept = openFiles(pid) - before;
  for (const { socket } of dribblers) socket.destroy();
  expect(new Set(stayed)).toEqual(new Set());
  // Who does not read does not see that it was cut off: the server's descriptors tell.
  expect(kept).toBeLessThanOrEqual(0);
  expect(seen.wrong).toBe(0);
  expect(seen.healthy).toBeGreaterThan(items.length);
  expect(memory).toBeLessThan(MOST_MEMORY);
  const lives = dribblers.flatMap(({ goneAfterMs, reads }) => (reads ? (goneAfterMs ?? []) : []));
  keepFigures('slow-sockets', {
    sockets: SOCKETS,
    'cut by the server': SOCKETS,
    'longest life of one that sends too slowly (s)': Math.round(Math.max(...lives) / 1000),
    'of one that does not read (s)': Math.round(calmAfterMs / 1000),
    'healthy answers meanwhile': seen.healthy,
    'wrong or failed': seen.wrong,
    'memory (MiB)': Math.ceil(memory / MIB),
    seed: SEED,
  });
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
