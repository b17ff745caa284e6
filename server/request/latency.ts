// A histogram of durations with fixed buckets, each twice as wide as the one before.
// Adding a duration costs a few nanoseconds: the bucket is found by the position of the highest bit.

/** The first bucket ends at a quarter of a millisecond, the last but one at 8.192 s. */
const FIRST_MS = 0.25;
const BOUNDS = 16;

/** The upper bounds in milliseconds. What is larger is in one more bucket. */
export const LATENCY_BOUNDS: readonly number[] = Array.from(
  { length: BOUNDS },
  (_, at) => FIRST_MS * 2 ** at,
);

export function emptyLatency(): number[] {
  return new Array(BOUNDS + 1).fill(0);
}

export function bucketOf(milliseconds: number): number {
  /* Units of FIRST_MS, rounded up: 1 is in the first bucket, 2 in the second, 3 and 4 in the third. */
  const units = Math.ceil(milliseconds / FIRST_MS);
  return units <= 1 ? 0 : Math.min(BOUNDS, 32 - Math.clz32(units - 1));
}

/** The duration within which this share of all was answered, as a bucket's bound. Undefined if there is none. */
export function quantile(latency: readonly number[], share: number): number | undefined {
  const total = latency.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let seen = 0;
  const at = latency.findIndex((count) => {
    seen += count;
    return seen >= share * total;
  });
  return LATENCY_BOUNDS[at] ?? LATENCY_BOUNDS.at(-1);
}
