// The tables in PostgreSQL, as a list of migrations, and the check that a node fits them.
//
// A migration is applied once, in its own transaction, by `assay db migrate`. It must leave the tables usable
// for nodes of the version before it: those still run while the new ones start. So a column is first added,
// then used, and removed one version later.
import type pg from 'pg';
import { AssayError, messageOf } from '../../../../core/errors.ts';
import { STORE } from '../../../../store/limits.ts';
import { FLEET } from '../../limits.ts';
import { connectionOf, explained } from './connection.ts';
import type { Queries, Statement } from './database.ts';
import { labelInIndex } from './held-bytes.ts';

/**
 * - `clock`: the logical clock, one row. `tick_ms`: the shortest length of a tick, the same for all nodes.
 * - `presence`: a few bytes for each blob. It has no other index than its key, so a new tick is a HOT update.
 * - `content`: the bytes of a small blob, or the objects of a large one in order. `age` is the tick of the blob
 *   or an earlier one; only eviction moves it.
 * - `object`: each object that the bucket may have. A name that is not here is an orphan.
 * - `result`, `result_use`: results, and the tick of each in a narrow table.
 * - `usage`: the bytes of all blobs, in several rows, so that puts do not wait for each other.
 */
const FIRST = `
CREATE TABLE assay.clock (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  tick bigint NOT NULL,
  tick_ms double precision NOT NULL
);
CREATE SEQUENCE assay.generation;
CREATE TABLE assay.tenant (
  name text COLLATE "C" PRIMARY KEY,
  number integer GENERATED ALWAYS AS IDENTITY UNIQUE
);
CREATE TABLE assay.presence (
  hash bytea PRIMARY KEY,
  generation bigint NOT NULL,
  size bigint NOT NULL,
  tick bigint NOT NULL,
  tenants integer[] NOT NULL
) WITH (fillfactor = 80);
CREATE TABLE assay.content (
  hash bytea PRIMARY KEY,
  generation bigint NOT NULL,
  age bigint NOT NULL,
  checksums bytea NOT NULL,
  bytes bytea,
  objects uuid[],
  lengths bigint[]
);
ALTER TABLE assay.content ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE INDEX content_age ON assay.content (age);
CREATE TABLE assay.object (
  name uuid PRIMARY KEY,
  state smallint NOT NULL,
  tick bigint NOT NULL
);
CREATE INDEX object_pending ON assay.object (state, tick) WHERE state <> 2;
CREATE TABLE assay.canary (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  name uuid NOT NULL
);
CREATE TABLE assay.usage (
  shard smallint PRIMARY KEY,
  bytes bigint NOT NULL
) WITH (fillfactor = 10);
INSERT INTO assay.usage SELECT shard, 0 FROM generate_series(0, 63) AS shard;
CREATE TABLE assay.result (
  namespace text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  id bigint NOT NULL UNIQUE,
  age bigint NOT NULL,
  bytes bytea NOT NULL,
  hashes bytea[] NOT NULL,
  sizes bigint[] NOT NULL,
  writer text,
  checksum bytea NOT NULL,
  PRIMARY KEY (namespace, key)
);
CREATE INDEX result_age ON assay.result (age);
CREATE TABLE assay.result_use (
  id bigint PRIMARY KEY,
  tick bigint NOT NULL
) WITH (fillfactor = 70);
CREATE TABLE assay.label (
  namespace text COLLATE "C" NOT NULL,
  label bytea NOT NULL,
  key bytea NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (namespace, label)
);
CREATE INDEX label_newest ON assay.label (namespace, number DESC);
CREATE TABLE assay.upload (
  tenant integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  owner bigint NOT NULL,
  hash bytea,
  size bigint,
  committed bigint NOT NULL,
  tick bigint NOT NULL,
  PRIMARY KEY (tenant, id)
);
CREATE INDEX upload_tick ON assay.upload (tick);
CREATE TABLE assay.upload_part (
  tenant integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  position bigint NOT NULL,
  length bigint NOT NULL,
  checksums bytea NOT NULL,
  bytes bytea,
  object uuid,
  PRIMARY KEY (tenant, id, position),
  FOREIGN KEY (tenant, id) REFERENCES assay.upload ON DELETE CASCADE
);
CREATE TABLE assay.history (
  kind text COLLATE "C" NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (kind, namespace, id)
);
CREATE INDEX history_time ON assay.history (kind, at, id, namespace);
CREATE INDEX history_namespace ON assay.history (kind, namespace, at);
ALTER TABLE assay.upload_part ALTER COLUMN bytes SET STORAGE EXTERNAL;
`;

