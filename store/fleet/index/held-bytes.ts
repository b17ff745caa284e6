// What entries take: bytes in the bucket, and bytes in PostgreSQL. SQL expressions over the rows of an entry.
// A row counts with its content and a fixed number for the row itself and its indexes.

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

/**
 * Takes entries out of the counts that have them (count.ts). `left`: their rows, with `was`, their age until now, and
 * `stays`, their new age or null. The row of the count is locked: a count can't pass the entry meanwhile.
 */
export const takenOut = (left: string) => `
  INSERT INTO assay.uncounted (pass, bucket, index)
  SELECT k.pass, sum(x.bucket), sum(x.index)
  FROM (SELECT pass, tick FROM assay.held FOR KEY SHARE) k, ${left} x
  WHERE x.was <= k.tick AND (x.stays IS NULL OR x.stays > k.tick) GROUP BY k.pass`;
