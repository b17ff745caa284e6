// `npm run bench -- growth [--counts N,N…] [--folder FOLDER]`: the same server and the same client on stores of
// 10,000, 1,000,000 and 10,000,000 results with a blob each. Prints the start of a server, the CPU of its
// requests, a client's hit, and the bytes on disk; then CPU and own memory of `verify` and of `gc --dry-run`.
// Requests ask for random entries of the store. Sizes are measured in turns. FOLDER is kept and used again.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Digest, digestOf } from '../core/digest.ts';
import { contentOf, generate } from './growth/generate.ts';
import type { GrpcJob } from './grpc/job.ts';
import { type Contestant, startAssay } from './server/contestants.ts';
import { Loader } from './server/loader.ts';
import { cpuSecondsOf } from './server/process.ts';
import { median, table } from './server/table.ts';

const ROUNDS = 5;
const STARTS = 5;
const HITS = 11;
const ASKED = 20_000;
const GETS = 6_000;
const FINDS = 100;
const SETTLE_MS = 200;
const EXECUTABLE = join(import.meta.dirname, '..', 'dist', 'assay');

const { values } = parseArgs({
  options: {
    counts: { type: 'string', default: '10000,1000000,10000000' },
    folder: { type: 'string' },
  },
});
const counts = values.counts.split(',').map(Number);
const folder = values.folder ?? realpathSync(mkdtempSync(join(tmpdir(), 'assay-bench-growth-')));

interface Size {
  readonly count: number;
  readonly directory: string;
  /** Random entries of this store, of equal number for every size. */
  readonly asked: readonly Digest[];
  /** By the name of the row. */
  readonly costs: Map<string, number[]>;
}

try {
  const sizes: Size[] = [];
  for (const count of counts) sizes.push(await sizeOf(count));
  for (const size of sizes) await measureStarts(size);
  await measureRequests(sizes);
  for (let round = 0; round <= HITS; round++) for (const size of sizes) await measureHit(size, round);
  report(sizes);
  for (const size of sizes) {
    measureCommand(size, 'verify', 'verify', '--anew', '--restore', '0');
    measureCommand(size, 'gc --dry-run', 'gc', '--dry-run', '--max-size', '1MB', '--lease', '1s');
  }
  report(sizes);
} finally {
  if (values.folder === undefined) rmSync(folder, { recursive: true, force: true });
}

async function sizeOf(count: number): Promise<Size> {
  const directory = join(folder, String(count));
  if (!existsSync(directory)) await generate(directory, count);
  const asked = Array.from({ length: Math.min(ASKED, count) }, () =>
    digestOf(contentOf(Math.floor(Math.random() * count))),
  );
  const costs = new Map([['disk, bytes for a result and its blob', [bytesIn(directory) / count]]]);
  return { count, directory, asked, costs };
}

function bytesIn(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).blocks * 512, 0);
}

function add({ costs }: Size, name: string, cost: number): void {
  costs.set(name, [...(costs.get(name) ?? []), cost]);
}

async function measureStarts(size: Size): Promise<void> {
  for (let start = 0; start < STARTS; start++) {
    const began = performance.now();
    const server = await startAssay(size.directory);
    add(size, 'start of a server until it listens, ms', performance.now() - began);
    await server.stop();
  }
}

/** All servers run at the same time and are asked in turns. The first round warms up. */
async function measureRequests(sizes: readonly Size[]): Promise<void> {
  const http = new Loader();
  const grpc = new Loader<GrpcJob>(join(import.meta.dirname, 'grpc', 'load.ts'));
  const servers: Contestant[] = [];
  try {
    for (const { directory } of sizes) servers.push(await startAssay(directory));
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, size] of sizes.entries()) {
        const server = servers[index];
        if (!server) continue;
        const { origin, pids } = server;
        const paths = size.asked.map(({ hash }) => `/cas/${hash}`);
        const cost = async (
          name: string,
          units: number,
          job: Promise<unknown>,
          before = cpuSecondsOf(pids),
        ) => {
          await job;
          if (round > 0) add(size, name, ((cpuSecondsOf(pids) - before) * 1000) / units);
        };
        await cost(
          'GET of a small blob, CPU-ms',
          GETS,
          http.run({ verb: 'get', origin, paths, count: GETS }),
        );
        const results = paths.map((path) => path.replace('/cas/', '/ac/'));
        await cost(
          'GET of a result, CPU-ms',
          GETS,
          http.run({ verb: 'get', origin, paths: results, count: GETS }),
        );
        const present = size.asked.map(({ hash, size }) => ({ hash, sizeBytes: size }));
        await cost(
          'FindMissing(1,000), present, CPU-ms',
          FINDS,
          grpc.run({ verb: 'findMissing', origin, count: FINDS, digests: 1_000, present }),
        );
      }
    }
  } finally {
    await http.stop();
    await grpc.stop();
    for (const server of servers) await server.stop();
  }
}

/** The output is deleted before each run, so that the client looks up the result and restores it. */
async function measureHit(size: Size, round: number): Promise<void> {
  const workspace = join(folder, `workspace-${size.count}`);
  mkdirSync(workspace, { recursive: true });
  const input = join(workspace, 'in.txt');
  if (!existsSync(input)) writeFileSync(input, 'input\n');
  const output = join(workspace, 'out.txt');
  rmSync(output, { force: true });
  await sleep(SETTLE_MS);
  const began = performance.now();
  execFileSync(
    EXECUTABLE,
    [
      'run',
      '--store',
      size.directory,
      '--input',
      'in.txt',
      '--output',
      'out.txt',
      '--',
      'cp',
      'in.txt',
      'out.txt',
    ],
    { cwd: workspace, stdio: 'ignore' },
  );
  if (round > 0) add(size, "a client's hit, restored, ms", performance.now() - began);
}

function measureCommand(size: Size, name: string, ...args: readonly string[]): void {
  const program = join(import.meta.dirname, 'large-store', 'command.ts');
  const [command = '', ...flags] = args;
  const ran = spawnSync(process.execPath, [program, command, ...flags, '--store', size.directory, '--json'], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const took = JSON.parse(ran.stderr.trim().split('\n').at(-1) ?? '{}');
  add(size, `${name}, CPU-µs for a result and its blob`, (took.cpuSeconds / size.count) * 1e6);
  add(size, `${name}, own memory, MiB`, took.ownMiB);
}

/** Prints what was measured since the last report. */
function report(sizes: readonly Size[]): void {
  const names = [...(sizes[0]?.costs.keys() ?? [])];
  const heading = [
    'median (least to most)',
    ...sizes.map(({ count }) => count.toLocaleString('en')),
    'last / first',
  ];
  const lines = names.map((name) => {
    const medians = sizes.map(({ costs }) => median(costs.get(name) ?? []));
    const cells = sizes.map(({ costs }, index) =>
      cellOf(medians[index] ?? Number.NaN, costs.get(name) ?? []),
    );
    return [name, ...cells, ((medians.at(-1) ?? Number.NaN) / (medians[0] ?? Number.NaN)).toFixed(2)];
  });
  console.log(`${table([heading, ...lines])}\n`);
  for (const { costs } of sizes) costs.clear();
}

function cellOf(middle: number, all: readonly number[]): string {
  const digits = middle < 10 ? 3 : 0;
  const spread =
    all.length > 1 ? ` (${Math.min(...all).toFixed(digits)} to ${Math.max(...all).toFixed(digits)})` : '';
  return `${middle.toFixed(digits)}${spread}`;
}