/** `secret`: random bytes that all nodes share (shared-secret.ts). */
const SECOND = `
CREATE TABLE assay.secret (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  bytes bytea NOT NULL
);
`;

/** `suspect`: blobs of which a node has read wrong bytes (wrong-objects.ts). */
const THIRD = `
CREATE TABLE assay.suspect (
  hash bytea NOT NULL,
  generation bigint NOT NULL,
  node uuid NOT NULL,
  tick bigint NOT NULL,
  PRIMARY KEY (hash, generation)
);
`;

/**
 * `fleet`: which fleet the tables belong to, and whether they may delete its objects (ownership/). `listed_to` and
 * `listed`: how far the janitor has come in the bucket's listing. `orphans`: how many it did not dare to delete.
 */
const FOURTH = `
CREATE TABLE assay.fleet (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  fleet uuid NOT NULL,
  epoch uuid NOT NULL,
  rounds bigint NOT NULL,
  marks uuid[] NOT NULL,
  database text NOT NULL,
  superseded uuid[] NOT NULL,
  alarm text,
  is_final boolean NOT NULL DEFAULT false,
  orphans bigint,
  listed_to text COLLATE "C",
  listed bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
`;

/**
 * - `held`: what the fleet holds, as the janitor has counted (janitor/count.ts). A second row while all is counted anew.
 * - `uncounted`: what other statements have taken out of it since.
 * - `figures`: what the janitor has found last, for all nodes.
 * - `usage`: its `label_bytes` are those of labels. Older nodes evict by its `bytes`: they find none.
 */
const FIFTH = `
CREATE TABLE assay.held (
  pass smallint PRIMARY KEY,
  tick bigint NOT NULL,
  bucket bigint NOT NULL,
  index bigint NOT NULL
);
INSERT INTO assay.held VALUES (0, -1, 0, 0);
CREATE TABLE assay.uncounted (
  pass smallint NOT NULL,
  bucket bigint NOT NULL,
  index bigint NOT NULL
);
CREATE TABLE assay.figures (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  bucket bigint NOT NULL,
  index bigint NOT NULL,
  condemned bigint NOT NULL,
  uploads bigint NOT NULL
);
ALTER TABLE assay.usage ADD COLUMN label_bytes bigint NOT NULL DEFAULT 0;
UPDATE assay.usage SET bytes = 0;
UPDATE assay.usage
  SET label_bytes = (SELECT coalesce(sum(${labelInIndex('l')}), 0) FROM assay.label l) WHERE shard = 0;
CREATE INDEX label_key ON assay.label (namespace, key);
`;

/**
 * - `held_by`: what the entries of each list of holders hold, in the count of a pass (accounts/accounts.ts).
 *   `held.holders`: the holders for which that is counted.
 * - `label_held`: the bytes of the labels of each holder, in several rows as in `usage`.
 * - `account_figures`: what the janitor has found last, for all nodes.
 */
const SIXTH = `
ALTER TABLE assay.result ADD COLUMN holder integer;
ALTER TABLE assay.label ADD COLUMN holder integer;
ALTER TABLE assay.upload ADD COLUMN holder integer;
CREATE TABLE assay.label_held (
  holder integer NOT NULL,
  shard smallint NOT NULL,
  bytes bigint NOT NULL,
  PRIMARY KEY (holder, shard)
) WITH (fillfactor = 10);
ALTER TABLE assay.uncounted ADD COLUMN holders integer[] NOT NULL DEFAULT '{}';
ALTER TABLE assay.held ADD COLUMN holders integer[] NOT NULL DEFAULT '{}';
CREATE TABLE assay.held_by (
  pass smallint NOT NULL,
  holders integer[] NOT NULL,
  bucket bigint NOT NULL,
  index bigint NOT NULL,
  PRIMARY KEY (pass, holders)
);
CREATE TABLE assay.account_figures (
  account text COLLATE "C" PRIMARY KEY,
  bucket bigint NOT NULL,
  index bigint NOT NULL
);
`;

