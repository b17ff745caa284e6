// The time until a store with a million results and a million blobs answers: open, first hit, and one
// `missing` call, each in a new process.
//
//   node bench/start.ts [COUNT [FOLDER]]     FOLDER is kept and reused
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Digest, digestOf } from '../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../core/namespace.ts';
import { createStore } from '../store/disk/create.ts';
import { layoutIn, VERSION } from '../store/disk/fs/layout.ts';
import {
  ageKeyOf,
  BLOB_AGE,
  contentKeyOf,
  encodePresence,
  encodeResult,
  RESULT_AGE,
  resultKeyOf,
  tenantsOf,
} from '../store/disk/index/records.ts';
import { Tables } from '../store/disk/index/tables.ts';
import { openDiskStore } from '../store/open.ts';

const IN_ONE_COMMIT = 50_000;
const STARTS = 10;
const TICK = 1;
const NOTHING = Buffer.alloc(1);
const RESULT = Buffer.from('a result');

const contentOf = (number: number) => Buffer.from(`a blob of the benchmark, number ${number}`);
const addressOf = ({ hash }: Digest) => ({ namespace: DEFAULT_NAMESPACE, key: hash });

/**
 * Writes the index directly, because the store's own calls would take an hour. The rows are the same. They
 * are inserted in key order, so that pages are filled one after the other.
 */
async function generate(directory: string, count: number): Promise<void> {
  const layout = layoutIn(join(directory, VERSION));
  await createStore(layout);
  const tables = new Tables(layout.index, 0);
  const digests = Array.from({ length: count }, (_, number) => numbered(number)).sort(byHash);
  const [presence, content] = [tables.table('presence'), tables.table('content')];
  const [results, uses, ages] = [tables.table('results'), tables.table('uses'), tables.table('ages')];
  for (let from = 0; from < count; from += IN_ONE_COMMIT) {
    const some = digests.slice(from, from + IN_ONE_COMMIT);
    presence.transactionSync(() => {
      for (const { number, digest } of some) {
        const { hash, size } = digest;
        const key = Buffer.from(hash, 'hex');
        const record = encodePresence({
          size,
          isFile: false,
          generation: number + 1,
          tick: TICK,
          position: number + 1,
          checksum: undefined,
          tenants: tenantsOf(),
        });
        presence.putSync(key, record, number + 1);
        content.putSync(contentKeyOf(key, number + 1), contentOf(number));
        const address = resultKeyOf(addressOf(digest));
        const result = encodeResult(address, { bytes: RESULT, references: [digest] });
        results.putSync(address, result, number + 1);
        uses.putSync(address, NOTHING, TICK);
        ages.putSync(ageKeyOf(RESULT_AGE, TICK, address), NOTHING);
        ages.putSync(ageKeyOf(BLOB_AGE, TICK, contentKeyOf(key, number + 1)), NOTHING);
      }
    });
  }
  await tables.close();
}

function numbered(number: number): { number: number; digest: Digest } {
  return { number, digest: digestOf(contentOf(number)) };
}

function byHash(a: { digest: Digest }, b: { digest: Digest }): number {
  return a.digest.hash < b.digest.hash ? -1 : 1;
}

/** Prints the duration of each in milliseconds. */
async function start(directory: string, count: number): Promise<void> {
  const wanted = digestOf(contentOf(Math.floor(count / 2)));
  const began = performance.now();
  const store = await openDiskStore({ directory, maxSize: { share: 0.9 } });
  const opened = performance.now();
  const result = await store.results.get(addressOf(wanted));
  const hit = performance.now();
  const missing = await store.blobs.missing(Array.from({ length: 1000 }, (_, at) => digestOf(contentOf(at))));
  const answered = performance.now();
  if (!result || missing.length > 0) throw new Error('the store does not hold what was put into it');
  console.log(JSON.stringify([opened - began, hit - opened, answered - hit]));
  await store.close();
}

function report(directory: string, count: number): void {
  const runs = Array.from({ length: STARTS }, () => {
    const { stdout } = spawnSync(
      process.execPath,
      [import.meta.filename, 'start', directory, String(count)],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    const times: number[] = JSON.parse(stdout);
    return times;
  });
  for (const [column, name] of ['open', 'first hit', 'missing, 1000 digests'].entries()) {
    const sorted = runs.map((times) => times[column] ?? Number.NaN).sort((a, b) => a - b);
    const [median = 0, most = 0] = [sorted[Math.floor(STARTS / 2)], sorted.at(-1)];
    console.log(
      `${name.padEnd(24)} ${median.toFixed(1).padStart(8)} ms median ${most.toFixed(1).padStart(8)} ms most`,
    );
  }
}

if (process.argv[2] === 'start') {
  await start(process.argv[3] ?? '', Number(process.argv[4]));
} else {
  const count = Number(process.argv[2] ?? 1_000_000);
  const kept = process.argv[3];
  const directory = kept ?? mkdtempSync(join(tmpdir(), 'assay-bench-start-'));
  try {
    if (!existsSync(join(directory, VERSION))) await generate(directory, count);
    console.log(`${count} results and ${count} blobs`);
    report(directory, count);
  } finally {
    if (kept === undefined) rmSync(directory, { recursive: true, force: true });
  }
}
