// Finds a rival of a new result: a stored result with other outputs whose path set holds now.
// The two runs saw the same files and made different outputs. So the action is not deterministic, also if the
// two runs looked at different paths.
import type { Hash } from '../../core/digest.ts';
import { takesPrecedence } from '../../core/precedence.ts';
import { decodeResult, deterministicPart } from '../../core/result.ts';
import { OBSERVED } from '../limits.ts';
import type { Candidate } from './path-sets.ts';

/** `read`: the result of a candidate that came without it. */
export async function hasRival(
  own: { readonly key: Hash; readonly result: Uint8Array },
  found: AsyncIterable<Candidate>,
  read: (candidate: Candidate) => Promise<Uint8Array | undefined>,
): Promise<boolean> {
  let compared = 0;
  for await (const candidate of found) {
    // A result without a path set may depend on anything. The store compares the results of one key itself.
    if (!candidate.set || candidate.key.hash === own.key) continue;
    const other = candidate.result ?? (await read(candidate));
    if (other && isRival(own.result, other)) return true;
    if (++compared === OBSERVED.comparedResults) return false;
  }
  return false;
}

/** The store lets the same results give way. */
function isRival(own: Uint8Array, other: Uint8Array): boolean {
  const [mine, theirs] = [decodeResult(own), decodeResult(other)];
  if (takesPrecedence(mine, theirs)) return false;
  return Buffer.compare(deterministicPart(mine), deterministicPart(theirs)) !== 0;
}
