// The action leases of the fleet engine: one row for each action, and one with the last fence. The clock is that of
// PostgreSQL, so all nodes have the same time.
//
// The epoch belongs to this database since its last promotion. A dump that was restored is another database, and a
// standby that took over, or a restored base backup, has another timeline. So whatever a failover has lost, no fence is
// given twice. Epochs are seconds since 1970, or one more than the last.
import { type Fence, fenceStep } from '../../../core/action-lease.ts';
import type { Hash } from '../../../core/digest.ts';
import type {
  LeaseAddress,
  LeaseReading,
  LeaseRecord,
  LeaseRecords,
  UnchangedLease,
} from '../../../store/action-leases.ts';
import { type Database, hashArray, type Statement } from './index/database.ts';
import { HERE } from './ownership/fleet-row.ts';

const GET: Statement = {
  name: 'lease get',
  text: `
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, l.version, l.record
    FROM unnest($1::text[], $2::bytea[]) WITH ORDINALITY AS a (namespace, key, place)
    LEFT JOIN assay.action_lease l ON l.namespace = a.namespace AND l.key = a.key ORDER BY a.place`,
};

const NOW: Statement = {
  name: 'lease now',
  text: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
};

const ADD: Statement = {
  name: 'lease add',
  text: `
    INSERT INTO assay.action_lease (namespace, key, version, until, record)
    VALUES ($1, $2, nextval('assay.generation'), $3, $4) ON CONFLICT DO NOTHING RETURNING version`,
};

const REPLACE: Statement = {
  name: 'lease replace',
  text: `
    UPDATE assay.action_lease SET version = nextval('assay.generation'), until = $3, record = $4
    WHERE namespace = $1 AND key = $2 AND version = $5 RETURNING version`,
};

/** What no copy of the database carries: the database itself, and the timeline of its primary. */
const PLACE = `${HERE} || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8)`;

const NEXT_FENCE: Statement = {
  name: 'lease fence',
  text: `
    UPDATE assay.action_fence f SET
      epoch = CASE WHEN f.here = p.here THEN f.epoch
        ELSE greatest(f.epoch + 1, floor(extract(epoch FROM clock_timestamp()))::bigint) END,
      number = f.number + $1, here = p.here
    FROM (SELECT ${PLACE} AS here) AS p RETURNING f.epoch, f.number`,
};

const REMOVE: Statement = {
  name: 'lease remove',
  text: `
    DELETE FROM assay.action_lease l USING (
      SELECT namespace, key FROM assay.action_lease WHERE until < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old WHERE l.namespace = old.namespace AND l.key = old.key RETURNING l.version`,
};

/**
 * The common table `unchanged`: it has a row if the lease is still the one that was read, and then nobody replaces it
 * before the end of the statement. Its values are those of `leaseValues`, from this number on. A version of null stands
 * for an action without a lease: one that is granted meanwhile counts as later.
 */
export function leaseCondition(first: number): string {
  const [namespace, key, version] = [`$${first}::text`, `$${first + 1}::bytea`, `$${first + 2}::bigint`];
  return `
    same AS MATERIALIZED (
      SELECT version FROM assay.action_lease WHERE namespace = ${namespace} AND key = ${key} FOR SHARE
    ),
    unchanged AS (SELECT WHERE ${namespace} IS NULL OR (SELECT version FROM same) IS NOT DISTINCT FROM ${version})`;
}

export function leaseValues(lease: UnchangedLease | undefined): unknown[] {
  if (!lease) return [null, null, null];
  const { address, record } = lease;
  return [...valuesOf(address), record?.version ?? null];
}

function valuesOf({ namespace, key }: LeaseAddress): unknown[] {
  return [namespace, Buffer.from(key, 'hex')];
}

interface Row {
  readonly now: number;
  readonly version: number | null;
  readonly record: string | null;
}

export class FleetActionLeases implements LeaseRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async get(addresses: readonly LeaseAddress[]): Promise<LeaseReading> {
    const namespaces = addresses.map(({ namespace }) => namespace);
    const keys: Hash[] = addresses.map(({ key }) => key);
    const rows = await this.#database.query<Row>(GET, [namespaces, hashArray(keys)]);
    const now = rows[0]?.now ?? (await this.#now());
    return { now, records: rows.map(recordIn) };
  }

  async #now(): Promise<number> {
    const [row] = await this.#database.query<{ now: number }>(NOW);
    return row?.now ?? 0;
  }

  async put(
    address: LeaseAddress,
    { version: _, ...record }: LeaseRecord,
    replacing: LeaseRecord | undefined,
  ): Promise<boolean> {
    const values = [...valuesOf(address), record.until, JSON.stringify(record)];
    const rows = replacing
      ? await this.#database.query(REPLACE, [...values, replacing.version])
      : await this.#database.query(ADD, values);
    return rows.length > 0;
  }

  async nextFence(): Promise<Fence> {
    const [row] = await this.#database.query<{ epoch: number; number: number }>(NEXT_FENCE, [fenceStep()]);
    if (!row) throw new Error('PostgreSQL has lost the row of the last fence');
    return { epoch: row.epoch, number: row.number };
  }

  async removeBefore(until: number, most: number): Promise<number> {
    return (await this.#database.query(REMOVE, [until, most])).length;
  }
}

function recordIn({ version, record }: Row): LeaseRecord | undefined {
  if (record === null || version === null) return undefined;
  const kept: LeaseRecord = JSON.parse(record);
  return { ...kept, version };
}
