// The cost of scoped tokens: CPU time of a server that knows a pull request and main, compared with a server
// without tokens, on five fresh pairs of servers. The pull request reads what main wrote, which takes one lookup
// more.
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
import { cellsOf, comparePairs, PAIRS, type Side, type Start } from './server/pairs.ts';
import { OUTPUTS_OF_A_RESULT, putResults } from './server/results.ts';
import { median, table } from './server/table.ts';

const SMALL = 4 * 1024;
const BLOBS = 500;
const GETS = 6_000;
const QUESTIONS = 200;
const DIGESTS = 1_000;
const MOST = 1.1;
const ASSAY = join(import.meta.dirname, '..', 'bin', 'assay.ts');

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-access-'));
  const tokens = join(folder, 'tokens.json');
  const writer = createToken(tokens, 'main', '--namespace', 'acme/app/main');
  const reader = createToken(tokens, 'pull', '--namespace', 'acme/app/pr/1', '--reads', 'acme/app/main');
  const store = () => mkdtempSync(join(folder, 'store-'));
  try {
    console.log(surroundings());
    const rows = await comparePairs(
      async (running) => prepared(await startAssay(store()), running),
      async (running) => prepared(await startAssay(store(), '--tokens', tokens), running, writer, reader),
    );
    console.log(
      table([
        ['CPU-s', 'no tokens', 'scoped', 'ratio', 'of each pair', 'at most', ''],
        ...rows.map((row) => [...cellsOf(row), String(MOST), verdict(median(row.ratios))]),
      ]),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function createToken(file: string, name: string, ...flags: readonly string[]): string {
  const made = spawnSync(process.execPath, [ASSAY, 'token', 'create', name, ...flags, '--tokens', file]);
  if (made.status !== 0) throw new Error(made.stderr.toString());
  return made.stdout.toString().trim();
}

/** Fills the server with the token that writes. What is measured reads with the other one. */
async function prepared(
  server: Contestant,
  running: Parameters<Start>[0],
  writer?: string,
  reader?: string,
): Promise<Side> {
  const { origin } = server;
  const http = new Loader();
  const grpc = new Loader<GrpcJob>(join(import.meta.dirname, 'grpc', 'load.ts'));
  running.push(server, http, grpc);
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
  const measures = [
    { name: `${GETS} x GET 4 KiB`, run: () => http.run(get(paths, SMALL)) },
    {
      name: `${GETS} x GET /ac, ${OUTPUTS_OF_A_RESULT} outputs checked`,
      run: () => http.run(get(results.paths, results.bytes)),
    },
    { name: `${QUESTIONS} x FindMissingBlobs(${DIGESTS})`, run: () => grpc.run(find) },
  ];
  return { server, measures };
}

function verdict(ratio: number): string {
  return ratio <= MOST ? 'reached' : 'NOT reached';
}

function surroundings(): string {
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}`;
  return `assay ${VERSION}, node ${process.version}; ${machine}; medians of ${PAIRS} pairs of servers, each in turns\n`;
}

await main();
