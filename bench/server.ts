// The cost of `assay serve` compared with a bare fastify and nginx: CPU time of the server processes, all
// threads and the kernel's work included, in turns. Only ratios within one run can be compared, not numbers
// of two runs or two machines. Prints which targets were reached, and fails only if it could not measure.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { arch, cpus, release, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { VERSION } from '../core/version.ts';
import {
  type Contestant,
  nginxVersion,
  startAssay,
  startBareFastify,
  startNginx,
} from './server/contestants.ts';
import { CONNECTIONS, type Job } from './server/job.ts';
import { Loader } from './server/loader.ts';
import { cpuSecondsOf, forgetPeakMemory, peakMemoryBytes } from './server/process.ts';
import { OUTPUTS_OF_A_RESULT, putResults } from './server/results.ts';
import { median, table } from './server/table.ts';

const SMALL = 4 * 1024;
const LARGE = 64 * 1024 * 1024;
const HUGE = 4 * 1024 * 1024 * 1024;
const GB = 1e9;
const MB = 1e6;
const PREFIX = '/bench';

interface Servers {
  readonly assay: Contestant;
  readonly nginx: Contestant;
  readonly bare: Contestant;
}

/** One line of the table: the same job for several servers, in turns. */
interface Comparison {
  readonly name: string;
  /** The CPU seconds of a job are divided by this many units. */
  readonly units: number;
  readonly jobs: Readonly<Partial<Record<keyof Servers, Job>>>;
}

