// The count of what a fleet holds. No write of an entry counts it: the janitor reads what was added since.
//
// Invariants:
// K1 The sums of a pass have each entry whose age is at most the `tick` of the pass, once. An entry that is removed, or
//    gets a later age, is taken out by the statement that does that (held-bytes.ts). That statement locks the row of
//    the pass for its duration, and the count locks it before it looks. So an entry is counted or taken out, not both.
// K2 A tick is counted when no statement can add to it any more: a statement lasts at most FLEET.indexAnswerMs.
// K3 The entries of later ticks are few. They are added up each time.
// K4 With accounts, the sums are also kept by list of holders (../accounts/accounts.ts), by the same rules. A change of a
//    list is an entry that is taken out of one list and into another.
// K5 Once a day a second pass counts everything again and takes the place of the first. It mends what older versions or
//    a person removed, and a commit that waited long for a standby. New accounts are counted at once, in the background.
import { FLEET } from '../../limits.ts';
import type { FleetAccounts, HeldByList } from '../accounts/accounts.ts';
import { HolderWalk } from '../accounts/walk.ts';
import type { Queries, Statement } from '../index/database.ts';
import { blobInIndex, holdersIn, holdersOfResult, inBucket, resultInIndex } from '../index/held-bytes.ts';
import type { FleetClock } from '../index/logical-clock.ts';
import type { HeldBytes } from '../space.ts';
import type { Mandate } from './election.ts';

