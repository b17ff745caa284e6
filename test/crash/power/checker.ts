// Lays out what a disk may hold after a power loss, opens the store on it, and reads everything that was ever
// stored. First at every moment with all uncertain changes lost, and with all of them kept; then at random
// moments with random outcomes. Prints its findings as JSON. Before each opening it writes down which one it
// is, in case the process dies.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../../../core/digest.ts';
import { openDiskStore } from '../../../store/open.ts';
import type { Store } from '../../../store/store.ts';
import { Random } from '../../rig/random.ts';
import { contentOf, readFrom } from '../../store/content.ts';
import { blobOf, FIRST_TENANT, resultOf, SECOND_TENANT, tenantsOf } from './items.ts';
import { type Fate, Outcome } from './outcome.ts';
import { type Operation, type Recording, readRecording } from './recording.ts';

export interface Verdict {
  readonly cuts: number;
  readonly samples: number;
  readonly operations: number;
  readonly syncs: number;
  readonly acknowledged: number;
  /** A few of each, as text. */
  readonly wrong: readonly string[];
  readonly lost: readonly string[];
  readonly unusable: readonly string[];
}

const SHOWN = 5;
/** Something is stored after every so many openings only, because that costs syncs. */
const STORED_EVERY = 40;

const [folder = '', root = '', seedText = '', countText = '', samplesText = ''] = process.argv.slice(2);
const [seed, count, samples] = [Number(seedText), Number(countText), Number(samplesText)];
const blobs = Array.from({ length: count }, (_, number) => {
  const bytes = blobOf(seed, number);
  return { bytes, digest: digestOf(bytes) };
});
const results = Array.from({ length: count }, (_, number) => resultOf(seed, number));

const found = { wrong: [] as string[], lost: [] as string[], unusable: [] as string[] };
let openings = 0;

async function look(recording: Recording, moment: number, fate: Fate, title: string): Promise<void> {
  writeFileSync(join(folder, 'current'), title);
  const disk = join(folder, 'disk');
  rmSync(disk, { recursive: true, force: true });
  mkdirSync(disk);
  new Outcome(recording, moment, fate).layOut(disk);
  const promised = promisedBefore(recording.operations, moment);
  try {
    const store = await openDiskStore({ directory: join(disk, 'store') });
    try {
      const first = store.tenant(FIRST_TENANT);
      await lookAtBlobs(first, promised, title);
      await lookAtResults(first, promised, title);
      await lookAtSecondTenant(store.tenant(SECOND_TENANT), promised, title);
      if (openings++ % STORED_EVERY === 0) await storeOnIt(first, title);
    } finally {
      await store.close();
    }
  } catch (error) {
    note(found.unusable, `${title}: ${error instanceof Error ? error.message : error}`);
  }
}

/** What the process had begun to print at that moment. */
function promisedBefore(operations: readonly Operation[], moment: number): Set<string> {
  return new Set(
    operations.flatMap((one) => (one.kind === 'said' && one.began < moment ? one.text.trim() : [])),
  );
}

async function lookAtBlobs(store: Store, promised: ReadonlySet<string>, title: string): Promise<void> {
  for (const [number, { bytes, digest }] of blobs.entries()) {
    const isMissing = (await store.blobs.missing([digest])).length > 0;
    const read = await readFrom(store, digest).catch(() => undefined);
    if (read && !read.equals(bytes)) note(found.wrong, `${title}: blob ${number} has other bytes`);
    if (!read && promised.has(`blob ${number}`)) note(found.lost, `${title}: blob ${number}`);
    if (isMissing === (read !== undefined))
      note(found.wrong, `${title}: missing is wrong about blob ${number}`);
  }
}

async function lookAtResults(store: Store, promised: ReadonlySet<string>, title: string): Promise<void> {
  for (const [number, { address, bytes }] of results.entries()) {
    const read = await store.results.get(address);
    if (!read && promised.has(`result ${number}`)) note(found.lost, `${title}: result ${number}`);
    if (read && !read.bytes.equals(bytes)) note(found.wrong, `${title}: result ${number} has other bytes`);
    if (read && (await store.blobs.missing(read.references)).length > 0)
      note(found.wrong, `${title}: result ${number} names what is not there`);
  }
}

async function lookAtSecondTenant(store: Store, promised: ReadonlySet<string>, title: string): Promise<void> {
  const missing = new Set(await store.blobs.missing(blobs.map(({ digest }) => digest)));
  for (const [number, { digest }] of blobs.entries()) {
    const isOwn = tenantsOf(number).includes(SECOND_TENANT);
    if (isOwn && missing.has(digest) && promised.has(`blob ${number}`))
      note(found.lost, `${title}: blob ${number} of the second tenant`);
    if (!isOwn && !missing.has(digest))
      note(found.wrong, `${title}: the second tenant has blob ${number} of the first`);
  }
}

async function storeOnIt(store: Store, title: string): Promise<void> {
  for (const bytes of [
    contentOf('after', 100),
    contentOf('after', 100_000),
    ...blobs.map(({ bytes }) => bytes),
  ]) {
    await store.blobs.put(digestOf(bytes), bytes);
    const read = await readFrom(store, digestOf(bytes));
    if (!read?.equals(bytes)) note(found.unusable, `${title}: what was stored afterwards can not be read`);
  }
}

function note(list: string[], line: string): void {
  list.push(line);
}

function shown(list: readonly string[]): string[] {
  const more = list.length - SHOWN;
  return more > 0 ? [...list.slice(0, SHOWN), `and ${more} more`] : [...list];
}

const recording = readRecording(readFileSync(join(folder, 'trace'), 'latin1'), root);
const moments = [
  ...new Set([
    ...recording.operations.flatMap(({ began, ended }) => [began, began + 1, ended, ended + 1]),
    recording.moments,
  ]),
].sort((a, b) => a - b);
for (const moment of moments) {
  await look(recording, moment, 'lost', `cut at ${moment}, the rest lost`);
  await look(recording, moment, 'kept', `cut at ${moment}, the rest kept`);
}
for (let sample = 0; sample < samples; sample++) {
  const random = new Random(seed + sample * 31 + 1);
  const moment = random.pick(moments);
  await look(recording, moment, random, `sample ${sample} at ${moment}`);
}

const verdict: Verdict = {
  cuts: moments.length,
  samples,
  operations: recording.operations.length,
  syncs: recording.operations.filter(({ kind }) => kind === 'sync').length,
  acknowledged: promisedBefore(recording.operations, recording.moments).size,
  wrong: shown(found.wrong),
  lost: shown(found.lost),
  unusable: shown(found.unusable),
};
process.stdout.write(`${JSON.stringify(verdict)}\n`);
