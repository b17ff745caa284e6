// The requests that two servers are compared by, over HTTP and gRPC.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { GrpcDone, GrpcJob } from '../grpc/job.ts';
import type { Contestant } from './contestants.ts';
import type { Job } from './job.ts';
import { Loader } from './loader.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const SMALL = 4 * KIB;
const LARGE = 64 * MIB;
const GB = 1e9;
const BLOBS = 2_000;
const RESULTS = 2_000;
const OUTPUTS = 10;

/** One request or call, many times. */
export interface Row {
  readonly name: string;
  /** The CPU seconds of a job are divided by this many units. */
  readonly units: number;
  run(): Promise<unknown>;
}

export function grpcLoader(): Loader<GrpcJob, GrpcDone> {
  return new Loader<GrpcJob, GrpcDone>(join(import.meta.dirname, '..', 'grpc', 'load.ts'));
}

/** Fills the server, and returns what is measured on it. */
export async function rowsOf(
  { origin, grpcOrigin = origin }: Contestant,
  loaders: { stop(): Promise<void> }[],
): Promise<Row[]> {
  const http = new Loader();
  const grpc = grpcLoader();
  loaders.push(http, grpc);
  return [...(await httpRows(origin, http)), ...(await grpcRows(grpcOrigin, grpc))];
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
  const get = (asked: readonly string[], count = 6_000): Job & { verb: 'get' } => {
    return { verb: 'get', origin, paths: asked, count };
  };
  const absent: Job = { ...get([`/ac/${randomBytes(32).toString('hex')}`]), status: 404 };
  return [
    row('HTTP GET 4 KiB, CPU-ms', 6, { ...get(paths), bytes: SMALL }),
    row('HTTP miss, CPU-ms', 6, absent),
    // bazel-remote adds to a result who sent it, so sizes differ.
    row('HTTP /ac hit, 10 outputs, CPU-ms', 6, get(results.paths)),
    row('HTTP /ac put, 10 outputs, CPU-ms', RESULTS / 1000, putResults),
    row('HTTP PUT 4 KiB, CPU-ms', BLOBS / 1000, put),
    row('HTTP GET 64 MiB, CPU-s/GB', (12 * LARGE) / GB, { ...get(largePaths, 12), bytes: LARGE }),
    row('HTTP PUT 64 MiB, CPU-s/GB', (6 * LARGE) / GB, large),
  ];
}

async function grpcRows(origin: string, loader: Loader<GrpcJob, GrpcDone>): Promise<Row[]> {
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