type Costs = Readonly<Record<keyof Servers, number | undefined>>;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'assay-bench-server-'));
  const loader = new Loader();
  const running: Contestant[] = [];
  const started = async (contestant: Promise<Contestant>) => {
    running.push(await contestant);
    return contestant;
  };
  try {
    console.log(surroundings());
    const servers: Servers = {
      nginx: await started(startNginx(join(folder, 'nginx'))),
      assay: await started(startAssay(join(folder, 'assay'))),
      bare: await started(startBareFastify()),
    };
    await compareSmall(servers, loader);
    await compareLarge(servers, loader);
    await carryHuge(await started(startAssay(join(folder, 'huge'))), loader);
  } finally {
    await loader.stop();
    for (const contestant of running) await contestant.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compareSmall({ assay, nginx, bare }: Servers, loader: Loader): Promise<void> {
  const servers = { assay, nginx, bare };
  const count = 8_000;
  const puts = 4_000;
  const put = (origin: string): Job => ({
    verb: 'put',
    origin,
    prefix: `${PREFIX}/cas`,
    count: puts,
    bytes: SMALL,
  });
  const get = (origin: string, paths: readonly string[], bytes = SMALL): Job => {
    return { verb: 'get', origin, paths, count, bytes };
  };
  const { paths } = await loader.run(put(assay.origin));
  const { paths: nginxPaths } = await loader.run(put(nginx.origin));
  const results = await putResults(assay.origin, paths, { prefix: PREFIX, bytes: SMALL });
  const constant = get(bare.origin, ['/constant']);
  const hit = { assay: get(assay.origin, paths), nginx: get(nginx.origin, nginxPaths), bare: constant };
  const stored = { assay: put(assay.origin), nginx: put(nginx.origin) };
  const result = { assay: get(assay.origin, results.paths, results.bytes) };
  const [hitCost, storedCost, resultCost] = await inTurns(servers, loader, 5, [
    { name: 'GET 4 KiB', units: count / 1000, jobs: hit },
    { name: 'PUT 4 KiB', units: puts / 1000, jobs: stored },
    { name: 'GET result', units: count / 1000, jobs: result },
  ]);
  const yardstick = hitCost?.bare ?? Number.NaN;
  const line = (name: string, cost: Costs | undefined, most: number) => {
    const ratio = (cost?.assay ?? Number.NaN) / yardstick;
    const mine = seconds(cost?.assay);
    return [
      name,
      mine,
      seconds(cost?.nginx),
      seconds(cost?.bare),
      ...verdict(ratio, most, `${most} x bare fastify`),
    ];
  };
  console.log(
    table([
      ['CPU-s per 1,000 operations', 'assay', 'nginx', 'bare fastify', 'assay / bare', 'at most', ''],
      line('GET 4 KiB, a hit', hitCost, 1.35),
      line('PUT 4 KiB, durable (nginx: not durable)', storedCost, 3),
      line(`GET result, ${OUTPUTS_OF_A_RESULT} outputs checked`, resultCost, 1.5),
    ]),
  );
}

async function compareLarge(servers: Servers, loader: Loader): Promise<void> {
  const { assay, nginx } = servers;
  const gets = 24;
  const puts = 16;
  const put = (origin: string): Job => ({
    verb: 'put',
    origin,
    prefix: `${PREFIX}/cas`,
    count: puts,
    bytes: LARGE,
  });
  const get = (origin: string, paths: readonly string[]): Job => {
    return { verb: 'get', origin, paths, count: gets, bytes: LARGE };
  };
  const { paths } = await loader.run({ ...put(assay.origin), count: 4 });
  const { paths: nginxPaths } = await loader.run({ ...put(nginx.origin), count: 4 });
  const [getCost, putCost] = await inTurns(servers, loader, 3, [
    {
      name: 'GET 64 MiB',
      units: (gets * LARGE) / GB,
      jobs: { assay: get(assay.origin, paths), nginx: get(nginx.origin, nginxPaths) },
    },
    {
      name: 'PUT 64 MiB',
      units: (puts * LARGE) / GB,
      jobs: { assay: put(assay.origin), nginx: put(nginx.origin) },
    },
  ]);
  const line = (name: string, cost: Costs | undefined, most: number) => {
    const [mine, bound, reached] = verdict(cost?.assay ?? Number.NaN, most, `${most}`);
    return [name, mine, seconds(cost?.nginx), bound, reached];
  };
  console.log(
    table([
      ['CPU-s per GB', 'assay', 'nginx', 'at most', ''],
      line('GET 64 MiB', getCost, 0.9),
      line('PUT 64 MiB, durable (nginx: not durable)', putCost, 2.5),
    ]),
  );
}

/** Each job runs once to warm up, then in turns, so that a busy moment affects all jobs. Returns medians. */
async function inTurns(
  servers: Servers,
  loader: Loader,
  rounds: number,
  comparisons: readonly Comparison[],
): Promise<Costs[]> {
  const seen = comparisons.map(() => ({
    assay: [] as number[],
    nginx: [] as number[],
    bare: [] as number[],
  }));
  for (let round = 0; round <= rounds; round++) {
    for (const [index, { jobs, units }] of comparisons.entries()) {
      for (const name of ['assay', 'nginx', 'bare'] as const) {
        const job = jobs[name];
        if (!job) continue;
        const before = cpuSecondsOf(servers[name].pids);
        await loader.run(job);
        const cost = (cpuSecondsOf(servers[name].pids) - before) / units;
        if (round > 0) seen[index]?.[name].push(cost);
      }
    }
  }
  const middle = (values: readonly number[]) => (values.length > 0 ? median(values) : undefined);
  return seen.map(({ assay, nginx, bare }) => ({
    assay: middle(assay),
    nginx: middle(nginx),
    bare: middle(bare),
  }));
}

/** Uses a new server, so that earlier memory does not count. */
async function carryHuge(assay: Contestant, loader: Loader): Promise<void> {
  const [pid = 0] = assay.pids;
  const { origin } = assay;
  forgetPeakMemory(pid);
  const { paths } = await loader.run({ verb: 'put', origin, prefix: `${PREFIX}/cas`, count: 1, bytes: HUGE });
  await loader.run({ verb: 'get', origin, paths, count: 1, bytes: HUGE, verify: true });
  const peak = peakMemoryBytes(pid) / MB;
  const [megabytes, most, reached] = verdict(peak, 250, '250', 0);
  console.log(
    table([
      ['MB resident at most', 'assay', 'at most', ''],
      ['4 GiB in and out', megabytes, most, reached],
    ]),
  );
}

function seconds(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(3);
}

function verdict(value: number, most: number, bound: string, digits = 2): [string, string, string] {
  return [value.toFixed(digits), bound, value <= most ? 'reached' : 'NOT reached'];
}

function surroundings(): string {
  const versionOf = (name: string): string => {
    const file = join(import.meta.dirname, '..', 'node_modules', name, 'package.json');
    return `${name} ${JSON.parse(readFileSync(file, 'utf8')).version}`;
  };
  const [first] = cpus();
  const machine = `${cpus().length} x ${first?.model ?? 'unknown'}, ${arch()}, Linux ${release()}, ${Math.round(totalmem() / GB)} GB`;
  return [
    `assay ${VERSION}, node ${process.version}, ${versionOf('fastify')}, ${versionOf('undici')} (the client), nginx ${nginxVersion()}`,
    `${machine}; ${CONNECTIONS} connections over the loopback`,
    '',
  ].join('\n');
}

await main();