const LOCK: Statement = {
  name: 'count lock',
  text: 'SELECT tick, holders FROM assay.held WHERE pass = $1 FOR UPDATE',
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

/** Of each list of holders. */
const SUMS_BY = `
  SELECT holders, sum(bucket)::int8 AS bucket, sum(index)::int8 AS index FROM (
    SELECT ${holdersIn('p.tenants')} AS holders, ${inBucket('k')} AS bucket, ${blobInIndex('k')} AS index
    FROM assay.content k JOIN assay.presence p ON p.hash = k.hash WHERE k.age > $1 AND k.age <= $2
    UNION ALL
    SELECT ${holdersOfResult('r')}, 0, ${resultInIndex('r')}
    FROM assay.result r WHERE r.age > $1 AND r.age <= $2 AND r.holder IS NOT NULL
  ) AS one WHERE holders <> '{}' GROUP BY holders`;
const ADDED_BY = `
  ON CONFLICT (pass, holders) DO UPDATE SET bucket = h.bucket + excluded.bucket, index = h.index + excluded.index`;

const ADD_BY: Statement = {
  name: 'count add by holders',
  text: `
    INSERT INTO assay.held_by AS h (pass, holders, bucket, index)
    SELECT $3::int2, s.holders, s.bucket, s.index FROM (${SUMS_BY}) AS s ${ADDED_BY}`,
};

const FOLD: Statement = {
  name: 'count fold',
  text: `
    WITH gone AS (DELETE FROM assay.uncounted WHERE pass = $1 RETURNING bucket, index, holders),
      by AS (
        INSERT INTO assay.held_by AS h (pass, holders, bucket, index)
        SELECT $1, holders, -sum(bucket), -sum(index) FROM gone WHERE holders <> '{}' GROUP BY holders ${ADDED_BY}
      )
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

/** The same of each list of holders. */
const HELD_BY: Statement = {
  name: 'count held by holders',
  text: `
    SELECT holders, sum(bucket)::int8 AS bucket, sum(index)::int8 AS index FROM (
      SELECT holders, bucket, index FROM assay.held_by WHERE pass = 0
      UNION ALL SELECT holders, -bucket, -index FROM assay.uncounted WHERE pass = 0 AND holders <> '{}'
      UNION ALL SELECT ARRAY[holder], 0, sum(bytes)::int8 FROM assay.label_held GROUP BY holder
      UNION ALL
      SELECT ARRAY[holder], sum(committed)::int8, 0 FROM assay.upload WHERE holder IS NOT NULL GROUP BY holder
      UNION ALL ${SUMS_BY}
    ) AS part GROUP BY holders`,
};

const HOLDERS: Statement = { name: 'count holders', text: 'SELECT holders FROM assay.held WHERE pass = 0' };

/** A count for other holders begins anew. */
const DROP_OTHER: Statement = {
  name: 'count drop other',
  text: `
    WITH other AS (DELETE FROM assay.held WHERE pass = $1 AND holders <> $2::int[] RETURNING pass),
      theirs AS (DELETE FROM assay.held_by b USING other WHERE b.pass = other.pass)
    DELETE FROM assay.uncounted u USING other WHERE u.pass = other.pass`,
};
const BEGIN: Statement = {
  name: 'count begin',
  text: `
    INSERT INTO assay.held (pass, tick, bucket, index, holders) VALUES ($1, -1, 0, 0, $2::int[])
    ON CONFLICT DO NOTHING`,
};

const REPLACE: Statement = {
  name: 'count replace',
  text: `
    WITH anew AS (DELETE FROM assay.held WHERE pass = 1 RETURNING tick, bucket, index, holders),
      others AS (DELETE FROM assay.uncounted)
    UPDATE assay.held h SET tick = anew.tick, bucket = anew.bucket, index = anew.index, holders = anew.holders
    FROM anew WHERE h.pass = 0`,
};
const DROP_BY: Statement = { name: 'count drop', text: 'DELETE FROM assay.held_by WHERE pass = 0' };
const MOVE_BY: Statement = { name: 'count move', text: 'UPDATE assay.held_by SET pass = 0 WHERE pass = 1' };

interface Bound {
  readonly tick: number;
  /** The last tick that no statement adds to. */
  readonly over: number;
}

/** The count in use, and the one that is made anew. */
const IN_USE = 0;
const ANEW = 1;
const LAST_TICK = Number.MAX_SAFE_INTEGER;

/** What the fleet holds, and the holders of each list, if it is known. */
export interface Held extends HeldBytes {
  readonly byList: readonly HeldByList[] | undefined;
}

export class FleetCount {
  readonly #clock: FleetClock;
  readonly #accounts: FleetAccounts;
  readonly #now: () => number;
  #countedAnewAt: number;
  /** Before each count of a day, and before the first one of new accounts. */
  #walk: HolderWalk | undefined;

  constructor(clock: FleetClock, accounts: FleetAccounts, now: () => number) {
    this.#clock = clock;
    this.#accounts = accounts;
    this.#now = now;
    this.#countedAnewAt = now();
  }

  /** What the fleet holds now. Counts what was added since the last call. */
  async held(mandate: Mandate): Promise<Held> {
    let tick = -1;
    for (let isBehind = true; isBehind; ) ({ tick, isBehind } = await this.#advance(mandate, IN_USE));
    const [held] = await mandate.query<HeldBytes>(HELD, [tick, LAST_TICK]);
    const isKnown = !this.#accounts.isEmpty && (await this.#countsHolders(mandate));
    const byList = isKnown ? await mandate.query<HeldByList>(HELD_BY, [tick, LAST_TICK]) : undefined;
    return { bucket: held?.bucket ?? 0, index: held?.index ?? 0, byList };
  }

  /** Whether the count in use has those of these settings. */
  async #countsHolders(queries: Queries): Promise<boolean> {
    const numbers = await this.#accounts.numbers();
    const [counted] = await queries.query<{ holders: number[] }>(HOLDERS);
    return numbers.join() === counted?.holders.join();
  }

  /** Some steps of the count of a day, or more of the first count of new accounts. */
  async countAnew(mandate: Mandate): Promise<void> {
    const began = this.#now();
    const isNew = !this.#accounts.isEmpty && !(await this.#countsHolders(mandate));
    const isDue = isNew || began - this.#countedAnewAt >= FLEET.countAnewMs;
    if (!isDue) return;
    const mostMs = FLEET.figuresMs / (isNew ? 2 : 10);
    while (!(await this.#countStep(mandate))) if (this.#now() - began >= mostMs) return;
    this.#countedAnewAt = this.#now();
  }

  /** True when all is counted. */
  async #countStep(mandate: Mandate): Promise<boolean> {
    if (!this.#accounts.isEmpty) {
      this.#walk ??= new HolderWalk(this.#accounts);
      if (await this.#walk.step(mandate)) return false;
    }
    const numbers = await this.#accounts.numbers();
    await mandate.query(DROP_OTHER, [ANEW, numbers]);
    await mandate.query(BEGIN, [ANEW, numbers]);
    if ((await this.#advance(mandate, ANEW)).isBehind) return false;
    await mandate.transaction(async (queries) => {
      for (const pass of [IN_USE, ANEW]) await queries.query(LOCK, [pass]);
      await queries.query(FOLD, [ANEW]);
      await queries.query(REPLACE);
      await queries.query(DROP_BY);
      await queries.query(MOVE_BY);
    });
    this.#walk = undefined;
    return true;
  }

  async #advance(mandate: Mandate, pass: number): Promise<{ tick: number; isBehind: boolean }> {
    return mandate.transaction(async (queries) => {
      const [counted] = await queries.query<{ tick: number; holders: number[] }>(LOCK, [pass]);
      const from = counted?.tick ?? -1;
      const open = this.#clock.ticksFor(FLEET.indexAnswerMs);
      const [bound] = await queries.query<Bound>(BOUND, [from, open, FLEET.countedRows]);
      await queries.query(FOLD, [pass]);
      const to = bound?.tick ?? from;
      if (to <= from) return { tick: from, isBehind: false };
      await queries.query(ADD, [from, to, pass]);
      if (counted && counted.holders.length > 0) await queries.query(ADD_BY, [from, to, pass]);
      return { tick: to, isBehind: to < (bound?.over ?? to) };
    });
  }
}
