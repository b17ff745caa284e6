// The count of what a fleet holds. No write of an entry counts it: the janitor reads what was added since.
//
// Invariants:
// K1 The sums of a pass have each entry whose age is at most the `tick` of the pass, once. An entry that is removed, or
//    gets a later age, is taken out by the statement that does that (held-bytes.ts). That statement locks the row of
//    the pass for its duration, and the count locks it before it looks. So an entry is counted or taken out, not both.
// K2 A tick is counted when no statement can add to it any more: a statement lasts at most STORE.indexAnswerMs.
// K3 The entries of later ticks are few. They are added up each time.
// K4 Once a day a second pass counts everything again and takes the place of the first. It mends what older versions or
//    a person removed, and a commit that waited long for a standby.
import { STORE } from '../../limits.ts';
import type { Queries, Statement } from '../index/database.ts';
import { blobInIndex, inBucket, resultInIndex } from '../index/held-bytes.ts';
import type { LogicalClock } from '../index/logical-clock.ts';
import type { HeldBytes } from '../space.ts';
import type { Mandate } from './election.ts';

const LOCK: Statement = {
  name: 'count lock',
  text: 'SELECT tick FROM assay.held WHERE pass = $1 FOR UPDATE',
};

/** `$2`: the ticks that are not over. `$3`: about how many rows are added up at once. */
const BOUND: Statement = {
  name: 'count bound',
  text: `
    SELECT tick - $2::int8 AS over, least(tick - $2::int8,
      (SELECT age FROM assay.content WHERE age > $1 ORDER BY age OFFSET $3 LIMIT 1),
      (SELECT age FROM assay.result WHERE age > $1 ORDER BY age OFFSET $3 LIMIT 1)) AS tick
    FROM assay.clock`,
};

const SUMS = `
  SELECT coalesce(sum(${inBucket('k')}), 0)::int8 AS bucket, coalesce(sum(${blobInIndex('k')}), 0)::int8 AS index
  FROM assay.content k WHERE k.age > $1 AND k.age <= $2`;
const RESULT_SUM = `
  SELECT coalesce(sum(${resultInIndex('r')}), 0)::int8 AS index
  FROM assay.result r WHERE r.age > $1 AND r.age <= $2`;

const ADD: Statement = {
  name: 'count add',
  text: `
    WITH b AS (${SUMS}), r AS (${RESULT_SUM})
    UPDATE assay.held h SET tick = $2, bucket = h.bucket + b.bucket, index = h.index + b.index + r.index
    FROM b, r WHERE h.pass = $3`,
};

const FOLD: Statement = {
  name: 'count fold',
  text: `
    WITH gone AS (DELETE FROM assay.uncounted WHERE pass = $1 RETURNING bucket, index)
    UPDATE assay.held h SET bucket = h.bucket - g.bucket, index = h.index - g.index
    FROM (SELECT sum(bucket)::int8 AS bucket, sum(index)::int8 AS index FROM gone HAVING count(*) > 0) g
    WHERE h.pass = $1`,
};

/** What is counted, and what was added in the ticks that are not over. */
const HELD: Statement = {
  name: 'count held',
  text: `
    WITH b AS (${SUMS}), r AS (${RESULT_SUM}),
      out AS (
        SELECT coalesce(sum(bucket), 0)::int8 AS bucket, coalesce(sum(index), 0)::int8 AS index
        FROM assay.uncounted WHERE pass = 0
      )
    SELECT h.bucket + b.bucket - out.bucket + (SELECT coalesce(sum(committed), 0)::int8 FROM assay.upload) AS bucket,
      h.index + b.index + r.index - out.index + (SELECT sum(label_bytes)::int8 FROM assay.usage) AS index
    FROM b, r, out, assay.held h WHERE h.pass = 0`,
};

const BEGIN: Statement = {
  name: 'count begin',
  text: 'INSERT INTO assay.held VALUES ($1, -1, 0, 0) ON CONFLICT DO NOTHING',
};

const REPLACE: Statement = {
  name: 'count replace',
  text: `
    WITH anew AS (DELETE FROM assay.held WHERE pass = 1 RETURNING tick, bucket, index),
      others AS (DELETE FROM assay.uncounted)
    UPDATE assay.held h SET tick = anew.tick, bucket = anew.bucket, index = anew.index FROM anew WHERE h.pass = 0`,
};

interface Bound {
  readonly tick: number;
  /** The last tick that no statement adds to. */
  readonly over: number;
}

/** The count in use, and the one that is made anew. */
const IN_USE = 0;
const ANEW = 1;
const LAST_TICK = Number.MAX_SAFE_INTEGER;

export class FleetCount {
  readonly #clock: LogicalClock;
  readonly #now: () => number;
  #countedAnewAt: number;

  constructor(clock: LogicalClock, now: () => number) {
    this.#clock = clock;
    this.#now = now;
    this.#countedAnewAt = now();
  }

  /** What the fleet holds now. Counts what was added since the last call. */
  async held(mandate: Mandate): Promise<HeldBytes> {
    let tick = -1;
    for (let isBehind = true; isBehind; ) ({ tick, isBehind } = await this.#advance(mandate, IN_USE));
    return this.#read(mandate, tick);
  }

  async #read(queries: Queries, tick: number): Promise<HeldBytes> {
    const [held] = await queries.query<HeldBytes>(HELD, [tick, LAST_TICK]);
    return { bucket: held?.bucket ?? 0, index: held?.index ?? 0 };
  }

  /** One step of the count of a day. */
  async countAnew(mandate: Mandate): Promise<void> {
    const isDue = this.#now() - this.#countedAnewAt >= STORE.countAnewMs;
    if (!isDue) return;
    await mandate.query(BEGIN, [ANEW]);
    const { isBehind } = await this.#advance(mandate, ANEW);
    if (isBehind) return;
    await mandate.transaction(async (queries) => {
      for (const pass of [IN_USE, ANEW]) await queries.query(LOCK, [pass]);
      await queries.query(FOLD, [ANEW]);
      await queries.query(REPLACE);
    });
    this.#countedAnewAt = this.#now();
  }

  async #advance(mandate: Mandate, pass: number): Promise<{ tick: number; isBehind: boolean }> {
    return mandate.transaction(async (queries) => {
      const [counted] = await queries.query<{ tick: number }>(LOCK, [pass]);
      const from = counted?.tick ?? -1;
      const open = this.#clock.ticksFor(STORE.indexAnswerMs);
      const [bound] = await queries.query<Bound>(BOUND, [from, open, STORE.countedRows]);
      await queries.query(FOLD, [pass]);
      const to = bound?.tick ?? from;
      if (to <= from) return { tick: from, isBehind: false };
      await queries.query(ADD, [from, to, pass]);
      return { tick: to, isBehind: to < (bound?.over ?? to) };
    });
  }
}
