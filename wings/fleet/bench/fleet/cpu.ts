// The CPU time of a request with one server and with two that share the same load, on as many connections in all, and
// what PostgreSQL needs for it.
import type { Contestant } from '../../../../bench/server/contestants.ts';
import { CONNECTIONS, type Job } from '../../../../bench/server/job.ts';
import { Loader } from '../../../../bench/server/loader.ts';
import { cpuSecondsOf } from '../../../../bench/server/process.ts';
import { OUTPUTS_OF_A_RESULT, putResults } from '../../../../bench/server/results.ts';
import { median, table } from '../../../../bench/server/table.ts';
import { postgresCpuSeconds, type Services } from './services.ts';
import { target } from './words.ts';

const SMALL = 4 * 1024;
const BLOBS = 1000;
const GETS = 4000;
const PUTS = 1000;
const ROUNDS = 4;
const MOST = 1.15;
const PREFIX = '/bench';
const MICROSECONDS = 1e6;

/** A kind of request: the job of `count` of them at a server. */
interface Kind {
  readonly name: string;
  readonly count: number;
  job(origin: string, count: number): Job;
}

export async function compareCpu(services: Services): Promise<string> {
  const nodes = [await services.startNode(), await services.startNode()];
  const loaders = nodes.map(() => new Loader());
  try {
    const kinds = await prepared(nodes[0]?.origin ?? '', loaders[0] ?? new Loader());
    const seen = kinds.map(() => ({
      one: [] as number[],
      two: [] as number[],
      postgres: [] as number[],
      postgresOfTwo: [] as number[],
    }));
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [index, kind] of kinds.entries()) {
        // The servers take turns at working alone.
        const alone = nodes.slice(round % 2, (round % 2) + 1);
        const one = await costOf(services, kind, alone, loaders);
        const two = await costOf(services, kind, nodes, loaders);
        if (round === 0) continue;
        seen[index]?.one.push(one.servers);
        seen[index]?.two.push(two.servers);
        seen[index]?.postgres.push(one.postgres);
        seen[index]?.postgresOfTwo.push(two.postgres);
      }
    }
    return table([
      [
        'µs of CPU a request',
        'one server',
        'two',
        'ratio',
        'at most',
        '',
        'PostgreSQL, one server',
        'PostgreSQL, two',
      ],
      ...kinds.map(({ name }, index) => {
        const { one = [], two = [], postgres = [], postgresOfTwo = [] } = seen[index] ?? {};
        return [
          name,
          median(one).toFixed(0),
          median(two).toFixed(0),
          ...target(median(two) / median(one), MOST, 'times one'),
          median(postgres).toFixed(0),
          median(postgresOfTwo).toFixed(0),
        ];
      }),
    ]);
  } finally {
    for (const loader of loaders) await loader.stop();
    for (const node of nodes) await node.stop();
  }
}

async function costOf(
  { database }: Services,
  { count, job }: Kind,
  nodes: readonly Contestant[],
  loaders: readonly Loader[],
): Promise<{ servers: number; postgres: number }> {
  const pids = nodes.flatMap((node) => node.pids);
  const before = { servers: cpuSecondsOf(pids), postgres: await postgresCpuSeconds(database) };
  const connections = CONNECTIONS / nodes.length;
  await Promise.all(
    nodes.map(({ origin }, index) =>
      loaders[index]?.run({ ...job(origin, count / nodes.length), connections }),
    ),
  );
  return {
    servers: ((cpuSecondsOf(pids) - before.servers) / count) * MICROSECONDS,
    postgres: (((await postgresCpuSeconds(database)) - before.postgres) / count) * MICROSECONDS,
  };
}

async function prepared(origin: string, loader: Loader): Promise<Kind[]> {
  const put: Job = { verb: 'put', origin, prefix: `${PREFIX}/cas`, count: BLOBS, bytes: SMALL };
  const { paths } = await loader.run(put);
  const results = await putResults(origin, paths, { prefix: PREFIX, bytes: SMALL });
  const get = (asked: readonly string[], bytes: number) => (at: string, count: number) =>
    ({ verb: 'get', origin: at, paths: asked, count, bytes }) as const;
  return [
    { name: 'GET 4 KiB', count: GETS, job: get(paths, SMALL) },
    {
      name: `GET /ac, ${OUTPUTS_OF_A_RESULT} outputs checked`,
      count: GETS,
      job: get(results.paths, results.bytes),
    },
    {
      name: 'PUT 4 KiB',
      count: PUTS,
      job: (at, count) => ({ verb: 'put', origin: at, prefix: `${PREFIX}/cas`, count, bytes: SMALL }),
    },
  ];
}
