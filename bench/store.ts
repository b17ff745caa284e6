// The cost of the store without a network: CPU time of this process for each operation, threads and kernel
// included. Prints a table and asserts nothing.
//
//   node bench/store.ts [FOLDER]     the store is made in FOLDER (or the system's temporary folder) and removed again
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Digest, digestOf, toWire } from '../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../core/namespace.ts';
import { ActionResult } from '../core/proto/generated/reapi.ts';
import { openDiskStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';

const MIB = 1024 * 1024;
const SMALL = 4096;
const LARGE = 64 * MIB;
const IN_FLIGHT = 32;

interface Cost {
  readonly cpuMicroseconds: number;
  readonly wallMs: number;
}

async function measure(work: () => Promise<void>): Promise<Cost> {
  const started = performance.now();
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpuMicroseconds: user + system, wallMs: performance.now() - started };
}

/** A few operations in each turn of the event loop, as requests arrive. */
async function eachOf(count: number, operation: (index: number) => Promise<unknown>): Promise<void> {
  for (let index = 0; index < count; index++) {
    await operation(index);
    if (index % 16 === 0) await nextTurn();
  }
}

async function inFlight(count: number, operation: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await operation(index);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

function report(name: string, amount: number, unit: string, { cpuMicroseconds, wallMs }: Cost): void {
  const each = (cpuMicroseconds / amount).toFixed(2).padStart(10);
  const rate = ((amount / wallMs) * 1000).toFixed(0).padStart(10);
  console.log(`${name.padEnd(44)} ${each} µs CPU/${unit} ${rate} ${unit}/s`);
}

function reportBytes(name: string, bytes: number, { cpuMicroseconds, wallMs }: Cost): void {
  const each = (cpuMicroseconds / 1e6 / (bytes / 1e9)).toFixed(2).padStart(10);
  const rate = (bytes / 1e6 / (wallMs / 1000)).toFixed(0).padStart(10);
  console.log(`${name.padEnd(44)} ${each} CPU-s/GB ${rate} MB/s`);
}

/** A yardstick for the speed of the machine, which other work lowers. */
async function yardstick(): Promise<void> {
  const bytes = randomBytes(SMALL);
  report(
    'yardstick: SHA-256 of 4 KiB',
    50_000,
    'hash',
    await measure(() => eachOf(50_000, async () => digestOf(bytes))),
  );
}

async function benchSmall(store: Store): Promise<Digest[]> {
  const count = 20_000;
  const blobs = Array.from({ length: count }, () => randomBytes(SMALL));
  const digests = blobs.map(digestOf);
  const blobAt = (index: number) => blobs[index] ?? randomBytes(SMALL);
  const digestAt = (index: number) => digests[index % count] ?? digestOf(blobAt(index));
  report(
    'put 4 KiB, durable, 32 in flight',
    count,
    'put',
    await measure(() => inFlight(count, (index) => store.blobs.put(digestAt(index), blobAt(index)))),
  );
  report(
    'put 4 KiB that is there',
    count,
    'put',
    await measure(() => eachOf(count, (index) => store.blobs.put(digestAt(index), blobAt(index)))),
  );
  report(
    'get 4 KiB',
    count * 5,
    'get',
    await measure(() => eachOf(count * 5, (index) => store.blobs.get(digestAt(index).hash))),
  );
  const thousand = digests.slice(0, 1000);
  report(
    'missing, 1000 digests',
    200,
    'call',
    await measure(() => eachOf(200, () => store.blobs.missing(thousand))),
  );
  return digests;
}

async function benchResults(store: Store, digests: readonly Digest[]): Promise<void> {
  const count = 2_000;
  const addresses = digests.slice(0, count).map(({ hash }) => ({ namespace: DEFAULT_NAMESPACE, key: hash }));
  const addressAt = (index: number) => addresses[index % count] ?? raise();
  const results = addresses.map((_, index) => resultOf(digests.slice(index * 3, index * 3 + 3)));
  const resultAt = (index: number) => results[index] ?? raise();
  report(
    'result put, 3 outputs, durable, 32 in flight',
    count,
    'put',
    await measure(() => inFlight(count, (index) => store.results.put(addressAt(index), resultAt(index)))),
  );
  report(
    'result get, 3 outputs',
    count * 20,
    'get',
    await measure(() => eachOf(count * 20, (index) => store.results.get(addressAt(index)))),
  );
}

function resultOf(outputs: readonly Digest[]): Uint8Array {
  return ActionResult.encode({
    ...ActionResult.decode(new Uint8Array(0)),
    outputFiles: outputs.map((digest, index) => ({
      path: `out/${index}`,
      digest: toWire(digest),
      isExecutable: false,
      contents: Buffer.alloc(0),
    })),
  }).finish();
}

async function benchLarge(store: Store): Promise<void> {
  const count = 6;
  const blobs = Array.from({ length: count }, () => randomBytes(LARGE));
  const digests = blobs.map(digestOf);
  const blobAt = (index: number) => blobs[index] ?? raise();
  const digestAt = (index: number) => digests[index % count] ?? raise();
  const read = async (index: number) => {
    const blob = await store.blobs.get(digestAt(index).hash);
    if (!blob || blob.bytes) raise();
    for await (const _ of blob.chunks());
  };
  const bytes = count * LARGE;
  reportBytes(
    'put 64 MiB, in pieces of 64 KiB',
    bytes,
    await measure(() => eachOf(count, (index) => store.blobs.put(digestAt(index), inPieces(blobAt(index))))),
  );
  reportBytes(
    'put 64 MiB that is there',
    bytes,
    await measure(() => eachOf(count, (index) => store.blobs.put(digestAt(index), inPieces(blobAt(index))))),
  );
  reportBytes('get 64 MiB', bytes * 3, await measure(() => eachOf(count * 3, read)));
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Buffer> {
  const piece = 64 * 1024;
  for (let at = 0; at < bytes.length; at += piece) yield bytes.subarray(at, at + piece);
}

async function benchOpen(directory: string): Promise<void> {
  const count = 50;
  const cost = await measure(() => eachOf(count, async () => (await openDiskStore({ directory })).close()));
  report('open and close', count, 'open', cost);
}

function raise(): never {
  throw new Error('the benchmark asked for more than it made');
}

const parent = process.argv[2] ?? tmpdir();
const directory = mkdtempSync(join(parent, 'assay-bench-store-'));
try {
  await yardstick();
  const store = await openDiskStore({ directory });
  await benchResults(store, await benchSmall(store));
  await benchLarge(store);
  await store.close();
  await benchOpen(directory);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
