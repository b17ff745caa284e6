// Eviction: removes the least recently used results, and then the blobs that they named, in small steps. One elected
// node runs it: several would each remove what is too much.
//
// Invariants:
// E1 Only entries whose lease has ended are removed (logical-clock.ts, L2), and only in the state that the
//    statement locked: a use that commits first keeps the entry.
// E2 The order is by tick, and results come before blobs of the same window: a result is used after its blobs.
// E3 `age` is the tick of an entry or an earlier one. A use does not move it. Eviction moves the age of an entry that
//    was used since, and removes only entries whose age is their tick.
// E4 Locked rows are skipped, so that no two nodes wait for each other.
import { STORE } from '../../limits.ts';
import type { Queries, Statement } from '../index/database.ts';
import {
  blobInIndex,
  holdersIn,
  holdersOfResult,
  inBucket,
  labelInIndex,
  labelsHeld,
  resultInIndex,
  takenOut,
} from '../index/held-bytes.ts';
import { BLOB_LEASE_TICKS, FRESH_TICKS, RESULT_LEASE_TICKS } from '../index/logical-clock.ts';
import { CONDEMNED } from '../index/object-rows.ts';
import type { HeldBytes } from '../space.ts';

const OLDEST: Statement = {
  name: 'evict oldest',
  text: 'SELECT (SELECT min(age) FROM assay.content) AS blob, (SELECT min(age) FROM assay.result) AS result',
};

/** Of the entry that was used last. A tick lasts at least `tick_ms`, so the age is at least this. */
const UNUSED_MS = 'min((c.tick - used.tick) * c.tick_ms)::float8';

/** `$1`: how many entries are looked at. `$2`: how many bytes of PostgreSQL are wanted, or null for all of these. */
const RESULTS: Statement = {
  name: 'evict results',
  text: `
    WITH c AS (SELECT tick, tick_ms FROM assay.clock),
      old AS (
        SELECT id, age, ${resultInIndex('r')} AS index, ${holdersOfResult('r')} AS holders FROM assay.result r
        ORDER BY age LIMIT $1 FOR UPDATE SKIP LOCKED
      ),
      used AS (
        SELECT u.id, u.tick FROM assay.result_use u JOIN old USING (id) FOR UPDATE OF u SKIP LOCKED
      ),
      over AS (
        SELECT id FROM (
          SELECT used.id, sum(old.index) OVER (ORDER BY used.tick, used.id) - old.index AS before
          FROM used JOIN old USING (id), c
          WHERE used.tick <= old.age AND used.tick < c.tick - ${RESULT_LEASE_TICKS}
        ) AS ordered WHERE $2::int8 IS NULL OR before < $2
      ),
      moved AS (
        UPDATE assay.result r SET age = used.tick FROM used, old
        WHERE r.id = used.id AND old.id = used.id AND used.tick > old.age RETURNING r.id
      ),
      gone AS (DELETE FROM assay.result r USING over WHERE r.id = over.id RETURNING r.id, r.namespace, r.key),
      unused AS (DELETE FROM assay.result_use u USING over WHERE u.id = over.id),
      unlabelled AS (
        DELETE FROM assay.label l USING gone WHERE l.namespace = gone.namespace AND l.key = gone.key
        RETURNING l.holder, ${labelInIndex('l')} AS bytes
      ),
      labels_held AS (${labelsHeld('(SELECT holder, -bytes AS bytes FROM unlabelled) AS less', '0::int2')}),
      labels AS (
        UPDATE assay.usage u SET label_bytes = u.label_bytes - g.bytes
        FROM (SELECT sum(bytes)::int8 AS bytes FROM unlabelled HAVING count(*) > 0) g WHERE u.shard = 0
      ),
      left_behind AS (
        SELECT 0 AS bucket, old.index, old.age AS was, NULL::int8 AS stays, old.holders
        FROM gone JOIN old USING (id)
        UNION ALL SELECT 0, old.index, old.age, used.tick, old.holders FROM moved JOIN old USING (id) JOIN used USING (id)
      ),
      uncounted AS (${takenOut('left_behind')})
    SELECT (SELECT count(*)::int FROM gone) AS count, (SELECT count(*)::int FROM moved) AS moved, 0::int8 AS bucket,
      (SELECT coalesce(sum(old.index), 0)::int8 FROM gone JOIN old USING (id))
        + (SELECT coalesce(sum(bytes), 0)::int8 FROM unlabelled) AS index,
      (SELECT ${UNUSED_MS} FROM c, used JOIN over USING (id)) AS "unusedMs"`,
};

