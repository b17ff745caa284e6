// Explains misses that the client could not explain, because its machine had no history: a fresh CI job.
// The server compares the action with the one that the same step had in the run before.
// It works after the report was answered, and within a bound: an unexplained miss stays as it was reported.
import { type Hash, isHash } from '../../../core/digest.ts';
import type { MissCause } from '../../../core/metadata/run-report-schema.ts';
import { differences, type KeyDifference } from '../../../store/actions/difference.ts';
import { causeOfMiss, missBy } from '../../../store/actions/miss.ts';
import { missText } from '../../../store/actions/miss-text.ts';
import type { Blobs } from '../../../store/store.ts';
import { DASHBOARD } from '../limits.ts';

/** The client knows no earlier action of the step. */
export function isUnexplained({ kind }: MissCause): boolean {
  return kind === 'first-run' || kind === 'unknown';
}

/** Undefined if one of the actions is not stored, they are equal, or comparing them takes too many blobs. */
export async function explainMiss(
  before: string,
  after: string,
  blobs: Blobs,
): Promise<{ readonly cause: MissCause; readonly why: string } | undefined> {
  if (!isHash(before) || !isHash(after) || before === after) return undefined;
  const found = await differencesWithin(before, after, blobs);
  const miss = missBy(found);
  return miss && { cause: causeOfMiss(miss), why: missText(miss) };
}

/** Empty if an action is gone. */
export async function differencesWithin(before: Hash, after: Hash, blobs: Blobs): Promise<KeyDifference[]> {
  try {
    return await differences(before, after, bounded(blobs));
  } catch {
    return [];
  }
}

/** The same blobs, for a bounded number of small ones. */
function bounded(blobs: Blobs): Blobs {
  let left: number = DASHBOARD.comparedBlobs;
  return {
    ...blobs,
    missing: (digests) => blobs.missing(digests),
    put: (expected, content) => blobs.put(expected, content),
    touch: (hashes) => blobs.touch(hashes),
    async get(hash) {
      if (left-- <= 0) throw new RangeError('comparing these actions takes too many blobs');
      const blob = await blobs.get(hash);
      if (blob && blob.size > DASHBOARD.comparedBlobBytes) throw new RangeError('a blob is too large');
      return blob;
    },
  };
}
