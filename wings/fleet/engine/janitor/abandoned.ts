// What dead nodes and clients left: uploads that nobody continues, and objects whose upload nobody confirms.
// Their objects are condemned (deletions.ts). Ages are counted in ticks of the logical clock.
//
// If there are too many uploads, whoever has the most loses the oldest: a flood of uploads ends none of others.
import { STORE } from '../../../../store/limits.ts';
import { FLEET } from '../../limits.ts';
import type { Queries, Statement } from '../index/database.ts';
import type { FleetClock } from '../index/logical-clock.ts';
import { CONDEMNED, PART, UPLOADING } from '../index/object-rows.ts';

const drop = (name: string, old: string): Statement => ({
  name,
  text: `
    WITH old AS (${old} FOR UPDATE OF u SKIP LOCKED),
      parts AS (
        SELECT p.object FROM assay.upload_part p JOIN old USING (tenant, id) WHERE p.object IS NOT NULL
      ),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM parts, assay.clock c
        WHERE o.name = parts.object AND o.state = ${PART} RETURNING o.name
      ),
      dropped AS (DELETE FROM assay.upload u USING old WHERE u.tenant = old.tenant AND u.id = old.id RETURNING u.id)
    SELECT (SELECT count(*)::int FROM condemned) AS condemned, (SELECT count(*)::int FROM dropped) AS dropped`,
});
const UPLOADS = drop(
  'janitor uploads',
  `SELECT u.tenant, u.id FROM assay.upload u, assay.clock c
   WHERE u.tick < c.tick - $1::int8 ORDER BY u.tick LIMIT ${FLEET.janitorRows}`,
);
/** Without accounts there is no holder. */
const OWNER = 'u.tenant, coalesce(u.holder, 0)';
const SURPLUS = drop(
  'janitor surplus uploads',
  `SELECT u.tenant, u.id FROM assay.upload u
   WHERE (${OWNER}) = (SELECT ${OWNER} FROM assay.upload u GROUP BY 1, 2 ORDER BY count(*) DESC, 1, 2 LIMIT 1)
   ORDER BY u.tick LIMIT least($1::int, ${FLEET.janitorRows})`,
);

interface Dropped {
  readonly condemned: number;
  readonly dropped: number;
}

const OBJECTS: Statement = {
  name: 'janitor idle objects',
  text: `
    WITH old AS (
      SELECT o.name FROM assay.object o, assay.clock c
      WHERE o.state = ${UPLOADING} AND o.tick < c.tick - $1::int8
      LIMIT ${FLEET.janitorRows} FOR UPDATE OF o SKIP LOCKED
    )
    UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM old, assay.clock c
    WHERE o.name = old.name RETURNING o.name`,
};

/** Returns how many objects were condemned. */
export async function condemnAbandoned(queries: Queries, clock: FleetClock): Promise<number> {
  const [uploads] = await queries.query<Dropped>(UPLOADS, [clock.ticksFor(STORE.abandonedUploadMs)]);
  const idle = await queries.query(OBJECTS, [clock.ticksFor(FLEET.idleObjectMs)]);
  return (uploads?.condemned ?? 0) + idle.length;
}

/** Drops so many of those that have the most, and returns how many objects were condemned. */
export async function dropSurplus(queries: Queries, surplus: number): Promise<number> {
  let condemned = 0;
  for (let left = surplus; left > 0; ) {
    const [step] = await queries.query<Dropped>(SURPLUS, [left]);
    if (!step?.dropped) break;
    condemned += step.condemned;
    left -= step.dropped;
  }
  return condemned;
}
