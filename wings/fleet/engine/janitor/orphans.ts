// Orphans: objects in the bucket that no row names, because PostgreSQL has forgotten the row, or a late PUT came after the
// deletion. One page of the bucket's listing a round looks for them.
//
// Invariants:
// P1 An object is an orphan only if it is a day old by the bucket's own clock, no row names it, and its name has the tag of
//    this epoch (ownership.ts, O5).
// P2 A pass only records orphans, as rows. At its end they are condemned together, and then deleted as all others are.
// P3 If they are more than FLEET.maxOrphans and more than FLEET.maxOrphanShare of the objects that were listed, none is
//    condemned: such a number means that rows are lost. `assay db adopt --delete-orphans` goes on.
// P4 How far a pass has come is in PostgreSQL, so that the node that is elected next goes on there.
import type { OnStoreEvent } from '../../../../store/events.ts';
import { FLEET } from '../../limits.ts';
import type { Bucket } from '../bucket.ts';
import type { Queries, Statement } from '../index/database.ts';
import { CONDEMNED, ORPHAN } from '../index/object-rows.ts';
import { UUID } from '../ownership/object-names.ts';
import type { DeletionRight } from '../ownership/ownership.ts';

const POSITION: Statement = {
  name: 'orphans position',
  text: 'SELECT listed_to AS "after", listed FROM assay.fleet',
};

const RECORD: Statement = {
  name: 'orphans record',
  text: `
    WITH moved AS (UPDATE assay.fleet SET listed_to = $2, listed = $3)
    INSERT INTO assay.object (name, state, tick)
    SELECT name, ${ORPHAN}, (SELECT tick FROM assay.clock) FROM unnest($1::uuid[]) AS listed(name)
    WHERE NOT EXISTS (SELECT FROM assay.canary k WHERE k.name = listed.name)
    ON CONFLICT DO NOTHING`,
};

const COUNT: Statement = {
  name: 'orphans count',
  text: `SELECT count(*) AS count FROM assay.object WHERE state = ${ORPHAN}`,
};

const CONDEMN: Statement = {
  name: 'orphans condemn',
  text: `
    WITH settled AS (UPDATE assay.fleet SET orphans = NULL)
    UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM assay.clock c
    WHERE o.state = ${ORPHAN} RETURNING o.name`,
};

const STOP: Statement = { name: 'orphans stop', text: 'UPDATE assay.fleet SET orphans = $1' };

export class Orphans {
  readonly #bucket: Bucket;
  readonly #onEvent: OnStoreEvent;

  constructor(bucket: Bucket, onEvent: OnStoreEvent) {
    this.#bucket = bucket;
    this.#onEvent = onEvent;
  }

  /** One page. Returns how many orphans were condemned: all of a pass, at its end. */
  async look(queries: Queries, right: DeletionRight): Promise<number> {
    const bucket = this.#bucket;
    if (bucket.isAway) return 0;
    const [position] = await queries.query<{ after: string | null; listed: number }>(POSITION);
    if (!position) return 0;
    if (position.after === null) {
      await right.confirm();
      await bucket.attempt((objects) => objects.abortUploads(FLEET.orphanMs, right.isOwnName));
    }
    const page = await bucket.attempt((objects) => objects.list(position.after ?? undefined));
    const old = page.objects.filter(({ name, ageMs }) => ageMs >= FLEET.orphanMs && right.isOwnName(name));
    const names = old.map(({ name }) => name);
    const listed = position.listed + page.objects.filter(({ name }) => UUID.test(name)).length;
    const isLast = page.after === undefined;
    await queries.query(RECORD, [names, page.after ?? null, isLast ? 0 : listed]);
    return isLast ? this.#settle(queries, listed) : 0;
  }

  /** The end of a pass. */
  async #settle(queries: Queries, listed: number): Promise<number> {
    const [row] = await queries.query<{ count: number }>(COUNT);
    const orphans = row?.count ?? 0;
    if (orphans <= FLEET.maxOrphans || orphans <= listed * FLEET.maxOrphanShare)
      return (await queries.query(CONDEMN)).length;
    await queries.query(STOP, [orphans]);
    this.#onEvent({
      type: 'too-many-orphans',
      orphans,
      listed,
      detail: `No orphan is deleted: ${orphans} of ${listed} objects have no row. If rows were lost, restore them. If nobody needs these objects, run \`assay db adopt --delete-orphans\``,
    });
    return 0;
  }
}