/**
 * - `action_lease`: the newest lease of each action (../action-leases.ts). A heartbeat changes no index.
 * - `action_fence`: the last fence, one row, and the database that its epoch belongs to.
 */
const SEVENTH = `
CREATE TABLE assay.action_lease (
  namespace text COLLATE "C" NOT NULL,
  key bytea NOT NULL,
  version bigint NOT NULL,
  until bigint NOT NULL,
  record text NOT NULL,
  PRIMARY KEY (namespace, key)
) WITH (fillfactor = 50);
CREATE TABLE assay.action_fence (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  epoch bigint NOT NULL,
  number bigint NOT NULL,
  here text NOT NULL
) WITH (fillfactor = 10);
INSERT INTO assay.action_fence (epoch, number, here) VALUES (0, 0, '');
`;

/** Each brings the tables to the version of its place in this list, counted from 1. */
const MIGRATIONS: readonly string[] = [FIRST, SECOND, THIRD, FOURTH, FIFTH, SIXTH, SEVENTH];

/** The version that this Assay needs. */
export const SCHEMA_VERSION = MIGRATIONS.length;
/** The oldest Assay that can use the tables of SCHEMA_VERSION. Since then columns and tables were only added. */
const OLDEST_READER = 3;

interface Migrated {
  readonly from: number;
  readonly to: number;
}

/** `leaseMs`: how long leases last, for all nodes and for ever. */
export async function migrate(url: string, leaseMs: number = STORE.leaseMs): Promise<Migrated> {
  const { default: driver } = await import('pg');
  const client = new driver.Client({
    ...connectionOf(url, driver.Client),
    connectionTimeoutMillis: FLEET.indexConnectMs,
  });
  try {
    await client.connect();
  } catch (error) {
    const cause = explained(error);
    throw cause instanceof AssayError
      ? cause
      : new AssayError('ASSAY_INDEX_AWAY', `PostgreSQL: ${messageOf(cause)}`);
  }
  try {
    return await applyAll(client, leaseMs);
  } finally {
    await client.end();
  }
}

/** Of two that run at once, the second waits and finds nothing to do. */
async function applyAll(client: pg.Client, leaseMs: number): Promise<Migrated> {
  await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
  await client.query('CREATE SCHEMA IF NOT EXISTS assay');
  await client.query(
    'CREATE TABLE IF NOT EXISTS assay.version (version integer PRIMARY KEY, oldest_reader integer NOT NULL)',
  );
  const { rows } = await client.query<{ version: number | null }>(
    'SELECT max(version) AS version FROM assay.version',
  );
  const from = rows[0]?.version ?? 0;
  if (from > SCHEMA_VERSION) throw unfit(`they have version ${from}, this Assay knows ${SCHEMA_VERSION}`);
  for (let version = from + 1; version <= SCHEMA_VERSION; version++) {
    await client.query('BEGIN');
    await client.query(MIGRATIONS[version - 1] ?? '');
    if (version === 1)
      await client.query('INSERT INTO assay.clock (tick, tick_ms) VALUES ($1, $2)', [
        FIRST_TICK,
        leaseMs / STORE.leaseTicks,
      ]);
    await client.query('INSERT INTO assay.version VALUES ($1, $2)', [version, OLDEST_READER]);
    await client.query('COMMIT');
  }
  return { from, to: SCHEMA_VERSION };
}

/** Any number that no other program uses in this database. */
const LOCK = 0x61_73_73_61;
const FIRST_TICK = 1;

const READ_VERSION: Statement = {
  name: 'version',
  text: 'SELECT version, oldest_reader AS "oldestReader" FROM assay.version ORDER BY version DESC LIMIT 1',
};

/** Throws ASSAY_INDEX_VERSION if this node must not use the tables. */
export async function checkVersion(queries: Queries): Promise<void> {
  const [row] = await queries.query<{ version: number; oldestReader: number }>(READ_VERSION);
  if (!row || row.version < SCHEMA_VERSION)
    throw unfit(`they have version ${row?.version ?? 0}, this Assay needs ${SCHEMA_VERSION}`);
  if (row.oldestReader > SCHEMA_VERSION)
    throw unfit(`they have version ${row.version}, for an Assay of version ${row.oldestReader} or later`);
}

function unfit(detail: string): AssayError {
  return new AssayError('ASSAY_INDEX_VERSION', detail);
}
