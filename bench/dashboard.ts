// The cost of the dashboard's accounting: CPU time of a server compared with the same server without it, on five
// fresh pairs. The gRPC calls carry Bazel's RequestMetadata, each with another action, as a build sends them.
// Prints whether the target was reached, and fails only if it could not measure.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../core/version.ts';
import type { GrpcJob } from './grpc/job.ts';
import { type Contestant, startAssay, startAssayWith } from './server/contestants.ts';
import type { Job } from './server/job.ts';
import { Loader } from './server/loader.ts';
import { cellsOf, comparePairs, PAIRS, type Side, type Start } from './server/pairs.ts';
import { median, table } from './server/table.ts';

const SMALL = 4 * 1024;
const BLOBS = 300;
const RESULTS = 300;
const REQUESTS = 3_000;
const PUTS = 300;
const CALLS = 2_000;
const OUTPUTS = 10;
const MOST = 1.03;
const WITHOUT_ACTIVITY = join(import.meta.dirname, 'dashboard', 'without-activity.ts');

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-dashboard-'));
  const store = () => mkdtempSync(join(folder, 'store-'));
  try {
    console.log(surroundings());
    const rows = await comparePairs(
      async (running) => prepared(await startAssayWith(['--import', WITHOUT_ACTIVITY], store()), running),
      async (running) => prepared(await startAssay(store()), running),
    );
    const all = rows[0]?.ratios.map((_, pair) => geometricMean(rows.map(({ ratios }) => ratios[pair] ?? 1)));
    console.log(table([['CPU-s', 'without', 'with', 'ratio', 'of each pair'], ...rows.map(cellsOf)]));
    const mean = median(all ?? []);
    console.log(
      `all rows: ${mean.toFixed(3)} (at most ${MOST}): ${mean <= MOST ? 'reached' : 'NOT reached'}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Fills the server, and returns what is measured on it. */
async function prepared(server: Contestant, running: Parameters<Start>[0]): Promise<Side> {
  const { origin } = server;
  const http = new Loader();
  const grpc = new Loader<GrpcJob>(join(import.meta.dirname, 'grpc', 'load.ts'));
  running.push(server, http, grpc);
  const { paths } = await http.run({ verb: 'put', origin, prefix: '/cas', count: BLOBS, bytes: SMALL });
  const puts = (count: number): Job => {
    return { verb: 'putResults', origin, prefix: '', blobs: paths, outputs: OUTPUTS, count, bytes: SMALL };
  };
  const results = await http.run(puts(RESULTS));
  const get = (asked: readonly string[], bytes: number, status = 200): Job => {
    return { verb: 'get', origin, paths: asked, count: REQUESTS, bytes, status };
  };
  const absent = [`/ac/${randomBytes(32).toString('hex')}`];
  const miss: GrpcJob = { verb: 'missResult', origin, count: CALLS, isBazel: true };
  const measures = [
    { name: `${REQUESTS} x GET 4 KiB`, run: () => http.run(get(paths, SMALL)) },
    { name: `${REQUESTS} x HTTP miss`, run: () => http.run(get(absent, 0, 404)) },
    {
      name: `${REQUESTS} x GET /ac, ${OUTPUTS} outputs`,
      run: () => http.run(get(results.paths, results.resultBytes ?? 0)),
    },
    { name: `${PUTS} x PUT /ac, ${OUTPUTS} outputs`, run: () => http.run(puts(PUTS)) },
    { name: `${CALLS} x gRPC miss`, run: () => grpc.run(miss) },
  ];
  return { server, measures };
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

function surroundings(): string {
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}`;
  return `assay ${VERSION}, node ${process.version}; ${machine}; medians of ${PAIRS} pairs of servers, each in turns\n`;
}

await main();
