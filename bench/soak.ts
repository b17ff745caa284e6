// `npm run bench -- soak [--minutes N]`: a long mixed load on one server whose store stays at its size limit.
// Prints memory, handles and errors from time to time, and at the end whether any of them grew.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent } from 'undici';
import { Random } from '../test/rig/random.ts';
import { ServerProcess } from '../test/rig/server.ts';
import { type Item, newBlob, newResult, read, send } from '../test/rig/uploads.ts';

const MIB = 1024 * 1024;
const CLIENTS = 16;
const REMEMBERED = 2_000;
const SAMPLES = 30;
/** The second half may exceed the first by this much and still counts as flat. */
const MEMORY_SHARE = 0.1;
const HANDLES = 2;

const minutes = Number(process.argv[process.argv.indexOf('--minutes') + 1] ?? Number.NaN) || 30;
const folder = mkdtempSync(join(tmpdir(), 'assay-soak-'));
const server = await ServerProcess.start(join(folder, 'store'), {
  form: 'bundle',
  args: ['--max-size', '1GiB', '--lease', '60s', '--verify-rate', '20', '--log-level', 'error'],
});
const agent = new Agent({ connections: CLIENTS });
const random = new Random(Date.now());
const known: Item[] = [];
const count = { reads: 0, writes: 0, misses: 0, errors: 0 };
const ends = performance.now() + minutes * 60_000;

function blobSize(): number {
  const turn = random.below(100);
  if (turn < 80) return 1 + random.below(30_000);
  return turn < 98 ? 70_000 + random.below(MIB) : 2 * MIB + random.below(6 * MIB);
}

async function writeSome(): Promise<void> {
  const blobs = Array.from({ length: 1 + random.below(3) }, () => newBlob(random, blobSize()));
  const items = [...blobs, newResult(random, ...blobs)];
  for (const item of items) {
    const status = await send(server.url, item, agent);
    count.writes++;
    // A store that is full of leased entries refuses writes. That is no error.
    if (status === 507) return;
    if (status !== 200) count.errors++;
  }
  known.push(...items);
  if (known.length > REMEMBERED) known.splice(0, known.length - REMEMBERED);
}

async function readOne(): Promise<void> {
  const item = known[random.below(known.length)];
  if (!item) return;
  const found = await read(server.url, item, agent);
  count.reads++;
  if (found === 404) count.misses++;
  else if (found !== 'right') count.errors++;
}

async function client(): Promise<void> {
  while (performance.now() < ends) {
    try {
      await (known.length < 20 || random.below(4) === 0 ? writeSome() : readOne());
    } catch {
      count.errors++;
    }
  }
}

interface Sample {
  readonly memory: number;
  readonly handles: number;
}

/**
 * Own memory without the mapped index, which grows until the store is full and which the kernel can reclaim.
 */
function sample(): Sample {
  const pid = server.child.pid ?? 0;
  const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { memory: Number(kib) * 1024, handles: readdirSync(`/proc/${pid}/fd`).length };
}

console.log(`${minutes} minutes, ${CLIENTS} clients`);
console.log('minute  memory MiB  handles    reads   writes   misses   errors');
const samples: Sample[] = [];
const began = performance.now();
const timer = setInterval(
  () => {
    const now = sample();
    samples.push(now);
    const minute = ((performance.now() - began) / 60_000).toFixed(1);
    const cells = [count.reads, count.writes, count.misses, count.errors].map((cell) =>
      String(cell).padStart(8),
    );
    console.log(
      `${minute.padStart(6)}  ${(now.memory / MIB).toFixed(0).padStart(10)}  ${String(now.handles).padStart(7)} ${cells.join(' ')}`,
    );
  },
  (minutes * 60_000) / SAMPLES,
);
await Promise.all(Array.from({ length: CLIENTS }, client));
clearInterval(timer);
await agent.destroy();
await server.stop();
rmSync(folder, { recursive: true, force: true });

/** The first fifth is warm-up. */
const steady = samples.slice(Math.ceil(samples.length / 5));
const half = Math.floor(steady.length / 2);
const mean = (of: readonly Sample[], what: keyof Sample) =>
  of.reduce((sum, one) => sum + one[what], 0) / of.length;
const grown = (what: keyof Sample) => mean(steady.slice(half), what) - mean(steady.slice(0, half), what);
const memoryShare = grown('memory') / mean(steady.slice(0, half), 'memory');
const verdicts: readonly (readonly [string, boolean])[] = [
  [`memory: second half against first ${(100 * memoryShare).toFixed(1)} %`, memoryShare <= MEMORY_SHARE],
  [`handles: second half against first ${grown('handles').toFixed(1)}`, grown('handles') <= HANDLES],
  [`errors: ${count.errors} of ${count.reads + count.writes} requests`, count.errors === 0],
];
for (const [what, isKept] of verdicts) console.log(`${isKept ? 'flat  ' : 'GROWN '} ${what}`);
const isFlat = verdicts.every(([, isKept]) => isKept);
console.log(isFlat ? 'verdict: memory flat, handles flat, 0 errors' : 'verdict: NOT flat');
process.exitCode = isFlat ? 0 : 1;
