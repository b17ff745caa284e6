// The labels of the fleet engine. Each put takes a number from a sequence; a higher number is newer.

import type { Hash } from '../../../core/digest.ts';
import type { Namespace } from '../../../core/namespace.ts';
import type { UnchangedLease } from '../../../store/action-leases.ts';
import type { LabelAddress, Labelled, LabelRecords } from '../../../store/store.ts';
import { FLEET } from '../limits.ts';
import type { FleetAccounts } from './accounts/accounts.ts';
import { leaseCondition, leaseValues } from './action-leases.ts';
import type { Database, Statement } from './index/database.ts';
import { labelInIndex, labelsHeld } from './index/held-bytes.ts';
import type { FleetSpace } from './space.ts';

const GET: Statement = {
  name: 'label get',
  text: `SELECT encode(key, 'hex') AS key FROM assay.label WHERE namespace = $1 AND label = $2`,
};

/**
 * The newest labels with a prefix. Most prefixes match a new label, so the newest are looked at first, by
 * `label_newest`. If none of them matches, those with the prefix are found by the key, however many labels there are.
 * Each part has one usable index, so no estimate of the planner can choose to read the whole namespace.
 */
export const LABEL_PAGE: Statement = {
  name: 'label page',
  text: `
    WITH newest AS MATERIALIZED (
        SELECT label, key, number FROM assay.label WHERE namespace = $1 AND number < $4
        ORDER BY number DESC LIMIT ${FLEET.newestLabels}
      ),
      recent AS MATERIALIZED (SELECT * FROM newest WHERE label >= $2 AND label < $3),
      others AS MATERIALIZED (
        SELECT label, key, number FROM assay.label
        WHERE namespace = $1 AND label >= $2 AND label < $3 AND number < $4
          AND NOT EXISTS (SELECT FROM recent) AND (SELECT count(*) FROM newest) = ${FLEET.newestLabels}
      )
    SELECT label, encode(key, 'hex') AS key, number
    FROM (SELECT * FROM recent UNION ALL SELECT * FROM others) AS matching
    ORDER BY number DESC LIMIT ${FLEET.labelRows}`,
};

const NAMESPACES: Statement = {
  name: 'label namespaces',
  text: 'SELECT DISTINCT namespace FROM assay.label',
};

const ADD: Statement = {
  name: 'label add',
  text: `
    WITH ${leaseCondition(6)},
      added AS (
        INSERT INTO assay.label AS l (namespace, label, key, number, holder)
        SELECT $1, $2, $3, nextval('assay.generation'), $5::int FROM unchanged
        ON CONFLICT DO NOTHING RETURNING number, holder, ${labelInIndex('l')} AS bytes
      ),
      counted AS (
        UPDATE assay.usage u SET label_bytes = u.label_bytes + added.bytes FROM added WHERE u.shard = $4
      ),
      held AS (${labelsHeld('added', '$4::int2')})
    SELECT bytes FROM added`,
};

const REPLACE: Statement = {
  name: 'label replace',
  text: `
    WITH ${leaseCondition(5)}
    UPDATE assay.label SET key = $3, number = nextval('assay.generation') FROM unchanged
    WHERE namespace = $1 AND label = $2 AND key = $4 RETURNING number`,
};

const REMOVE: Statement = {
  name: 'label remove',
  text: `
    WITH gone AS (
        DELETE FROM assay.label l WHERE namespace = $1 AND label = $2 AND key = $3
        RETURNING number, holder, ${labelInIndex('l')} AS bytes
      ),
      counted AS (
        UPDATE assay.usage u SET label_bytes = u.label_bytes - gone.bytes FROM gone WHERE u.shard = $4
      ),
      held AS (${labelsHeld('(SELECT holder, -bytes AS bytes FROM gone) AS less', '$4::int2')})
    SELECT number FROM gone`,
};

export class FleetLabels implements LabelRecords {
  readonly #database: Database;
  readonly #space: FleetSpace;
  readonly #accounts: FleetAccounts;

  constructor(database: Database, space: FleetSpace, accounts: FleetAccounts) {
    this.#database = database;
    this.#space = space;
    this.#accounts = accounts;
  }

  async get({ namespace, label }: LabelAddress): Promise<Labelled | undefined> {
    const [row] = await this.#database.query<{ key: Hash }>(GET, [namespace, Buffer.from(label)]);
    return row && { label, key: row.key };
  }

  async *withPrefix(namespace: Namespace, prefix: string): AsyncGenerator<Labelled> {
    const from = Buffer.from(prefix);
    let before = Number.MAX_SAFE_INTEGER;
    for (;;) {
      const rows = await this.#database.query<{ label: Buffer; key: Hash; number: number }>(LABEL_PAGE, [
        namespace,
        from,
        firstBeyond(from),
        before,
      ]);
      for (const { label, key } of rows) yield { label: label.toString(), key };
      const last = rows.at(-1);
      if (!last) return;
      before = last.number;
    }
  }

  async namespaces(): Promise<Namespace[]> {
    const rows = await this.#database.query<{ namespace: Namespace }>(NAMESPACES);
    return rows.map(({ namespace }) => namespace);
  }

  async put(
    { namespace, label }: LabelAddress,
    key: Hash,
    replacing: Labelled | undefined,
    lease?: UnchangedLease,
  ): Promise<boolean> {
    const holder = this.#accounts.holderOf(namespace);
    this.#space.refuseIfFull('index', 1, holder);
    const values = [namespace, Buffer.from(label), Buffer.from(key, 'hex')];
    if (replacing) {
      const replaced = Buffer.from(replacing.key, 'hex');
      const rows = await this.#database.query(REPLACE, [...values, replaced, ...leaseValues(lease)]);
      return rows.length > 0;
    }
    const number = holder && (await this.#accounts.numbersOf(holder)).own;
    const more = [randomShard(), number ?? null, ...leaseValues(lease)];
    const [added] = await this.#database.query<{ bytes: number }>(ADD, [...values, ...more]);
    if (added) this.#space.stored('index', added.bytes, holder);
    return added !== undefined;
  }

  async remove({ namespace, label }: LabelAddress, key: Hash): Promise<boolean> {
    const values = [namespace, Buffer.from(label), Buffer.from(key, 'hex'), randomShard()];
    return (await this.#database.query(REMOVE, values)).length > 0;
  }
}

/** The bytes of labels are in several rows, so that puts do not wait for each other. */
function randomShard(): number {
  return Math.floor(Math.random() * USAGE_SHARDS);
}

const USAGE_SHARDS = 64;

/** The first bytes after all that begin with the prefix. UTF-8 contains no byte 0xff. */
export function firstBeyond(prefix: Buffer): Buffer {
  const last = prefix.at(-1);
  if (last === undefined) return Buffer.from([0xff]);
  const beyond = Buffer.from(prefix);
  beyond[beyond.length - 1] = last + 1;
  return beyond;
}
