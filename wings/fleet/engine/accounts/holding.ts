// Gives blobs a holder: the statement, and the change of the counts that it makes.
// Guarantee: a blob that is present has the holder when `hold` resolves, and is counted once, for its new list.
import type { Hash } from '../../../../core/digest.ts';
import { hashArray, type Queries, type Statement } from '../index/database.ts';
import {
  blobInIndex,
  HOLDERS_BELOW,
  holdersIn,
  inBucket,
  lacksHolder,
  takenOut,
} from '../index/held-bytes.ts';
import type { HolderNumbers } from './accounts.ts';

/** `$2` the holder, `$3` the rest. A list without a holder is the rest's, which stays in it. */
const HOLD: Statement = {
  name: 'holder add',
  text: `
    WITH old AS (
        SELECT p.hash, p.tenants, k.age AS was, ${inBucket('k')} AS bucket, ${blobInIndex('k')} AS index
        FROM assay.presence p JOIN assay.content k ON k.hash = p.hash
        WHERE p.hash = ANY ($1::bytea[]) AND ${lacksHolder('p.tenants', '$2::int', '$3::int')}
        ORDER BY p.hash FOR UPDATE OF p, k
      ),
      given AS (
        SELECT hash, was, bucket, index, tenants, tenants
          || CASE WHEN ${HOLDERS_BELOW} > ANY (tenants) THEN ARRAY[$2::int] ELSE ARRAY[$3::int, $2::int] END AS more
        FROM old
      ),
      changed AS (UPDATE assay.presence p SET tenants = given.more FROM given WHERE p.hash = given.hash),
      left_behind AS (
        SELECT bucket, index, was, NULL::int8 AS stays, ${holdersIn('tenants')} AS holders FROM given
        UNION ALL
        SELECT -bucket, -index, was, NULL::int8, ${holdersIn('more')} FROM given
      ),
      uncounted AS (${takenOut('left_behind')})
    SELECT hash FROM given`,
};

export async function hold(queries: Queries, hashes: readonly Hash[], numbers: HolderNumbers): Promise<void> {
  if (hashes.length > 0) await queries.query(HOLD, [hashArray(hashes), numbers.own, numbers.rest]);
}
