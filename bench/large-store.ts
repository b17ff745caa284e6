// The cost of commands that read a whole large store: verify, gc --dry-run, and a gc of everything, each in
// its own process. Prints CPU time and peak memory. Both should grow at most with the number of entries, and
// the process's own memory not at all. Asserts nothing.
//
//   node bench/large-store.ts [--entries=COUNT] [--folder=FOLDER]     100,000; in the system's temporary folder
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Digest, digestOf, toWire } from '../core/digest.ts';
import { DEFAULT_NAMESPACE } from '../core/namespace.ts';
import { ActionResult } from '../core/proto/generated/reapi.ts';
import { openDiskStore } from '../store/open.ts';

const BLOB_BYTES = 200;
const BLOBS_IN_A_RESULT = 10;
const IN_FLIGHT = 2000;
const LEASE = '1s';

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '100000' },
    folder: { type: 'string', default: tmpdir() },
  },
});
const count = Number(values.entries);
const directory = mkdtempSync(join(values.folder, 'assay-large-store-'));

/** Fills the store as clients do, with many writes in flight: blobs, and results that name some of them. */
async function fill(): Promise<void> {
  const store = await openDiskStore({ directory, commitDelayMs: 1 });
  let next = 0;
  const worker = async () => {
    for (let from = next; from < count; from = next) {
      next += BLOBS_IN_A_RESULT;
      const numbers = Array.from({ length: Math.min(BLOBS_IN_A_RESULT, count - from) }, (_, at) => from + at);
      const digests = await Promise.all(numbers.map((number) => store.blobs.put({}, blobOf(number))));
      const key = digestOf(Buffer.from(`result ${from}`)).hash;
      await store.results.put({ namespace: DEFAULT_NAMESPACE, key }, resultOf(digests));
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT / BLOBS_IN_A_RESULT }, worker));
  await store.close();
}

function blobOf(number: number): Buffer {
  const bytes = Buffer.alloc(BLOB_BYTES);
  bytes.write(`a blob of the benchmark, number ${number}`);
  return bytes;
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

function measure(name: string, ...args: string[]): void {
  const program = join(import.meta.dirname, 'large-store', 'command.ts');
  const [command = '', ...flags] = args;
  const ran = spawnSync(process.execPath, [program, command, ...flags, '--store', directory, '--json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const took = JSON.parse(ran.stderr.trim().split('\n').at(-1) ?? '{}');
  const report = JSON.parse(ran.stdout);
  console.log(
    [
      name.padEnd(14),
      `${took.cpuSeconds.toFixed(1).padStart(7)} CPU-s`,
      `${((took.cpuSeconds / count) * 1e6).toFixed(0).padStart(5)} µs an entry`,
      `${took.wallSeconds.toFixed(0).padStart(5)} s`,
      `${took.ownMiB.toFixed(0).padStart(5)} MiB own`,
      `${took.withMapMiB.toFixed(0).padStart(6)} MiB with the mapped index`,
      `${report.blobs} blobs, ${report.results} results`,
    ].join('  '),
  );
}

try {
  const began = process.cpuUsage();
  await fill();
  const { user, system } = process.cpuUsage(began);
  console.log(`${count} blobs of ${BLOB_BYTES} bytes; filled in ${((user + system) / 1e6).toFixed(0)} CPU-s`);
  measure('verify', 'verify', '--anew', '--restore', '0');
  measure('gc --dry-run', 'gc', '--dry-run', '--max-size', '1MB', '--lease', LEASE);
  measure('gc', 'gc', '--max-size', '1MB', '--lease', LEASE);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
