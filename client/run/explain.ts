// Explains a miss: finds the closest earlier action and describes what differs from it.

import { digestOf, type Hash } from '../../core/digest.ts';
import type { MissCause } from '../../core/metadata/run-report.ts';
import { type Difference, differences } from '../../store/actions/difference.ts';
import { missCauseOf } from '../../store/actions/miss-cause.ts';
import { sentenceOfAll } from '../../store/actions/sentence.ts';
import type { BlobReader, Store } from '../../store/store.ts';
import type { RunRequest } from '../action/request.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { differencesFrom, earlierIn } from '../history/earlier.ts';
import { type HistoryEntry, type SeenIn, stepOf } from '../history/history.ts';
import { areSimilar } from '../history/similar-actions.ts';
import { HISTORY } from '../limits.ts';
import { type FactDifference, firstDifference } from '../path-sets/difference.ts';
import { States } from '../path-sets/states.ts';
import { localPathSets } from '../path-sets/storage.ts';
import type { Cache } from './caches.ts';
import type { RunContext } from './context.ts';
import type { KeyedAction } from './key.ts';
import type { MissReasons } from './miss-reasons.ts';
import { messagesOf } from './publish.ts';

export interface Explanation {
  readonly reason: string;
  readonly cause: MissCause;
  /** The earlier action, if it is in the local store. */
  readonly against?: Hash;
  /** Where the earlier run was. Absent if nobody told it. */
  readonly seen?: SeenIn;
  readonly differences: readonly Difference[];
}

const FIRST_RUN: MissCause = { kind: 'first-run' };
const UNKNOWN: MissCause = { kind: 'unknown' };

const NO_EARLIER_RUN: Explanation = { reason: 'no earlier run', cause: FIRST_RUN, differences: [] };

const FORGOTTEN: Explanation = {
  reason: 'it ran before, but the earlier action is no longer stored for comparison',
  cause: UNKNOWN,
  differences: [],
};

const CANNOT_TELL: Explanation = {
  reason:
    'no earlier run on this machine, and the remote can’t tell: only an Assay server that the token reads keeps runs',
  cause: UNKNOWN,
  differences: [],
};

const NO_ANSWER: Explanation = {
  reason: 'no earlier run on this machine, and the remote did not answer',
  cause: UNKNOWN,
  differences: [],
};

const UNREAD: Explanation = {
  reason: 'it ran before, but what differs could not be read from the remote in time',
  cause: UNKNOWN,
  differences: [],
};

/** What the lookup learned: why a result was refused, which fact differs, what the remote told of the step. */
type Learned = Pick<MissReasons, 'refusal' | 'factsDiffer' | 'earlier'>;

/** Stores nothing: the command waits for the explanation. This machine's own history comes first. */
export async function explain(
  action: KeyedAction,
  { cache }: RunContext,
  { refusal, factsDiffer, earlier: told }: Learned,
): Promise<Explanation> {
  const store = await cache.openStore();
  if (!store) return { reason: 'there is no usable store', cause: UNKNOWN, differences: [] };
  const earlier = cache.history.entries();
  // Before the command, which may change its inputs.
  const blobs = earlier.length > 0 || told ? withMessages(action, store.blobs) : store.blobs;
  if (refusal !== undefined)
    return { reason: `refused: ${refusal}`, cause: { kind: 'refused' }, differences: [] };
  const last = earlier.find((entry) => entry.key === action.key.hash);
  const differs = (last && (await differsNow(action, store, cache.digests))) ?? factsDiffer?.();
  if (differs) return byFact(differs, last, told);
  if (last) return nothingStored(last, action.request);
  const here = await explainMiss(action, earlier, blobs);
  if (here?.against) return here;
  return (await explainThere(action, cache, blobs, told)) ?? here ?? NO_EARLIER_RUN;
}

function byFact(
  { name, text, facts }: FactDifference,
  last: HistoryEntry | undefined,
  told: Uint8Array | undefined,
): Explanation {
  const there = told && earlierIn(told);
  const seen = last ? { at: Date.parse(last.at) } : there?.outcome === 'same' ? there : undefined;
  return {
    reason: text,
    cause: { kind: 'fact', name },
    ...(seen && { seen: seenIn(seen) }),
    differences: facts,
  };
}

