// The server as people install it (`npm run build` first), compared with bazel-remote: CPU of its requests, the
// latency of BatchReadBlobs, and the memory under that load. ASSAY_BENCH_BAZEL_REMOTE names its executable;
// without it, Assay is measured alone. The servers run at the same time and are asked in turns. Arguments select
// rows by a part of their name.
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../core/version.ts';
import { type Contestant, startBazelRemote, startInstalled } from './server/contestants.ts';
import { ownMemoryBytes, peakMemoryBytes } from './server/process.ts';
import { grpcLoader } from './server/rows.ts';
import { median, table } from './server/table.ts';
import { runInTurns, type Side, sideOf } from './server/turns.ts';

const ROUNDS = 5;
const MB = 1e6;
const SAMPLE_MS = 50;
const BATCH = { blobs: 100, bytes: 4 * 1024 };
/** Enough for a 99th percentile that is not the worst value. */
const READS = 1_000;
const MOST_P99 = 3;

interface PeerSide extends Side {
  /** One for each round. */
  readonly p50: number[];
  readonly p99: number[];
  batchRead(): Promise<readonly number[]>;
  ownPeak: number;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-peers-'));
  const peer = process.env.ASSAY_BENCH_BAZEL_REMOTE;
  const running: { stop(): Promise<void> }[] = [];
  let sampling: NodeJS.Timeout | undefined;
  try {
    console.log(surroundings());
    const servers = [await startInstalled(join(folder, 'assay'))];
    running.push(...servers);
    for (const mode of peer === undefined ? [] : (['zstd', 'uncompressed'] as const)) {
      const server = await startBazelRemote(peer ?? '', join(folder, mode), mode);
      servers.push(server);
      running.push(server);
    }
    const sides: PeerSide[] = [];
    sampling = setInterval(() => sides.forEach(sample), SAMPLE_MS);
    for (const server of servers) sides.push(await peerSideOf(server, running));
    for (let round = 0; round <= ROUNDS; round++) await measureRound(sides, round > 0);
    report(sides);
  } finally {
    clearInterval(sampling);
    for (const one of running.reverse()) await one.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function sample(side: PeerSide): void {
  for (const pid of side.server.pids) side.ownPeak = Math.max(side.ownPeak, ownMemoryBytes(pid));
}

async function peerSideOf(server: Contestant, running: { stop(): Promise<void> }[]): Promise<PeerSide> {
  const side = await sideOf(server, running);
  const loader = grpcLoader();
  running.push(loader);
  const origin = server.grpcOrigin ?? server.origin;
  await loader.run({ verb: 'batchUpdate', origin, count: READS / 10, ...BATCH });
  const batchRead = async () => {
    const { waits } = await loader.run({ verb: 'batchRead', origin, count: READS, ...BATCH });
    return waits;
  };
  return { ...side, p50: [], p99: [], batchRead, ownPeak: 0 };
}

/** The first round warms up. */
async function measureRound(sides: readonly PeerSide[], isCounted: boolean): Promise<void> {
  await runInTurns(sides, isCounted);
  for (const side of sides) {
    const waits = [...(await side.batchRead())].sort((a, b) => a - b);
    if (!isCounted) continue;
    side.p50.push(waits[Math.floor(waits.length * 0.5)] ?? Number.NaN);
    side.p99.push(waits[Math.floor(waits.length * 0.99)] ?? Number.NaN);
  }
}

function report(sides: readonly PeerSide[]): void {
  const heading = ['median (least to most)', ...sides.map(({ server }) => server.name)];
  const ratios = sides.slice(1).map(({ server }) => `assay / ${server.name}`);
  const rows = (sides[0]?.rows ?? []).map(({ name }, index) =>
    line(name, sides, ({ costs }) => costs[index] ?? []),
  );
  const waits = [
    line('BatchRead 100 x 4 KiB, p50, ms', sides, ({ p50 }) => p50),
    line('BatchRead 100 x 4 KiB, p99, ms', sides, ({ p99 }) => p99),
    line(`p99 / p50, at most ${MOST_P99}`, sides, timesOf),
  ];
  const memory = [
    line('peak memory, own, MB', sides, ({ ownPeak }) => [ownPeak / MB]),
    line('peak memory, with mapped files, MB', sides, ({ server }) => [
      server.pids.reduce((sum, pid) => sum + peakMemoryBytes(pid), 0) / MB,
    ]),
  ];
  console.log(table([[...heading, ...ratios], ...rows, ...waits, ...memory]));
  const reached = median(sides[0] ? timesOf(sides[0]) : []) <= MOST_P99;
  console.log(`p99 of BatchRead: ${reached ? 'reached' : 'NOT reached'}`);
}

function timesOf({ p50, p99 }: PeerSide): number[] {
  return p99.map((value, round) => value / (p50[round] ?? Number.NaN));
}

function line(
  name: string,
  sides: readonly PeerSide[],
  valuesOf: (side: PeerSide) => readonly number[],
): string[] {
  const medians = sides.map((side) => median(valuesOf(side)));
  const cells = sides.map((side) => cellOf(valuesOf(side)));
  return [
    name,
    ...cells,
    ...medians.slice(1).map((other) => ((medians[0] ?? Number.NaN) / other).toFixed(2)),
  ];
}

function cellOf(values: readonly number[]): string {
  const text = (value: number) => value.toFixed(value < 10 ? 3 : 0);
  const spread = values.length > 1 ? ` (${text(Math.min(...values))} to ${text(Math.max(...values))})` : '';
  return `${text(median(values))}${spread}`;
}

function surroundings(): string {
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}`;
  return `assay ${VERSION}; ${machine}; medians of ${ROUNDS} rounds, in turns\n`;
}

await main();
