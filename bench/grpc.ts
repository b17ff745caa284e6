// The cost of `assay serve` over gRPC: CPU time of the server process, all threads and the kernel's work
// included. The targets are about what bazel-remote took on the machine of docs/decisions/0050. Prints which
// targets were reached, and fails only if it could not measure.
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../core/version.ts';
import { CALLS_AT_A_TIME, CONNECTIONS, type GrpcJob } from './grpc/job.ts';
import { startAssay } from './server/contestants.ts';
import { Loader } from './server/loader.ts';
import { cpuSecondsOf } from './server/process.ts';
import { median, table } from './server/table.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const GB = 1e9;
const MILLISECONDS = 1e3;
const LARGE = 64 * MIB;
const ROUNDS = 5;
/** More than the store keeps in its memory of recent results. */
const RESULTS = 3000;

interface Figure {
  readonly name: string;
  readonly unit: string;
  /** Its preparation, done once and not counted. */
  readonly before?: GrpcJob;
  readonly job: GrpcJob;
  /** The CPU seconds of a job are multiplied by this. */
  readonly scale: number;
  readonly most: number;
}

function figuresFor(origin: string): readonly Figure[] {
  const perCall = (count: number) => MILLISECONDS / count;
  const perGigabyte = (count: number) => GB / (count * LARGE);
  return [
    {
      name: 'BatchUpdateBlobs(100 x 4 KiB), durable',
      unit: 'ms',
      job: { verb: 'batchUpdate', origin, count: 64, blobs: 100, bytes: 4 * KIB },
      scale: perCall(64),
      most: 15,
    },
    {
      name: 'FindMissingBlobs(1000)',
      unit: 'ms',
      job: { verb: 'findMissing', origin, count: 400, digests: 1000 },
      scale: perCall(400),
      most: 2,
    },
    {
      name: 'GetActionResult, 10 outputs checked, 3,000 results in turn',
      unit: 'ms',
      before: { verb: 'putResult', origin, count: RESULTS, outputs: 10 },
      job: { verb: 'getResult', origin, count: 6000, results: RESULTS },
      scale: perCall(6000),
      most: 0.2,
    },
    {
      name: 'GetActionResult, 10 outputs checked, one result that all ask for',
      unit: 'ms',
      job: { verb: 'getResult', origin, count: 6000, results: 1 },
      scale: perCall(6000),
      most: 0.2,
    },
    {
      name: 'ByteStream.Write 64 MiB, 16 KiB messages',
      unit: 'CPU-s/GB',
      job: { verb: 'write', origin, count: 8, bytes: LARGE, messageBytes: 16 * KIB },
      scale: perGigabyte(8),
      most: 2.8,
    },
    {
      name: 'ByteStream.Write 64 MiB, 1 MiB messages',
      unit: 'CPU-s/GB',
      job: { verb: 'write', origin, count: 8, bytes: LARGE, messageBytes: MIB },
      scale: perGigabyte(8),
      most: 2.8,
    },
    {
      name: 'ByteStream.Read 64 MiB',
      unit: 'CPU-s/GB',
      job: { verb: 'read', origin, count: 24, bytes: LARGE },
      scale: perGigabyte(24),
      most: 2,
    },
  ];
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-grpc-'));
  const loader = new Loader<GrpcJob>(join(import.meta.dirname, 'grpc', 'load.ts'));
  const server = await startAssay(join(folder, 'store'));
  try {
    console.log(surroundings());
    const figures = figuresFor(server.origin);
    const seen = figures.map((): number[] => []);
    /**
     * The first round warms up. Then the jobs run in turns, so that a busy moment of the machine affects all
     * of them.
     */
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, { before, job, scale }] of figures.entries()) {
        if (before && round === 0) await loader.run(before);
        const spent = cpuSecondsOf(server.pids);
        await loader.run(job);
        if (round > 0) seen[index]?.push((cpuSecondsOf(server.pids) - spent) * scale);
      }
    }
    console.log(
      table([
        ['processor time', '', 'assay', 'at most', ''],
        ...figures.map((figure, index) => line(figure, seen[index] ?? [])),
      ]),
    );
  } finally {
    await loader.stop();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function line({ name, unit, most }: Figure, costs: readonly number[]): string[] {
  const cost = median(costs);
  return [name, unit, cost.toFixed(2), String(most), cost <= most ? 'reached' : 'NOT reached'];
}

function surroundings(): string {
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}`;
  return [
    `assay ${VERSION}, node ${process.version} on both sides`,
    `${machine}; ${CALLS_AT_A_TIME} calls at a time on ${CONNECTIONS} connections over the loopback; medians of ${ROUNDS}`,
    '',
  ].join('\n');
}

await main();
