// The path sets that a remote lists in one answer, and the results that they lead to: the predicted one, which
// came with the list, or those of a second answer.
//
// The list is untrusted. A malformed set, and one that is too large, is skipped. The caller checks which
// paths may be looked at (foreign-states.ts), and the time for that is bounded.
import { type Digest, digestOf, type Hash } from '../../core/digest.ts';
import { decodePathSet, type PathSet, resultKey, type StateOf } from '../../core/path-set.ts';
import { OBSERVED } from '../limits.ts';
import type { PredictedResult, RemoteLists } from '../remote/remote.ts';
import type { Admits, Candidate } from './path-sets.ts';

interface ListedSet {
  /** Of the encoded set. */
  readonly hash: Hash;
  readonly set: PathSet;
}

interface List {
  readonly sets: readonly ListedSet[];
  readonly isMiss: boolean;
  readonly predicted?: PredictedResult | undefined;
}

/** Undefined if the remote keeps no lists. */
export async function readList(key: Hash, remote: RemoteLists): Promise<List | undefined> {
  const list = await remote.listPathSets(key);
  return list && { ...list, sets: list.sets.flatMap((bytes) => decodeListed(bytes) ?? []) };
}

function decodeListed(bytes: Uint8Array): ListedSet | undefined {
  if (bytes.length > OBSERVED.maxForeignSetBytes) return undefined;
  try {
    return { hash: digestOf(bytes).hash, set: decodePathSet(bytes) };
  } catch {
    return undefined;
  }
}

/**
 * The results that the remote has, in the order of the list. The prediction is the first of them if its key is
 * the one that the current states lead to; otherwise one request finds the first.
 */
export async function* listedCandidates(
  key: Hash,
  { sets, predicted }: List,
  remote: RemoteLists,
  stateOf: StateOf,
  admits: Admits,
): AsyncGenerator<Candidate> {
  const { wanted, failure } = resultsOf(key, sets, stateOf, admits);
  let rest = wanted;
  const [first] = wanted;
  const isRight = predicted !== undefined && first?.result.hash === predicted.key;
  if (isRight) {
    yield { key: first.result, set: first.set, result: predicted.use() };
    rest = rest.filter(({ result }) => result.hash !== predicted.key);
  }
  for (let isWrong = predicted !== undefined && !isRight; rest.length > 0; isWrong = false) {
    const asked = rest.map(({ hash, result }) => ({ set: hash, result: result.hash }));
    const found = await remote.findResult(key, asked, isWrong);
    if (!found) break;
    const at = rest.findIndex(({ result }) => result.hash === found.key);
    const hit = rest[at];
    if (hit) yield { key: hit.result, set: hit.set, result: found.result };
    rest = rest.slice(at + 1).filter(({ result }) => result.hash !== found.key);
  }
  if (failure) throw failure.reason;
}

interface WantedResult extends ListedSet {
  readonly result: Digest;
}

/** The keys of the results. If a state cannot be found in time, the sets before it are still asked for. */
function resultsOf(
  key: Hash,
  listed: readonly ListedSet[],
  stateOf: StateOf,
  admits: Admits,
): { wanted: WantedResult[]; failure?: { readonly reason: unknown } } {
  const wanted: WantedResult[] = [];
  for (const one of listed) {
    try {
      if (admits(one.set)) wanted.push({ ...one, result: resultKey(key, one.set, stateOf) });
    } catch (reason) {
      return { wanted, failure: { reason } };
    }
  }
  return { wanted };
}
