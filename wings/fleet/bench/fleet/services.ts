// PostgreSQL and the bucket for the fleet benchmark, and the servers that use them.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { type Contestant, startAssay, startFleetNode } from '../../../../bench/server/contestants.ts';
import { migrate } from '../../engine/index/schema.ts';
import type { Objects } from '../../engine/objects.ts';
import { openS3Objects } from '../../engine/s3/s3-objects.ts';
import { readS3Settings } from '../../engine/s3/settings.ts';
import { type FleetEnvironment, fleetDown, fleetUp } from '../../test/rig/services.ts';

const NAMES = [
  'ASSAY_INDEX',
  'ASSAY_BLOBS',
  'AWS_ENDPOINT_URL',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_REGION',
] as const satisfies readonly (keyof FleetEnvironment)[];

export interface Services {
  /** For the bare calls: a connection, and the bucket with its own prefix. */
  readonly database: pg.Client;
  readonly objects: Objects;
  readonly environment: FleetEnvironment;
  /** A server of the fleet, and one with a store of its own. */
  startNode(...flags: readonly string[]): Promise<Contestant>;
  startEmbedded(folder: string): Promise<Contestant>;
  close(): Promise<void>;
}

export async function openServices(folder: string): Promise<Services> {
  const given = takeEnvironment();
  const own = join(folder, 'fleet');
  const shared = given ?? (await fleetUp(own));
  const name = `bench_${randomBytes(6).toString('hex')}`;
  const admin = new pg.Client(shared.ASSAY_INDEX);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  const index = new URL(shared.ASSAY_INDEX);
  index.pathname = `/${name}`;
  const environment = { ...shared, ASSAY_INDEX: index.href, ASSAY_BLOBS: `s3://assay/${name}` };
  await migrate(environment.ASSAY_INDEX);
  const database = new pg.Client({ connectionString: environment.ASSAY_INDEX, options: '-c jit=off' });
  await database.connect();
  const objects = await openS3Objects(readS3Settings(`s3://assay/${name}-bare`, { ...environment }));
  const running: Contestant[] = [];
  const noted = (contestant: Contestant): Contestant => {
    running.push(contestant);
    return contestant;
  };
  return {
    database,
    objects,
    environment,
    startNode: async (...flags) => noted(await startFleetNode({ ...environment }, ...flags)),
    startEmbedded: async (store) => noted(await startAssay(store)),
    async close() {
      for (const contestant of running) await contestant.stop();
      await objects.close();
      await database.end();
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
      if (!given) await fleetDown(own);
    },
  };
}

/** Out of this process's environment: the embedded server must not see them. */
function takeEnvironment(): FleetEnvironment | undefined {
  if (process.env.ASSAY_INDEX === undefined) return undefined;
  const taken: Partial<Record<keyof FleetEnvironment, string>> = {};
  for (const name of NAMES) {
    taken[name] = process.env[name] ?? '';
    delete process.env[name];
  }
  return { ...EMPTY, ...taken };
}

const EMPTY: FleetEnvironment = {
  ASSAY_INDEX: '',
  ASSAY_BLOBS: '',
  AWS_ENDPOINT_URL: '',
  AWS_ACCESS_KEY_ID: '',
  AWS_SECRET_ACCESS_KEY: '',
  AWS_REGION: '',
};

/** CPU time of PostgreSQL: of its first process, of those that it has started, and of those that have ended. */
export async function postgresCpuSeconds(database: pg.Client): Promise<number> {
  const { rows } = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const first = fieldsOf(rows[0]?.pid ?? 0)[PARENT] ?? 0;
  let ticks = 0;
  for (const entry of readdirSync('/proc')) {
    const fields = /^\d+$/.test(entry) ? fieldsOf(Number(entry)) : [];
    const isFirst = Number(entry) === first;
    if (!isFirst && fields[PARENT] !== first) continue;
    const counted = isFirst ? [USER, SYSTEM, ENDED_USER, ENDED_SYSTEM] : [USER, SYSTEM];
    ticks += counted.reduce((sum, at) => sum + (fields[at] ?? 0), 0);
  }
  return ticks / TICKS_PER_SECOND;
}

/** proc(5), counted from the first field after the name in brackets. */
const PARENT = 1;
const [USER, SYSTEM, ENDED_USER, ENDED_SYSTEM] = [11, 12, 13, 14] as const;
const TICKS_PER_SECOND = 100;

/** Empty if the process has ended. */
function fieldsOf(pid: number): number[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return [];
  }
}
