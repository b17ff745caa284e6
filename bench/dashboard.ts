// The cost of the dashboard's accounting: CPU time of requests on a server that has it switched on, compared with the
// same process while it is switched off, in turns, in three processes. Two processes of one version differ by more than
// the accounting costs (docs/decisions/0400). The gRPC calls carry Bazel's RequestMetadata, each with another action, as a
// build sends them. Prints whether the target was reached, and fails only if it could not measure.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { VERSION } from '../core/version.ts';
import { OFF, ON } from './dashboard/switch.ts';
import type { GrpcJob } from './grpc/job.ts';
import { type Contestant, startAssayWith } from './server/contestants.ts';
import type { Job } from './server/job.ts';
import { Loader } from './server/loader.ts';
import { type Compared, cellsOf, type Side, type Start, sameRows } from './server/pairs.ts';
import { cpuSecondsOf } from './server/process.ts';
import { median, table } from './server/table.ts';

const SMALL = 4 * 1024;
const BLOBS = 300;
const RESULTS = 300;
const REQUESTS = 3_000;
const PUTS = 1_000;
const CALLS = 2_000;
const OUTPUTS = 10;
const MOST = 1.03;
const SERVERS = 3;
const WARM_UPS = 8;
const ROUNDS = 16;
const SWITCH_MS = 150;
const SWITCH = join(import.meta.dirname, 'dashboard', 'switch.ts');

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-dashboard-'));
  try {
    console.log(surroundings());
    const servers: Compared[][] = [];
    for (let server = 0; server < SERVERS; server++)
      servers.push(await compare(mkdtempSync(join(folder, 'store-'))));
    const rows = sameRows(servers);
    const all = servers.map((measured) => geometricMean(measured.flatMap(({ ratios }) => ratios)));
    console.log(table([['CPU-s', 'off', 'on', 'ratio', 'of each server'], ...rows.map(cellsOf)]));
    const mean = median(all);
    console.log(
      `all rows: ${mean.toFixed(3)} (at most ${MOST}; of each server ${all.map((one) => one.toFixed(3)).join(' ')}): ${mean <= MOST ? 'reached' : 'NOT reached'}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** On one server, after rounds that warm it up. */
async function compare(store: string): Promise<Compared[]> {
  const running: { stop(): Promise<void> }[] = [];
  try {
    const { server, measures } = await prepared(await startAssayWith(['--import', SWITCH], store), running);
    const rows: Compared[] = [];
    for (const { name, run } of measures) {
      for (let round = 0; round < WARM_UPS; round++) await run();
      const costs = { [OFF]: [] as number[], [ON]: [] as number[] };
      for (let round = 0; round < ROUNDS; round++)
        for (const signal of round % 2 === 0 ? ([OFF, ON] as const) : ([ON, OFF] as const)) {
          for (const pid of server.pids) process.kill(pid, signal);
          await delay(SWITCH_MS);
          const before = cpuSecondsOf(server.pids);
          await run();
          costs[signal].push(cpuSecondsOf(server.pids) - before);
        }
      /* Of each round: a process becomes faster, and both runs of a round are equally warm. */
      const ratio = median(costs[ON].map((on, round) => on / (costs[OFF][round] ?? on)));
      rows.push({ name, first: median(costs[OFF]), second: median(costs[ON]), ratios: [ratio] });
    }
    return rows;
  } finally {
    for (const one of running) await one.stop();
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
  return `assay ${VERSION}, node ${process.version}; ${machine}; medians of ${SERVERS} servers, each in turns with itself\n`;
}

await main();
