// What dead nodes and clients left: uploads that nobody continues, and objects whose upload nobody confirms.
// Their objects are condemned (deletions.ts). Ages are counted in ticks of the logical clock.
import { STORE } from '../../../../store/limits.ts';
import { FLEET } from '../../limits.ts';
import type { Queries, Statement } from '../index/database.ts';
import type { LogicalClock } from '../index/logical-clock.ts';
import { CONDEMNED, PART, UPLOADING } from '../index/object-rows.ts';

const UPLOADS: Statement = {
  name: 'janitor uploads',
  text: `
    WITH old AS (
        SELECT u.tenant, u.id FROM assay.upload u, assay.clock c
        WHERE u.tick < c.tick - $1::int8 ORDER BY u.tick LIMIT ${FLEET.janitorRows} FOR UPDATE OF u SKIP LOCKED
      ),
      parts AS (
        SELECT p.object FROM assay.upload_part p JOIN old USING (tenant, id) WHERE p.object IS NOT NULL
      ),
      condemned AS (
        UPDATE assay.object o SET state = ${CONDEMNED}, tick = c.tick FROM parts, assay.clock c
        WHERE o.name = parts.object AND o.state = ${PART} RETURNING o.name
      ),
      dropped AS (DELETE FROM assay.upload u USING old WHERE u.tenant = old.tenant AND u.id = old.id)
    SELECT name FROM condemned`,
};

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
export async function condemnAbandoned(queries: Queries, clock: LogicalClock): Promise<number> {
  const parts = await queries.query(UPLOADS, [clock.ticksFor(STORE.abandonedUploadMs)]);
  const idle = await queries.query(OBJECTS, [clock.ticksFor(FLEET.idleObjectMs)]);
  return parts.length + idle.length;
}
