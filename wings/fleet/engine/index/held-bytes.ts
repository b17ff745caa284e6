// What entries take: bytes in the bucket, and bytes in PostgreSQL. SQL expressions over the rows of an entry.
// A row counts with its content and a fixed number for the row itself and its indexes.

/** In a list of tenants, a number below this is that of a holder (../accounts/accounts.ts). */
export const HOLDERS_BELOW = -1;

/** Of a row of `content`: its objects. */
export const inBucket = (row: string) =>
  `coalesce((SELECT sum(l) FROM unnest(${row}.lengths) AS l), 0)::int8`;

/** Of a row of `content`, with that of `presence`. */
export const blobInIndex = (row: string) =>
  `(coalesce(octet_length(${row}.bytes), 0) + octet_length(${row}.checksums) + 500)::int8`;

/** Of a row of `result`, with that of `result_use`. */
export const resultInIndex = (row: string) =>
  `(octet_length(${row}.bytes) + 48 * cardinality(${row}.hashes) + 400)::int8`;

/** Of a row of `label`. */
export const labelInIndex = (row: string) =>
  `(octet_length(${row}.label) + octet_length(${row}.namespace) + 200)::int8`;

/** The holders in a list of tenants: those of accounts (../accounts/accounts.ts), in order. */
export const holdersIn = (tenants: string) =>
  `ARRAY(SELECT n FROM unnest(${tenants}) AS n WHERE n < ${HOLDERS_BELOW} ORDER BY n)`;

/** Of a row of `result`. */
export const holdersOfResult = (row: string) =>
  `CASE WHEN ${row}.holder IS NULL THEN '{}'::int[] ELSE ARRAY[${row}.holder] END`;

/** Adds `bytes` of the labels in `rows`, each with its `holder` or null, to those of the holder. */
export const labelsHeld = (rows: string, shard: string) => `
  INSERT INTO assay.label_held AS h (holder, shard, bytes)
  SELECT holder, ${shard}, sum(bytes) FROM ${rows} WHERE holder IS NOT NULL GROUP BY holder
  ON CONFLICT (holder, shard) DO UPDATE SET bytes = h.bytes + excluded.bytes`;

/** Whether a list lacks a holder. A list without one is the rest's. */
export const lacksHolder = (tenants: string, own: string, rest: string) =>
  `(NOT ${own} = ANY (${tenants}) AND (${own} <> ${rest} OR ${HOLDERS_BELOW} > ANY (${tenants})))`;

/**
 * Takes entries out of the counts that have them (count.ts). `left`: their rows, with `was`, their age until now,
 * `stays`, their new age or null, and `holders`. The row of the count is locked: a count can't pass the entry meanwhile.
 */
export const takenOut = (left: string) => `
  INSERT INTO assay.uncounted (pass, bucket, index, holders)
  SELECT k.pass, sum(x.bucket), sum(x.index), x.holders
  FROM (SELECT pass, tick FROM assay.held FOR KEY SHARE) k, ${left} x
  WHERE x.was <= k.tick AND (x.stays IS NULL OR x.stays > k.tick) GROUP BY k.pass, x.holders`;
