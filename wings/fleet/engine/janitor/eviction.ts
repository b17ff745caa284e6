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
// E5 With a scope (accounts), what is looked at is found first, from the age on where the step before stopped. E2 then
//    holds among the results of the scope: by H1 of ../accounts/accounts.ts they are all that may name its blobs.
import { STORE } from '../../../../store/limits.ts';
import { FLEET } from '../../limits.ts';
import { hashArray, numberArray, type Queries, type Statement } from '../index/database.ts';
import {
  blobInIndex,
  HOLDERS_BELOW,
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

/**
 * Which entries a scope has, of lists of holders. Of the parameters of a statement, from `first` on: `only`, or null for
 * all; `kept`; `bounded`; the most bytes of these, in the bucket and in PostgreSQL.
 */
const scopeFrom = (first: number) => {
  const [only, kept, bounded, bucket, index] = [0, 1, 2, 3, 4].map((at) => `$${first + at}`);
  return {
    isIn: (list: string) =>
      `(NOT ${list} && ${kept}::int[] AND (${only}::int[] IS NULL OR ${list} && ${only}::int[]))`,
    isBounded: (list: string) => `${list} && ${bounded}::int[]`,
    isWithin: `(bounded_bucket <= ${bucket}::int8 AND bounded_index <= ${index}::int8)`,
    /** What stays in a list. Nothing does, if all is evicted and not what one account holds. */
    others: (list: string) =>
      `ARRAY(SELECT n FROM unnest(${list}) AS n WHERE n < ${HOLDERS_BELOW} AND NOT n = ANY (${only}::int[]) ORDER BY n)`,
    withoutOnly: (list: string) =>
      `ARRAY(SELECT n FROM unnest(${list}) AS n WHERE NOT n = ANY (${only}::int[]))`,
  };
};

type Scoped = ReturnType<typeof scopeFrom> | undefined;

/** What is looked at: the oldest entries, or those that were found. `$1`: how many, or which. */
const looked = (isScoped: boolean, key: string) =>
  isScoped
    ? `WHERE ${key} = ANY ($1) FOR UPDATE SKIP LOCKED`
    : 'ORDER BY age LIMIT $1 FOR UPDATE SKIP LOCKED';

const freedFrom = (rows: string) => `
  (SELECT coalesce(json_agg(f), '[]') FROM (
    SELECT holders AS was, others AS stays, sum(bucket)::int8 AS bucket, sum(index)::int8 AS index
    FROM ${rows} GROUP BY holders, others) AS f) AS freed`;
const FREED_WITH_LABELS = `(
  SELECT bucket, index, holders, others FROM freed
  UNION ALL SELECT 0, u.bytes, ARRAY[u.holder], '{}'::int[] FROM unlabelled u WHERE u.holder IS NOT NULL) AS together`;

/**
 * `$2`: how many bytes of PostgreSQL are wanted, or null for all of these. `$8`, of a scope: the last tick that comes
 * before the oldest blob (E2). An account may have fewer results than one step takes.
 */
const results = (name: string, scope?: Scoped): Statement => ({
  name,
  text: `
    WITH c AS (SELECT tick, tick_ms FROM assay.clock),
      old AS (
        SELECT id, age, ${resultInIndex('r')} AS index, ${holdersOfResult('r')} AS holders FROM assay.result r
        ${looked(scope !== undefined, 'id')}
      ),
      used AS (
        SELECT u.id, u.tick FROM assay.result_use u JOIN old USING (id) FOR UPDATE OF u SKIP LOCKED
      ),
      over AS (
        SELECT id FROM (
          SELECT used.id, sum(old.index) OVER in_order - old.index AS before
            ${scope ? `, ${scope.isBounded('old.holders')} AS is_bounded, 0 AS bounded_bucket, ${boundedSum(scope, 'old.holders', 'old.index')} AS bounded_index` : ''}
          FROM used JOIN old USING (id), c
          WHERE used.tick <= old.age AND used.tick < c.tick - ${RESULT_LEASE_TICKS}
            ${scope ? `AND used.tick <= $8::int8 AND ${scope.isIn('old.holders')}` : ''}
          WINDOW in_order AS (ORDER BY used.tick, used.id)
        ) AS ordered WHERE ($2::int8 IS NULL OR before < $2) ${scope ? `AND (NOT is_bounded OR ${scope.isWithin})` : ''}
      ),
      moved AS (
        UPDATE assay.result r SET age = used.tick FROM used, old
        WHERE r.id = used.id AND old.id = used.id AND used.tick > old.age RETURNING r.id
      ),
      gone AS (DELETE FROM assay.result r USING over WHERE r.id = over.id RETURNING r.id, r.namespace, r.key),
      unused AS (DELETE FROM assay.result_use u USING over WHERE u.id = over.id),
      unlabelled AS (
        DELETE FROM assay.label l USING gone WHERE l.namespace = gone.namespace AND l.key = gone.key
        RETURNING gone.id, l.holder, ${labelInIndex('l')} AS bytes
      ),
      labels_held AS (${labelsHeld('(SELECT holder, -bytes AS bytes FROM unlabelled) AS less', '0::int2')}),
      labels AS (
        UPDATE assay.usage u SET label_bytes = u.label_bytes - g.bytes
        FROM (SELECT sum(bytes)::int8 AS bytes FROM unlabelled HAVING count(*) > 0) g WHERE u.shard = 0
      ),
      freed AS (SELECT 0 AS bucket, old.index, old.holders, '{}'::int[] AS others, old.age FROM gone JOIN old USING (id)),
      left_behind AS (
        SELECT bucket, index, age AS was, NULL::int8 AS stays, holders FROM freed
        UNION ALL SELECT 0, old.index, old.age, used.tick, old.holders
        FROM moved JOIN old USING (id) JOIN used USING (id)
      ),
      uncounted AS (${takenOut('left_behind')})
    SELECT (SELECT count(*)::int FROM gone) AS count, (SELECT count(*)::int FROM moved) AS moved, 0::int8 AS bucket,
      (SELECT coalesce(sum(index), 0)::int8 FROM freed)
        + (SELECT coalesce(sum(bytes), 0)::int8 FROM unlabelled) AS index,
      (SELECT ${UNUSED_MS} FROM c, used JOIN over USING (id)) AS "unusedMs"
      ${scope ? `, ${freedFrom(FREED_WITH_LABELS)}` : ''}`,
});

/** The bytes of an entry and of those before it that are bounded. */
function boundedSum(scope: NonNullable<Scoped>, list: string, bytes: string): string {
  return `sum(CASE WHEN ${scope.isBounded(list)} THEN ${bytes} ELSE 0 END) OVER in_order`;
}

/**
 * `$2`, `$3`: the bytes of the bucket and of PostgreSQL that are wanted. `$4`: the first tick that results may name (E2).
 * A blob that others hold too is not removed: the scope gives it up.
 */
const blobs = (name: string, scope?: Scoped): Statement => ({
  name,
  text: `
    WITH c AS (SELECT tick, tick_ms FROM assay.clock),
      old AS (
        SELECT hash, age, objects, ${inBucket('k')} AS bucket, ${blobInIndex('k')} AS index FROM assay.content k
        ${looked(scope !== undefined, 'hash')}
      ),
      used AS (
        SELECT p.hash, p.tick, p.tenants FROM assay.presence p JOIN old USING (hash) FOR UPDATE OF p SKIP LOCKED
      ),
      over AS (
        SELECT hash, tenants, others FROM (
          SELECT used.hash, used.tenants, ${scope ? scope.others('used.tenants') : `'{}'::int[]`} AS others,
            sum(old.bucket) OVER in_order - old.bucket AS bucket, sum(old.index) OVER in_order - old.index AS index
            ${scope ? `, ${scope.isBounded('used.tenants')} AS is_bounded, ${boundedSum(scope, 'used.tenants', 'old.bucket')} AS bounded_bucket, ${boundedSum(scope, 'used.tenants', 'old.index')} AS bounded_index` : ''}
          FROM used JOIN old USING (hash), c
          WHERE used.tick <= old.age AND used.tick < c.tick - ${BLOB_LEASE_TICKS} AND used.tick < $4
            ${scope ? `AND ${scope.isIn('used.tenants')}` : ''}
          WINDOW in_order AS (ORDER BY used.tick, used.hash)
        ) AS before WHERE (bucket < $2 OR index < $3) ${scope ? `AND (NOT is_bounded OR ${scope.isWithin})` : ''}
      ),
      moved AS (
        UPDATE assay.content k SET age = used.tick FROM used, old
        WHERE k.hash = used.hash AND old.hash = used.hash AND used.tick > old.age RETURNING k.hash
      ),
      gone AS (
        DELETE FROM assay.presence p USING over WHERE p.hash = over.hash AND over.others = '{}' RETURNING p.hash
      ),
      emptied AS (DELETE FROM assay.content k USING gone WHERE k.hash = gone.hash),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick
        FROM c, old JOIN gone USING (hash), unnest(old.objects) AS n(name) WHERE o.name = n.name
      ),
      ${
        scope
          ? `given_up AS (
        UPDATE assay.presence p SET tenants = ${scope.withoutOnly('over.tenants')}
        FROM over WHERE p.hash = over.hash AND over.others <> '{}'
      ),`
          : ''
      }
      freed AS (
        SELECT old.bucket, old.index, old.age, ${holdersIn('over.tenants')} AS holders, over.others
        FROM over JOIN old USING (hash)
      ),
      left_behind AS (
        SELECT bucket, index, age AS was, NULL::int8 AS stays, holders FROM freed
        ${scope ? `UNION ALL SELECT -bucket, -index, age, NULL, others FROM freed WHERE others <> '{}'` : ''}
        UNION ALL
        SELECT old.bucket, old.index, old.age, used.tick, ${holdersIn('used.tenants')}
        FROM moved JOIN old USING (hash) JOIN used USING (hash)
      ),
      uncounted AS (${takenOut('left_behind')}),
      removed AS (
        SELECT coalesce(sum(bucket), 0)::int8 AS bucket, coalesce(sum(index), 0)::int8 AS index
        FROM freed WHERE others = '{}'
      )
    SELECT (SELECT count(*)::int FROM over) AS count, bucket, index, (SELECT count(*)::int FROM moved) AS moved,
      (SELECT ${UNUSED_MS} FROM c, used JOIN over USING (hash)) AS "unusedMs"
      ${scope ? `, ${freedFrom('freed')}` : ''}
    FROM removed`,
});

const RESULTS = results('evict results');
const SCOPED_RESULTS = results('evict scoped results', scopeFrom(3));
const BLOBS = blobs('evict blobs');
const SCOPED_BLOBS = blobs('evict scoped blobs', scopeFrom(5));

/**
 * The oldest entries of a scope. `$1`: from this age on. `$2`: so many of that age are passed over. At most
 * FLEET.scannedEntries rows are looked at: `last` is the age where the next look goes on, or null at the end.
 */
const find = (name: string, table: string, key: string, isIn: string): Statement => ({
  name,
  text: `
    SELECT ARRAY(SELECT ${key} FROM looked ${isIn} ORDER BY age LIMIT ${STORE.evictEntries}) AS keys,
      (SELECT min(age) FROM (SELECT age FROM looked ${isIn} ORDER BY age LIMIT 1) AS first) AS oldest,
      (SELECT age FROM ${table} WHERE age >= $1 ORDER BY age OFFSET $2::int8 + ${FLEET.scannedEntries} LIMIT 1) AS last
    `.replaceAll(
    'looked',
    `(SELECT * FROM ${table} WHERE age >= $1 ORDER BY age OFFSET $2::int8 LIMIT ${FLEET.scannedEntries}) AS k`,
  ),
});
const FOUND = scopeFrom(3);
/** A row without its other half is found too: the statement that removes leaves it out. */
const FIND_BLOBS = find(
  'evict find blobs',
  'assay.content',
  'hash',
  `WHERE (SELECT ${FOUND.isIn('p.tenants')} FROM assay.presence p WHERE p.hash = k.hash)`,
);
const FIND_RESULTS = find(
  'evict find results',
  'assay.result',
  'id',
  `WHERE ${FOUND.isIn(`(${holdersOfResult('k')})`)}`,
);

/** A part of what the fleet holds, by the numbers of holders (../accounts/accounts.ts). */
interface Scope {
  /** Only what one of these holds. What others hold too is given up by these. Undefined: everything. */
  readonly only?: readonly number[];
  /** Nothing that one of these holds. */
  readonly kept: readonly number[];
  /** Of what one of these holds, at most so much. */
  readonly bounded: readonly number[];
  readonly most: HeldBytes;
}

/** What entries of one list of holders have freed, and which of these still hold them. */
export interface Freed extends HeldBytes {
  readonly was: readonly number[];
  readonly stays: readonly number[];
}

export interface EvictedEntries extends HeldBytes {
  readonly results: number;
  readonly blobs: number;
  /** How long the last of them had not been used. Absent if none was removed. */
  readonly unusedMs?: number;
}

export interface EvictedScope extends EvictedEntries {
  readonly freed: readonly Freed[];
}

interface Oldest {
  readonly blob: number | null;
  readonly result: number | null;
}

interface Step extends HeldBytes {
  readonly count: number;
  readonly moved: number;
  readonly unusedMs: number | null;
  /** Only of a scope. */
  readonly freed?: readonly Freed[];
}

interface FoundPage {
  /** Hashes, or ids. */
  readonly keys: readonly (string | number)[];
  readonly oldest: number | null;
  readonly last: number | null;
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
    const isResult = isResultFirst(blob, result);
    const [step] = isResult
      ? await this.#queries.query<Step>(RESULTS, [STORE.evictEntries, wantedOfResults(wanted)])
      : await this.#queries.query<Step>(BLOBS, [STORE.evictEntries, ...wantedOfBlobs(wanted, result)]);
    return step && evicted(step, isResult);
  }
}

