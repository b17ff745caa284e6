// A histogram of durations from a millisecond to a month, and its quantiles.
// Each bucket is a twelfth wider than the one before, so a quantile is right to 4 %.

/** Buckets of a power of two. */
const FINENESS = 9;
const LAST = 32 * FINENESS;

/** How many durations each bucket has. Buckets without one are not there. */
export type DurationBuckets = Map<number, number>;

export function durationBucketOf(milliseconds: number): number {
  return Math.max(0, Math.min(LAST, Math.round(Math.log2(Math.max(1, milliseconds)) * FINENESS)));
}

export function addDuration(durations: DurationBuckets, bucket: number, times: number): void {
  const sum = (durations.get(bucket) ?? 0) + times;
  if (sum > 0) durations.set(bucket, sum);
  else durations.delete(bucket);
}

/** The duration within which this share of them lies, in whole milliseconds. Undefined if there is none. */
export function durationQuantile(durations: DurationBuckets, share: number): number | undefined {
  const total = durations.values().reduce((sum, times) => sum + times, 0);
  let seen = 0;
  for (const [bucket, times] of [...durations].sort(([a], [b]) => a - b)) {
    seen += times;
    if (seen >= share * total) return Math.round(2 ** (bucket / FINENESS));
  }
  return undefined;
}
