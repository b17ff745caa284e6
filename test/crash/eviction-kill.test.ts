// kill -9 while a store evicts and receives an upload in parts. Leased entries are present, present entries
// are complete (E4, E5), and the byte count is right (I6).
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { digestOf } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import type { StoreEvent } from '../../store/events.ts';
import { type DiskStore, openDiskStore } from '../../store/open.ts';
import { keepFigures } from '../rig/figures.ts';
import { Random } from '../rig/random.ts';
import { soak } from '../rig/soak.ts';
import { Child } from '../store/children/child.ts';
import { EVICTED, uploadOf } from '../store/children/evicted.ts';
import { addressOf, readFrom } from '../store/content.ts';
import { filesIn, useFolders } from '../store/folders.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 150);
/** Even, because two lanes share them. */
const MOMENTS = 2 * soak(500);
/** A child may have a few more writes in progress than it has printed. */
const AHEAD = 4;
const { folder } = useFolders();

interface Killed {
  readonly lines: readonly string[];
  /** By the clock in the child's lines. */
  readonly at: number;
}

async function killSomewhere(directory: string, seed: number, random: Random): Promise<Killed> {
  const child = new Child('evictor', directory, seed);
  const lines: string[] = [];
  const isDuringOpen = random.below(10) === 0;
  const enough = isDuringOpen ? 0 : 1 + random.below(20);
  while (lines.length < enough) {
    const line = await child.line();
    if (line === undefined) throw new Error(`the child of seed ${seed} ended by itself`);
    lines.push(line);
  }
  // The moment of the kill is the point; there is nothing to wait for.
  await pause(isDuringOpen ? 60 + random.below(150) : random.below(12));
  const at = Number(process.hrtime.bigint() / 1_000_000n);
  await child.kill();
  return { lines: [...lines, ...(await child.remainingLines())], at };
}

function numbersIn(lines: readonly string[], kind: 'result' | 'part', column = 1): number[] {
  return lines.filter((line) => line.startsWith(`${kind} `)).map((line) => Number(line.split(' ')[column]));
}

/** Results whose lease was valid when the child was killed. Nothing evicts afterwards. */
function promisedBy({ lines, at }: Killed): Set<number> {
  const times = numbersIn(lines, 'result', 2);
  const recent = numbersIn(lines, 'result').filter(
    (_, index) => at - (times[index] ?? 0) < EVICTED.options.leaseMs,
  );
  return new Set(recent);
}

async function checkResults(store: DiskStore, seed: number, killed: Killed): Promise<number> {
  let hits = 0;
  const promised = promisedBy(killed);
  const end = Math.max(-1, ...numbersIn(killed.lines, 'result')) + AHEAD;
  for (let number = 0; number < end; number++) {
    const result = await store.results.get(addressOf(`${seed}/${number}`));
    hits += result ? 1 : 0;
    if (promised.has(number)) expect(result).toBeDefined();
    for (const bytes of EVICTED.contentsOf(seed, number)) {
      const digest = digestOf(bytes);
      const isThere = (await store.blobs.missing([digest])).length === 0;
      const found = await readFrom(store, digest);
      expect(found !== undefined).toBe(isThere);
      if (found) expect(found.equals(bytes)).toBe(true);
      if (result) expect(isThere).toBe(true);
    }
  }
  return hits;
}

/** A finished upload is a blob and has no record; the next part begins it again. */
async function checkUpload(store: DiskStore, parts: readonly number[], least: number): Promise<number> {
  const whole = digestOf(uploadOf());
  const { committed = 0 } = (await store.uploads.status(EVICTED.upload)) ?? {};
  const finished = parts.lastIndexOf(whole.size);
  const isBlob = (await store.blobs.missing([whole])).length === 0;
  if (finished === -1 && !isBlob) expect(committed).toBeGreaterThanOrEqual(least);
  if (!isBlob) expect(committed).toBeGreaterThanOrEqual(Math.max(0, ...parts.slice(finished + 1)));
  return committed;
}

/** Compares the byte count of the index with its files (I6). */
function checkSum(store: DiskStore, directory: string): void {
  const inFiles = filesIn(directory, 'files').reduce(
    (sum, path) => sum + Math.ceil(statSync(path).size / 4096) * 4096,
    0,
  );
  expect(readdirSync(join(directory, 'v5/quarantine'))).toEqual([]);
  const index = statSync(join(directory, 'v5/index/data.mdb')).size;
  expect(store.space.used()).toBeLessThanOrEqual(inFiles + index + 4 * 1024 * 1024);
}

interface Found {
  hits: number;
  parts: number;
}

/** Two lanes: with one, a core would be idle while a child starts. */
async function lane(first: number, moments: number): Promise<Found> {
  const random = new Random(SEED + first);
  const directory = folder();
  const found = { hits: 0, parts: 0 };
  let committed = 0;
  for (let moment = first; moment < first + moments; moment++) {
    const seed = SEED + moment;
    const killed = await killSomewhere(directory, seed, random);
    const events: StoreEvent[] = [];
    const store = await openDiskStore({ directory, onEvent: (event) => events.push(event) });
    found.hits += await checkResults(store, seed, killed);
    const printed = numbersIn(killed.lines, 'part');
    committed = await checkUpload(store, printed, committed);
    found.parts += printed.length;
    expect(events).toEqual([]);
    checkSum(store, directory);
    await store.close();
  }
  await finishUpload(directory);
  return found;
}

async function finishUpload(directory: string): Promise<void> {
  const store = await openDiskStore({ directory, ...EVICTED.options });
  const { committed: stands = 0, isFinished } = (await store.uploads.status(EVICTED.upload)) ?? {};
  const bytes = uploadOf();
  if (!isFinished) {
    const rest = { expected: digestOf(bytes), offset: stands, content: bytes.subarray(stands), isLast: true };
    await onceThereIsRoom(() => store.uploads.append(EVICTED.upload, rest));
    expect((await readFrom(store, digestOf(bytes)))?.equals(bytes)).toBe(true);
  }
  await store.close();
}

/** The last child's writes may have leased everything until a moment ago. */
async function onceThereIsRoom(write: () => Promise<unknown>): Promise<void> {
  await expect
    .poll(() => write().then(() => 'written', codeOf), { timeout: 60_000, interval: EVICTED.options.leaseMs })
    .toBe('written');
}

const codeOf = (error: unknown) => (error instanceof AssayError ? error.code : messageOf(error));

test(`after kill -9 at ${MOMENTS} moments of eviction and uploads nothing is torn or lost (E5, I6, seed ${SEED})`, async () => {
  const half = MOMENTS / 2;
  const lanes = await Promise.all([lane(0, half), lane(half, half)]);
  const sum = (of: (found: Found) => number) => lanes.reduce((total, found) => total + of(found), 0);
  expect(sum(({ hits }) => hits)).toBeGreaterThan(MOMENTS);
  expect(sum(({ parts }) => parts)).toBeGreaterThan(MOMENTS / 10);
  keepFigures('eviction-kill', {
    kills: MOMENTS,
    'results whole after it': sum(({ hits }) => hits),
    'parts of an upload acknowledged': sum(({ parts }) => parts),
    'torn or lost': 0,
    seed: SEED,
  });
}, 3_600_000);