/** By what the remote told. Undefined if nobody but this machine can know. */
async function explainThere(
  action: KeyedAction,
  cache: Cache,
  blobs: BlobReader,
  told: Uint8Array | undefined,
): Promise<Explanation | undefined> {
  const remote = await cache.openedRemote();
  const seen = told && earlierIn(told);
  if (seen?.outcome === 'none') return undefined;
  if (seen?.outcome === 'same') return { ...nothingStored(seen, action.request), seen: seenIn(seen) };
  if (seen?.outline) {
    const found = await differencesFrom(seen.outline, action.key.hash, blobs, remote);
    const [first, ...more] = found ?? [];
    if (!found || !first) return { ...UNREAD, seen: seenIn(seen) };
    const reason = sentenceOfAll([first, ...more]);
    return { reason, cause: missCauseOf(first), seen: seenIn(seen), differences: found };
  }
  if (seen) return { ...FORGOTTEN, seen: seenIn(seen) };
  if (!remote) return undefined;
  const ranThere = (cache.listedSets.get(action.key.hash)?.length ?? 0) > 0;
  if (ranThere) return nothingStored({}, action.request);
  return remote.usable ? CANNOT_TELL : NO_ANSWER;
}

/** The blobs of the store, and the messages of an action that is not stored yet. */
function withMessages(action: KeyedAction, blobs: BlobReader): BlobReader {
  const own = new Map(messagesOf(action).map((bytes) => [digestOf(bytes).hash, Buffer.from(bytes)]));
  return {
    get: async (hash) => {
      const bytes = own.get(hash);
      return bytes ? { size: bytes.length, bytes } : blobs.get(hash);
    },
  };
}

function seenIn({ namespace, run, at }: SeenIn): SeenIn {
  return { ...(namespace !== undefined && { namespace }), ...(run !== undefined && { run }), at };
}

type Ended = Pick<HistoryEntry, 'exitCode' | 'notKept'>;

/** The same action ran before, and none of its results is usable. */
function nothingStored(ended: Ended, request: RunRequest): Explanation {
  const cause = { kind: ended.exitCode ? 'failed-before' : 'not-kept' } as const;
  return { reason: whyNothingStored(ended, request), cause, differences: [] };
}

function whyNothingStored({ exitCode, notKept }: Ended, { hermetic }: RunRequest): string {
  if (exitCode) return `it failed before: ${notKept ?? `it ended with ${exitCode}`}`;
  if (notKept !== undefined) return `it ran before, but left no result: ${notKept}`;
  if (hermetic === 'strict') return 'it ran before, but no result is stored that is known to be hermetic';
  return 'it ran before, but no usable result is stored';
}

/** The key is the same, so an observed path differs. */
async function differsNow(
  action: KeyedAction,
  store: Store,
  digests: FileDigests,
): Promise<FactDifference | undefined> {
  try {
    return await firstDifference(action.key.hash, localPathSets(store), new States(action, digests));
  } catch {
    return undefined;
  }
}

/** By this machine's history, newest first. Undefined if it has no run of this step. */
async function explainMiss(
  action: KeyedAction,
  earlier: readonly HistoryEntry[],
  blobs: BlobReader,
): Promise<Explanation | undefined> {
  const key = action.key.hash;
  const last = lastOfStep(action.request, earlier);
  let best: { against: Hash; differences: Difference[] } | undefined;
  for (const { key: against } of last ? [last] : sameProgram(action.request, earlier)) {
    const found = await unlessGone(async () =>
      last || (await areSimilar(against, key, blobs)) ? differences(against, key, blobs) : undefined,
    );
    if (found && (!best || found.length < best.differences.length)) best = { against, differences: found };
  }
  if (!best) return last && FORGOTTEN;
  const [first, ...more] = best.differences;
  return first ? { ...best, reason: sentenceOfAll([first, ...more]), cause: missCauseOf(first) } : FORGOTTEN;
}

/** The newest run of the same step in this workspace, else in another one. */
function lastOfStep(request: RunRequest, earlier: readonly HistoryEntry[]): HistoryEntry | undefined {
  const { workspace, name } = request;
  const step = stepOf(request);
  const isSame = (entry: HistoryEntry) =>
    entry.step === step || (name !== undefined && entry.name === name && entry.workspace === workspace);
  const same = earlier.filter(isSame);
  return same.find((entry) => entry.workspace === workspace) ?? same[0];
}

/** For an action without a name: recent actions of the same program. */
function sameProgram(
  { workspace, command, name }: RunRequest,
  earlier: readonly HistoryEntry[],
): readonly HistoryEntry[] {
  if (name !== undefined) return [];
  const found = earlier.filter((entry) => entry.workspace === workspace && entry.command[0] === command[0]);
  return found.slice(0, HISTORY.comparedActions);
}

/** Undefined if the store has evicted one of the actions. */
async function unlessGone<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}