export class ScopedEviction {
  readonly #queries: Queries;
  readonly #blobs = new AgeCursor(FIND_BLOBS);
  readonly #results = new AgeCursor(FIND_RESULTS);

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  /** The same for a scope, which may only become smaller from step to step. */
  async step(wanted: HeldBytes, scope: Scope): Promise<EvictedScope | undefined> {
    const values = [scope.only ?? null, scope.kept];
    const blobs = await this.#blobs.find(this.#queries, values);
    const results = await this.#results.find(this.#queries, values);
    const isResult = isResultFirst(blobs.oldest, results.oldest);
    const bounds = [...values, scope.bounded, bound(scope.most.bucket), bound(scope.most.index)];
    const [step] = isResult
      ? await this.#queries.query<Step>(SCOPED_RESULTS, [
          numberArray(results.keys.map(Number)),
          wantedOfResults(wanted),
          ...bounds,
          blobs.oldest === null ? Number.MAX_SAFE_INTEGER : blobs.oldest + FRESH_TICKS,
        ])
      : await this.#queries.query<Step>(SCOPED_BLOBS, [
          hashArray(blobs.keys.map(String)),
          ...wantedOfBlobs(wanted, results.oldest),
          ...bounds,
        ]);
    const entries = step && evicted(step, isResult);
    return entries && { ...entries, freed: step.freed ?? [] };
  }
}