/** `$2`, `$3`: the bytes of the bucket and of PostgreSQL that are wanted. `$4`: the first tick that results may name (E2). */
const BLOBS: Statement = {
  name: 'evict blobs',
  text: `
    WITH c AS (SELECT tick, tick_ms FROM assay.clock),
      old AS (
        SELECT hash, age, objects, ${inBucket('k')} AS bucket, ${blobInIndex('k')} AS index FROM assay.content k
        ORDER BY age LIMIT $1 FOR UPDATE SKIP LOCKED
      ),
      used AS (
        SELECT p.hash, p.tick, p.tenants FROM assay.presence p JOIN old USING (hash) FOR UPDATE OF p SKIP LOCKED
      ),
      over AS (
        SELECT hash FROM (
          SELECT used.hash,
            sum(old.bucket) OVER in_order - old.bucket AS bucket, sum(old.index) OVER in_order - old.index AS index
          FROM used JOIN old USING (hash), c
          WHERE used.tick <= old.age AND used.tick < c.tick - ${BLOB_LEASE_TICKS} AND used.tick < $4
          WINDOW in_order AS (ORDER BY used.tick, used.hash)
        ) AS before WHERE bucket < $2 OR index < $3
      ),
      moved AS (
        UPDATE assay.content k SET age = used.tick FROM used, old
        WHERE k.hash = used.hash AND old.hash = used.hash AND used.tick > old.age RETURNING k.hash
      ),
      gone AS (DELETE FROM assay.presence p USING over WHERE p.hash = over.hash RETURNING p.hash),
      emptied AS (DELETE FROM assay.content k USING over WHERE k.hash = over.hash),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick
        FROM c, old JOIN over USING (hash), unnest(old.objects) AS n(name) WHERE o.name = n.name
      ),
      left_behind AS (
        SELECT old.bucket, old.index, old.age AS was, NULL::int8 AS stays, ${holdersIn('used.tenants')} AS holders
        FROM gone JOIN old USING (hash) JOIN used USING (hash)
        UNION ALL
        SELECT old.bucket, old.index, old.age, used.tick, ${holdersIn('used.tenants')} FROM moved JOIN old USING (hash) JOIN used USING (hash)
      ),
      uncounted AS (${takenOut('left_behind')}),
      freed AS (
        SELECT count(*)::int AS count, coalesce(sum(old.bucket), 0)::int8 AS bucket,
          coalesce(sum(old.index), 0)::int8 AS index
        FROM gone JOIN old USING (hash)
      )
    SELECT count, bucket, index, (SELECT count(*)::int FROM moved) AS moved,
      (SELECT ${UNUSED_MS} FROM c, used JOIN over USING (hash)) AS "unusedMs" FROM freed`,
};

export interface EvictedEntries extends HeldBytes {
  readonly results: number;
  readonly blobs: number;
  /** How long the last of them had not been used. Absent if none was removed. */
  readonly unusedMs?: number;
}

interface Oldest {
  readonly blob: number | null;
  readonly result: number | null;
}

interface Step extends HeldBytes {
  readonly count: number;
  readonly moved: number;
  readonly unusedMs: number | null;
}

export class FleetEviction {
  readonly #queries: Queries;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  /** Removes no more than is wanted needs. Undefined if everything is leased, or nothing is there. */
  async step(wanted: HeldBytes): Promise<EvictedEntries | undefined> {
    const [oldest] = await this.#queries.query<Oldest>(OLDEST);
    const { blob = null, result = null } = oldest ?? {};
    const isResult = result !== null && (blob === null || result <= blob + FRESH_TICKS);
    const [step] = isResult
      ? await this.#queries.query<Step>(RESULTS, [
          STORE.evictEntries,
          wanted.bucket > 0 ? null : Math.ceil(wanted.index),
        ])
      : await this.#queries.query<Step>(BLOBS, [
          STORE.evictEntries,
          Math.ceil(wanted.bucket),
          Math.ceil(wanted.index),
          result === null ? Number.MAX_SAFE_INTEGER : result - FRESH_TICKS,
        ]);
    if (!step || step.count + step.moved === 0) return undefined;
    const { count, bucket, index, unusedMs } = step;
    return {
      results: isResult ? count : 0,
      blobs: isResult ? 0 : count,
      bucket,
      index,
      ...(unusedMs !== null && { unusedMs }),
    };
  }
}
