// The cost of scoped tokens: CPU time of a server that knows a pull request and main, compared with a server
// without tokens. The pull request reads what main wrote, which takes one lookup more.
// Prints which targets were reached, and fails only if it could not measure.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../core/version.ts';
import type { GrpcJob } from './grpc/job.ts';
import { type Contestant, startAssay } from './server/contestants.ts';
import type { Job } from './server/job.ts';
import { Loader } from './server/loader.ts';
import { cpuSecondsOf } from './server/process.ts';
import { OUTPUTS_OF_A_RESULT, putResults } from './server/results.ts';
import { median, table } from './server/table.ts';

const SMALL = 4 * 1024;
const BLOBS = 3_000;
const GETS = 8_000;
const QUESTIONS = 300;
const DIGESTS = 1_000;
const ROUNDS = 7;
const MOST = 1.1;
const ASSAY = join(import.meta.dirname, '..', 'bin', 'assay.ts');

/** A server with the tokens that write and read it. */
interface Side extends Contestant {
  readonly writer: string | undefined;
  readonly reader: string | undefined;
}

interface Measure {
  readonly name: string;
  run(): Promise<unknown>;
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-access-'));
  const open: Side = {
    ...(await startAssay(join(folder, 'open'))),
    writer: undefined,
    reader: undefined,
  };
  const tokens = join(folder, 'tokens.json');
  const writer = createToken(tokens, 'main', '--namespace', 'acme/app/main');
  const reader = createToken(tokens, 'pull', '--namespace', 'acme/app/pr/1', '--reads', 'acme/app/main');
  const scoped: Side = {
    ...(await startAssay(join(folder, 'scoped'), '--tokens', tokens)),
    writer,
    reader,
  };
  const loaders: { stop(): Promise<void> }[] = [];
  try {
    console.log(surroundings());
    const sides = [await prepared(open, loaders), await prepared(scoped, loaders)];
    const names = sides[0]?.map(({ name }) => name) ?? [];
    const costs = sides.map(() => names.map((): number[] => []));
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index] of names.entries()) {
        for (const [side, measures] of sides.entries()) {
          const { pids } = side === 0 ? open : scoped;
          const before = cpuSecondsOf(pids);
          await measures[index]?.run();
          if (round > 0) costs[side]?.[index]?.push(cpuSecondsOf(pids) - before);
        }
      }
    }
    console.log(
      table([
        ['CPU-s', 'no tokens', 'scoped', 'ratio', 'at most', ''],
        ...names.map((name, index) => line(name, costs[0]?.[index] ?? [], costs[1]?.[index] ?? [])),
      ]),
    );
  } finally {
    for (const loader of loaders) await loader.stop();
    await open.stop();
    await scoped.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function createToken(file: string, name: string, ...flags: readonly string[]): string {
  const made = spawnSync(process.execPath, [ASSAY, 'token', 'create', name, ...flags, '--tokens', file]);
  if (made.status !== 0) throw new Error(made.stderr.toString());
  return made.stdout.toString().trim();
}

/** Fills the server, and returns what is measured on it. */
async function prepared(
  { origin, writer, reader }: Side,
  loaders: { stop(): Promise<void> }[],
): Promise<Measure[]> {
  const http = new Loader();
  const grpc = new Loader<GrpcJob>(join(import.meta.dirname, 'grpc', 'load.ts'));
  loaders.push(http, grpc);
  const put: Job = { verb: 'put', origin, prefix: '/cas', count: BLOBS, bytes: SMALL, token: writer };
  const { paths } = await http.run(put);
  const results = await putResults(origin, paths, { prefix: '', bytes: SMALL, token: writer });
  await grpc.run({
    verb: 'batchUpdate',
    origin,
    count: 10,
    blobs: DIGESTS / 10,
    bytes: SMALL,
    token: writer,
  });
  const get = (asked: readonly string[], bytes: number): Job => {
    return { verb: 'get', origin, paths: asked, count: GETS, bytes, token: reader };
  };
  const find: GrpcJob = { verb: 'findMissing', origin, count: QUESTIONS, digests: DIGESTS, token: reader };
  return [
    { name: `${GETS} x GET 4 KiB`, run: () => http.run(get(paths, SMALL)) },
    {
      name: `${GETS} x GET /ac, ${OUTPUTS_OF_A_RESULT} outputs checked`,
      run: () => http.run(get(results.paths, results.bytes)),
    },
    { name: `${QUESTIONS} x FindMissingBlobs(${DIGESTS})`, run: () => grpc.run(find) },
  ];
}

function line(name: string, without: readonly number[], scoped: readonly number[]): string[] {
  const [a, b] = [median(without), median(scoped)];
  const ratio = b / a;
  return [
    name,
    a.toFixed(2),
    b.toFixed(2),
    ratio.toFixed(2),
    String(MOST),
    ratio <= MOST ? 'reached' : 'NOT reached',
  ];
}

function surroundings(): string {
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}`;
  return `assay ${VERSION}, node ${process.version}; ${machine}; medians of ${ROUNDS} rounds, in turns\n`;
}

await main();