/** How far the entries of a scope have been looked for. */
class AgeCursor {
  readonly #statement: Statement;
  #age = 0;
  #skipped = 0;

  constructor(statement: Statement) {
    this.#statement = statement;
  }

  async find(queries: Queries, scope: readonly unknown[]): Promise<FoundPage> {
    for (;;) {
      const [page] = await queries.query<FoundPage>(this.#statement, [this.#age, this.#skipped, ...scope]);
      const { oldest, last } = page ?? { oldest: null, last: null };
      if (page && (oldest !== null || last === null)) return page;
      if (last === this.#age) this.#skipped += FLEET.scannedEntries;
      else [this.#age, this.#skipped] = [last ?? 0, 0];
    }
  }
}

function isResultFirst(blob: number | null, result: number | null): boolean {
  return result !== null && (blob === null || result <= blob + FRESH_TICKS);
}

function wantedOfResults({ bucket, index }: HeldBytes): number | null {
  return bucket > 0 ? null : Math.ceil(index);
}

function wantedOfBlobs({ bucket, index }: HeldBytes, oldestResult: number | null): number[] {
  const named = oldestResult === null ? Number.MAX_SAFE_INTEGER : oldestResult - FRESH_TICKS;
  return [Math.ceil(bucket), Math.ceil(index), named];
}

function bound(bytes: number): number {
  return Math.min(Math.floor(bytes), Number.MAX_SAFE_INTEGER);
}

/** Undefined if nothing was. */
function evicted(
  { count, moved, bucket, index, unusedMs }: Step,
  isResult: boolean,
): EvictedEntries | undefined {
  if (count + moved === 0) return undefined;
  return {
    results: isResult ? count : 0,
    blobs: isResult ? 0 : count,
    bucket,
    index,
    ...(unusedMs !== null && { unusedMs }),
  };
}
