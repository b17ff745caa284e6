import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';
import { Random } from '../../rig/random.ts';
import { soak } from '../../rig/soak.ts';
import { Child } from '../children/child.ts';
import { blobOf, resultOf } from '../children/items.ts';
import { readFrom } from '../content.ts';
import { useFolders } from '../folders.ts';

const SEED = Number(process.env.ASSAY_TEST_SEED ?? 4_711);
const MOMENTS = soak(30, 12);
/** A child may have a few more writes in progress than it has printed. */
const AHEAD = 8;
const { folder } = useFolders();

/**
 * Kills the child after a number of lines and a time, both from the seed. The printed lines are the
 * acknowledged writes.
 */
async function killSomewhere(directory: string, seed: number, random: Random): Promise<string[]> {
  const child = new Child('putter', directory, seed);
  const lines: string[] = [];
  const isDuringOpen = random.below(6) === 0;
  const enough = isDuringOpen ? 0 : 1 + random.below(25);
  while (lines.length < enough) {
    const line = await child.line();
    if (line === undefined) throw new Error(`the child of seed ${seed} ended by itself`);
    lines.push(line);
  }
  // The moment of the kill is the point; there is nothing to wait for.
  await setTimeout(isDuringOpen ? 100 + random.below(300) : random.below(12));
  await child.kill();
  return [...lines, ...(await child.remainingLines())];
}

function numbersIn(lines: readonly string[], kind: 'blob' | 'result'): Set<number> {
  return new Set(
    lines.filter((line) => line.startsWith(`${kind} `)).map((line) => Number(line.split(' ')[1])),
  );
}

async function checkBlobs(
  store: Store,
  seed: number,
  promised: ReadonlySet<number>,
  end: number,
): Promise<void> {
  for (let number = 0; number < end; number++) {
    const bytes = blobOf(seed, number);
    const digest = digestOf(bytes);
    const isThere = (await store.blobs.missing([digest])).length === 0;
    if (promised.has(number)) expect(isThere).toBe(true);
    const found = await readFrom(store, digest);
    expect(found !== undefined).toBe(isThere);
    if (found) expect(found.equals(bytes)).toBe(true);
  }
}

async function checkResults(
  store: Store,
  seed: number,
  promised: ReadonlySet<number>,
  end: number,
): Promise<void> {
  for (let number = 0; number < end; number++) {
    const { address, bytes } = resultOf(seed, number);
    const found = await store.results.get(address);
    if (promised.has(number)) expect(found).toBeDefined();
    if (!found) continue;
    expect(found.bytes.equals(bytes)).toBe(true);
    expect(await store.blobs.missing(found.references)).toEqual([]);
  }
}

test(`after kill -9 at ${MOMENTS} moments everything acknowledged is present, and nothing is torn (I2, seed ${SEED})`, async () => {
  const random = new Random(SEED);
  const directory = folder();
  let promisedBlobs = 0;
  for (let moment = 0; moment < MOMENTS; moment++) {
    const seed = SEED + moment;
    const lines = await killSomewhere(directory, seed, random);
    const store = await openDiskStore({ directory });
    const [blobs, results] = [numbersIn(lines, 'blob'), numbersIn(lines, 'result')];
    const end = Math.max(0, ...blobs) + AHEAD;
    await checkBlobs(store, seed, blobs, end);
    await checkResults(store, seed, results, end);
    promisedBlobs += blobs.size;
    await store.close();
  }
  expect(promisedBlobs).toBeGreaterThan(MOMENTS);
}, 240_000);
