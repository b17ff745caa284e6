// Decides which of two results of one key a store serves. Without a reason the first one stays.
// A success takes the place of a failure: most clients ignore a failed result, and the key would never be a hit.
// A proven result takes the place of an unproven one: most runs refuse that, and the key would never be a hit.
//
// A result without evidence is another client's. It never gives way: evidence is a claim of whoever sends it.
import {
  decodeEvidence,
  type Evidence,
  evidenceStatusOf,
  isForUnwatchedRuns,
  lacksProof,
} from './evidence.ts';
import type { ActionResult } from './proto/generated/reapi.ts';

/** True if `second` is served from now on, though `first` was there before it. */
export function takesPrecedence(second: ActionResult, first: ActionResult): boolean {
  const [failed, fails] = [first.exitCode !== 0, second.exitCode !== 0];
  if (failed !== fails) return failed;
  const [before, after] = [evidenceIn(first), evidenceIn(second)];
  return before !== undefined && after !== undefined && proofRank(after) > proofRank(before);
}

function proofRank(evidence: Evidence): number {
  if (!lacksProof(evidenceStatusOf(evidence))) return 2;
  return isForUnwatchedRuns(evidence) ? 0 : 1;
}

function evidenceIn({ executionMetadata }: ActionResult): Evidence | undefined {
  try {
    return decodeEvidence(executionMetadata?.auxiliaryMetadata ?? []);
  } catch {
    return undefined;
  }
}
