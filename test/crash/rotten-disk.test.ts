// Bit rot: bits flip and files lose their end while nobody reads them. The server then serves none of them
// whole, quarantines each, and stores it again.
import { closeSync, openSync, readdirSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { openDiskStore } from '../../store/open.ts';
import { Workshop } from '../rig/assay.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { ServerProcess } from '../rig/server.ts';
import { soak } from '../rig/soak.ts';
import { read, send } from '../rig/uploads.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 20_261_115);
const FLIPPED_SMALL = soak(500, 60);
const FLIPPED_LARGE = soak(500, 60);
const CUT_SHORT = soak(1_000, 120);
const TOTAL = FLIPPED_SMALL + FLIPPED_LARGE + CUT_SHORT;
const LARGE_BYTES = 65_537;

let shop: Workshop;
let agent: Agent;

beforeEach(() => {
  shop = new Workshop();
  agent = new Agent({ connections: 16 });
});

afterEach(async () => {
  await agent.destroy();
  shop.remove();
});

/** Found on the disk by its first bytes. */
const MARK = Buffer.from('a blob of the rotten disk ');
const MARK_BYTES = MARK.length + 4;

function blobOf(number: number, random: Random): Buffer {
  const size =
    number < FLIPPED_SMALL ? MARK_BYTES + 1 + random.below(2_000) : LARGE_BYTES + random.below(500);
  const bytes = Buffer.alloc(size, random.bytes(32));
  bytes.set(MARK);
  bytes.writeUInt32LE(number, MARK.length);
  return bytes;
}

test(`${TOTAL} damaged blobs: 0 served whole, all quarantined, all stored again (seed ${SEED})`, {
  timeout: 300_000,
}, async () => {
  const random = new Random(SEED);
  const blobs = Array.from({ length: TOTAL }, (_, number) => blobOf(number, random));
  await fill(blobs);
  const server = await ServerProcess.start(shop.store, { form: 'bundle' });
  try {
    const items = blobs.map((bytes) => ({ path: `/cas/${digestOf(bytes).hash}`, bytes }));
    // Each was served a moment ago, which must not matter.
    const before = await Promise.all(items.map((item) => read(server.url, item, agent)));
    expect(before.filter((answer) => answer !== 'right')).toEqual([]);
    damage(blobs, random);
    const served = await Promise.all(
      items.map(async (item) => isServedWhole(`${server.url}${item.path}`, item.bytes)),
    );
    expect(served.filter((one) => one)).toEqual([]);
    expect(await quarantined(server.url)).toBe(TOTAL);
    for (const item of items) expect(await read(server.url, item, agent)).toBe(404);
    await Promise.all(items.map(async (item) => expect(await send(server.url, item, agent)).toBe(200)));
    for (const item of items) expect(await read(server.url, item, agent)).toBe('right');
    keepFigures('rotten-disk', {
      'flipped bits': FLIPPED_SMALL + FLIPPED_LARGE,
      'files cut short': CUT_SHORT,
      'served whole': 0,
      quarantined: TOTAL,
      healed: TOTAL,
      seed: SEED,
    });
  } finally {
    await server.kill();
  }
});

async function fill(blobs: readonly Buffer[]): Promise<void> {
  const store = await openDiskStore({ directory: shop.store });
  const waiting = [...blobs];
  const work = async (): Promise<void> => {
    for (let bytes = waiting.pop(); bytes; bytes = waiting.pop())
      await store.blobs.put(digestOf(bytes), bytes);
  };
  await Promise.all(Array.from({ length: 32 }, work));
  await store.close();
}

function damage(blobs: readonly Buffer[], random: Random): void {
  flipSmall(blobs, random);
  const files = new Map(filesBelow(join(shop.store, 'v5/files')).map((path) => [hashIn(path), path]));
  blobs.forEach((bytes, number) => {
    if (number < FLIPPED_SMALL) return;
    const path = files.get(digestOf(bytes).hash) ?? '';
    const at = random.below(bytes.length);
    if (number < FLIPPED_SMALL + FLIPPED_LARGE) flip(path, at, bytes.readUInt8(at), 1 << random.below(8));
    else truncateSync(path, at);
  });
}

/**
 * In every complete copy in the index: LMDB leaves old pages behind. LMDB's own pages are not damaged here.
 */
function flipSmall(blobs: readonly Buffer[], random: Random): void {
  const path = join(shop.store, 'v5/index/data.mdb');
  const index = readFileSync(path);
  const places = blobs
    .slice(0, FLIPPED_SMALL)
    .map((bytes) => MARK_BYTES + random.below(bytes.length - MARK_BYTES));
  for (let at = index.indexOf(MARK); at !== -1; at = index.indexOf(MARK, at + 1)) {
    const number = index.readUInt32LE(at + MARK.length);
    const [bytes, place] = [blobs[number], places[number]];
    if (!bytes || place === undefined || !index.subarray(at, at + bytes.length).equals(bytes)) continue;
    flip(path, at + place, bytes.readUInt8(place), 1 << random.below(8));
  }
}

function flip(path: string, at: number, byte: number, bit: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.of(byte ^ bit), 0, 1, at);
  closeSync(file);
}

/** An answer of 200 that ends with all its bytes, right or wrong. */
async function isServedWhole(url: string, expected: Buffer): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { dispatcher: agent });
    const bytes = await body.arrayBuffer();
    return statusCode === 200 && bytes.byteLength === expected.length;
  } catch {
    return false;
  }
}

async function quarantined(url: string): Promise<number> {
  const { body } = await request(`${url}/metrics`, { dispatcher: agent });
  return Number(/assay_store_events_total\{event="quarantined"\} (\d+)/.exec(await body.text())?.[1]);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function hashIn(path: string): string {
  return /([0-9a-f]{64})-[0-9a-f]{12}$/.exec(path)?.[1] ?? '';
}
