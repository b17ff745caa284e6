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
import { BLOB_LEASE_TICKS, FRESH_TICKS, RESULT_LEASE_TICKS } from '../index/logical-clock.ts';
import { CONDEMNED } from '../index/object-rows.ts';

const OLDEST: Statement = {
  name: 'evict oldest',
  text: `
    SELECT (SELECT min(age) FROM assay.content) AS blob, (SELECT min(age) FROM assay.result) AS result,
      (SELECT sum(bytes)::int8 FROM assay.usage) AS bytes`,
};

/** Of the entry that was used last. A tick lasts at least `tick_ms`, so the age is at least this. */
const UNUSED_MS = 'min((c.tick - used.tick) * c.tick_ms)::float8';

/** `$1`: how many entries are looked at. */
const RESULTS: Statement = {
  name: 'evict results',
  text: `
    WITH c AS (SELECT tick, tick_ms FROM assay.clock),
      old AS (SELECT id, age FROM assay.result ORDER BY age LIMIT $1 FOR UPDATE SKIP LOCKED),
      used AS (
        SELECT u.id, u.tick FROM assay.result_use u JOIN old USING (id) FOR UPDATE OF u SKIP LOCKED
      ),
      over AS (
        SELECT used.id FROM used JOIN old USING (id), c
        WHERE used.tick <= old.age AND used.tick < c.tick - ${RESULT_LEASE_TICKS}
      ),
      moved AS (
        UPDATE assay.result r SET age = used.tick FROM used, old
        WHERE r.id = used.id AND old.id = used.id AND used.tick > old.age RETURNING r.id
      ),
      gone AS (DELETE FROM assay.result r USING over WHERE r.id = over.id RETURNING r.id),
      unused AS (DELETE FROM assay.result_use u USING over WHERE u.id = over.id)
    SELECT (SELECT count(*)::int FROM gone) AS count, (SELECT count(*)::int FROM moved) AS moved,
      0::int8 AS bytes, (SELECT ${UNUSED_MS} FROM c, used JOIN over USING (id)) AS "unusedMs"`,
};

/** `$2`: how many bytes are wanted. `$3`: the first tick that results may name (E2). The rows of \`usage\` are locked last. */
const BLOBS: Statement = {
  name: 'evict blobs',
  text: `
    WITH c AS (SELECT tick, tick_ms FROM assay.clock),
      old AS (SELECT hash, age, objects FROM assay.content ORDER BY age LIMIT $1 FOR UPDATE SKIP LOCKED),
      used AS (
        SELECT p.hash, p.tick, p.size FROM assay.presence p JOIN old USING (hash) FOR UPDATE OF p SKIP LOCKED
      ),
      over AS (
        SELECT hash FROM (
          SELECT used.hash, sum(used.size) OVER (ORDER BY used.tick, used.hash) - used.size AS before
          FROM used JOIN old USING (hash), c
          WHERE used.tick <= old.age AND used.tick < c.tick - ${BLOB_LEASE_TICKS} AND used.tick < $3
        ) AS ordered WHERE before < $2
      ),
      moved AS (
        UPDATE assay.content k SET age = used.tick FROM used, old
        WHERE k.hash = used.hash AND old.hash = used.hash AND used.tick > old.age RETURNING k.hash
      ),
      gone AS (DELETE FROM assay.presence p USING over WHERE p.hash = over.hash RETURNING p.size),
      emptied AS (DELETE FROM assay.content k USING over WHERE k.hash = over.hash),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick
        FROM c, old JOIN over USING (hash), unnest(old.objects) AS n(name) WHERE o.name = n.name
      ),
      freed AS (SELECT count(*)::int AS count, coalesce(sum(size), 0)::int8 AS bytes FROM gone),
      counted AS (UPDATE assay.usage u SET bytes = u.bytes - freed.bytes FROM freed WHERE u.shard = 0)
    SELECT count, bytes, (SELECT count(*)::int FROM moved) AS moved,
      (SELECT ${UNUSED_MS} FROM c, used JOIN over USING (hash)) AS "unusedMs" FROM freed`,
};

export interface EvictedEntries {
  readonly results: number;
  readonly blobs: number;
  readonly bytes: number;
  /** How long the last of them had not been used. Absent if none was removed. */
  readonly unusedMs?: number;
}

interface Oldest {
  readonly blob: number | null;
  readonly result: number | null;
  readonly bytes: number | null;
}

interface Step {
  readonly count: number;
  readonly moved: number;
  readonly bytes: number;
  readonly unusedMs: number | null;
}

export class FleetEviction {
  readonly #queries: Queries;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  /** The bytes of all blobs. */
  async usedBytes(): Promise<number> {
    return (await this.#oldest()).bytes ?? 0;
  }

  async #oldest(): Promise<Oldest> {
    const [row] = await this.#queries.query<Oldest>(OLDEST);
    return row ?? { blob: null, result: null, bytes: null };
  }

  /** Undefined if the fleet holds no more than that, or everything is leased. */
  async stepTo(targetBytes: number): Promise<EvictedEntries | undefined> {
    const oldest = await this.#oldest();
    const wantedBytes = (oldest.bytes ?? 0) - targetBytes;
    return wantedBytes > 0 ? this.#step(oldest, wantedBytes) : undefined;
  }

  async #step({ blob, result }: Oldest, wantedBytes: number): Promise<EvictedEntries | undefined> {
    const isResult = result !== null && (blob === null || result <= blob + FRESH_TICKS);
    const [step] = isResult
      ? await this.#queries.query<Step>(RESULTS, [STORE.evictEntries])
      : await this.#queries.query<Step>(BLOBS, [
          STORE.evictEntries,
          wantedBytes,
          result === null ? Number.MAX_SAFE_INTEGER : result - FRESH_TICKS,
        ]);
    if (!step || step.count + step.moved === 0) return undefined;
    const age = step.unusedMs === null ? {} : { unusedMs: step.unusedMs };
    return isResult
      ? { results: step.count, blobs: 0, bytes: 0, ...age }
      : { results: 0, blobs: step.count, bytes: step.bytes, ...age };
  }
}
