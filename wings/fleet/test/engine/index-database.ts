// The database of a test file, with the tables of the fleet, in the PostgreSQL that all tests of a run share.
import pg from 'pg';
import { migrate } from '../../engine/index/schema.ts';
import { type FleetEnvironment, freshFleet } from '../rig/services.ts';

/** TRUNCATE takes far longer for a few rows. */
const CLEAR = [
  'presence',
  'content',
  'object',
  'canary',
  'result',
  'result_use',
  'label',
  'upload',
  'history',
  'fleet',
  'suspect',
  'uncounted',
  'figures',
  'held_by',
  'label_held',
  'account_figures',
  'action_lease',
]
  .map((name) => `DELETE FROM assay.${name};`)
  .join(' ');

const NOTHING_HELD = `
  DELETE FROM assay.held WHERE pass = 1;
  UPDATE assay.held SET tick = -1, bucket = 0, index = 0, holders = '{}';
  UPDATE assay.usage SET label_bytes = 0`;

/** Ends all other connections to the database. */
export const END_OTHERS = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid()`;

export interface TestDatabase {
  readonly environment: FleetEnvironment;
  readonly url: string;
  query(text: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** Empties all tables. */
  clear(): Promise<void>;
  /** Moves the logical clock, as if so many ticks had passed. */
  advance(ticks: number): Promise<void>;
  /** Nobody can reach the database during `work`. */
  blocked(work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** `index`: a PostgreSQL of the test's own, instead of the shared one. */
export async function createDatabase(leaseMs?: number, index?: string): Promise<TestDatabase> {
  const shared = await freshFleet();
  return openDatabase({ ...shared, ASSAY_INDEX: index ?? shared.ASSAY_INDEX }, leaseMs);
}

/** An empty database gets the tables. */
export async function openDatabase(environment: FleetEnvironment, leaseMs?: number): Promise<TestDatabase> {
  const url = environment.ASSAY_INDEX;
  await migrate(url, leaseMs);
  // One connection, and another one after PostgreSQL has crashed.
  const client = new pg.Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 });
  client.on('error', () => {});
  return {
    environment,
    url,
    query: async (text, values) => (await client.query(text, values)).rows,
    async clear() {
      await client.query(`${CLEAR} ${NOTHING_HELD}`);
    },
    async advance(ticks) {
      await client.query('UPDATE assay.clock SET tick = tick + $1', [ticks]);
    },
    async blocked(work) {
      const allow = (isAllowed: boolean) =>
        client.query('UPDATE pg_database SET datallowconn = $1 WHERE datname = current_database()', [
          isAllowed,
        ]);
      await allow(false);
      await client.query(END_OTHERS);
      await work().finally(() => allow(true));
    },
    close: () => client.end(),
  };
}
