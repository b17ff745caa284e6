// The server of this version compared with that of another checkout, request by request: CPU time of the
// server processes, all threads and the kernel's work included, in turns. ASSAY_BENCH_OTHER names the checkout,
// which has its own packages (`git worktree add`, `npm ci`). Without it the second server is of this version
// too, which shows the noise. Arguments select rows by a part of their name.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../core/version.ts';
import type { GrpcJob } from './grpc/job.ts';
import { type Contestant, startAssay, startAssayOf } from './server/contestants.ts';
import type { Job } from './server/job.ts';
import { Loader } from './server/loader.ts';
import { cpuSecondsOf } from './server/process.ts';
import { median, table } from './server/table.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const SMALL = 4 * KIB;
const LARGE = 64 * MIB;
const GB = 1e9;
const BLOBS = 2_000;
const RESULTS = 2_000;
const OUTPUTS = 10;
const ROUNDS = 5;

/** One request or call, many times. */
interface Row {
  readonly name: string;
  /** The CPU seconds of a job are divided by this many units. */
  readonly units: number;
  run(): Promise<unknown>;
}

interface Side {
  readonly server: Contestant;
  readonly rows: readonly Row[];
  readonly costs: number[][];
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-versions-'));
  const other = process.env.ASSAY_BENCH_OTHER;
  const loaders: { stop(): Promise<void> }[] = [];
  const running: Contestant[] = [];
  const side = async (contestant: Promise<Contestant>): Promise<Side> => {
    const server = await contestant;
    running.push(server);
    const rows = (await rowsOf(server.origin, loaders)).filter(isAskedFor);
    return { server, rows, costs: rows.map(() => []) };
  };
  try {
    console.log(surroundings());
    const otherFolder = join(folder, 'other');
    const sides = [
      await side(other ? startAssayOf(other, otherFolder) : startAssay(otherFolder)),
      await side(startAssay(join(folder, 'this'))),
    ];
    for (let round = 0; round <= ROUNDS; round++) await runInTurns(sides, round > 0);
    console.log(table([['', 'other', 'this', 'this / other', 'spread'], ...linesOf(sides)]));
  } finally {
    for (const loader of loaders) await loader.stop();
    for (const server of running) await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The first round warms up. */
async function runInTurns(sides: readonly Side[], isCounted: boolean): Promise<void> {
  const count = sides[0]?.rows.length ?? 0;
  for (let index = 0; index < count; index++) {
    for (const { server, rows, costs } of sides) {
      const row = rows[index];
      if (!row) continue;
      const before = cpuSecondsOf(server.pids);
      await row.run();
      if (isCounted) costs[index]?.push((cpuSecondsOf(server.pids) - before) / row.units);
    }
  }
}

function linesOf([other, own]: readonly Side[]): string[][] {
  return (own?.rows ?? []).map(({ name }, index) => {
    const [theirs, ours] = [other?.costs[index] ?? [], own?.costs[index] ?? []];
    const ratios = ours.map((cost, round) => cost / (theirs[round] ?? Number.NaN));
    const spread = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
    const [before, now] = [median(theirs), median(ours)];
    return [name, before.toFixed(3), now.toFixed(3), median(ratios).toFixed(2), spread];
  });
}

function isAskedFor({ name }: Row): boolean {
  const asked = process.argv.slice(2);
  return asked.length === 0 || asked.some((part) => name.includes(part));
}

/** Fills the server, and returns what is measured on it. */
async function rowsOf(origin: string, loaders: { stop(): Promise<void> }[]): Promise<Row[]> {
  const http = new Loader();
  const grpc = new Loader<GrpcJob>(join(import.meta.dirname, 'grpc', 'load.ts'));
  loaders.push(http, grpc);
  return [...(await httpRows(origin, http)), ...(await grpcRows(origin, grpc))];
}

async function httpRows(origin: string, loader: Loader): Promise<Row[]> {
  const put: Job = { verb: 'put', origin, prefix: '/cas', count: BLOBS, bytes: SMALL };
  const { paths } = await loader.run(put);
  const putResults: Job = {
    verb: 'putResults',
    origin,
    prefix: '',
    blobs: paths,
    outputs: OUTPUTS,
    count: RESULTS,
    bytes: SMALL,
  };
  const results = await loader.run(putResults);
  const large: Job = { verb: 'put', origin, prefix: '/cas', count: 6, bytes: LARGE };
  const { paths: largePaths } = await loader.run(large);
  const row = (name: string, units: number, job: Job): Row => ({ name, units, run: () => loader.run(job) });
  const get = (asked: readonly string[], bytes: number, count = 6_000, status = 200): Job => {
    return { verb: 'get', origin, paths: asked, count, bytes, status };
  };
  const absent = get([`/ac/${randomBytes(32).toString('hex')}`], 0, 6_000, 404);
  return [
    row('HTTP GET 4 KiB, CPU-ms', 6, get(paths, SMALL)),
    row('HTTP miss, CPU-ms', 6, absent),
    row('HTTP /ac hit, 10 outputs, CPU-ms', 6, get(results.paths, results.resultBytes ?? 0)),
    row('HTTP /ac put, 10 outputs, CPU-ms', RESULTS / 1000, putResults),
    row('HTTP PUT 4 KiB, CPU-ms', BLOBS / 1000, put),
    row('HTTP GET 64 MiB, CPU-s/GB', (12 * LARGE) / GB, get(largePaths, LARGE, 12)),
    row('HTTP PUT 64 MiB, CPU-s/GB', (6 * LARGE) / GB, large),
  ];
}

async function grpcRows(origin: string, loader: Loader<GrpcJob>): Promise<Row[]> {
  const putResult: GrpcJob = { verb: 'putResult', origin, count: 1_000, outputs: OUTPUTS };
  await loader.run({ verb: 'batchUpdate', origin, count: 100, blobs: 100, bytes: SMALL });
  await loader.run({ ...putResult, count: RESULTS });
  const row = (name: string, units: number, job: GrpcJob): Row => {
    return { name, units, run: () => loader.run(job) };
  };
  const find: GrpcJob = { verb: 'findMissing', origin, count: 200, digests: 1_000 };
  const write: GrpcJob = { verb: 'write', origin, count: 6, bytes: LARGE, messageBytes: 16 * KIB };
  await loader.run({ ...write, count: 4 });
  return [
    row('gRPC miss, CPU-ms', 3, { verb: 'missResult', origin, count: 3_000 }),
    row('gRPC GetActionResult, 10 outputs, CPU-ms', 3, {
      verb: 'getResult',
      origin,
      count: 3_000,
      results: RESULTS,
    }),
    row('gRPC UpdateActionResult, 10 outputs, CPU-ms', 1, putResult),
    row('gRPC FindMissing(1,000), present, CPU-ms', 0.2, find),
    row('gRPC FindMissing(1,000), missing, CPU-ms', 0.2, { ...find, areAbsent: true }),
    row('gRPC Read 64 MiB, CPU-s/GB', (12 * LARGE) / GB, { verb: 'read', origin, count: 12, bytes: LARGE }),
    row('gRPC Write 64 MiB, CPU-s/GB', (6 * LARGE) / GB, write),
  ];
}

function surroundings(): string {
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}`;
  return `assay ${VERSION}, node ${process.version}; ${machine}; medians of ${ROUNDS} rounds, in turns\n`;
}

await main();
