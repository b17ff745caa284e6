// Explains a miss: finds the closest earlier action and describes what differs from it.

import { digestOf, type Hash } from '../../core/digest.ts';
import { differences, type KeyDifference } from '../../store/actions/difference.ts';
import { type Lack, type Miss, missBy } from '../../store/actions/miss.ts';
import type { Earlier } from '../../store/actions/outline.ts';
import type { BlobReader, Store } from '../../store/store.ts';
import type { RunRequest } from '../action/request.ts';
import type { FileDigests } from '../files/file-digest.ts';
import { differencesFrom } from '../history/earlier.ts';
import { type HistoryEntry, type SeenIn, stepOf } from '../history/history.ts';
import { areSimilar } from '../history/similar-actions.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { HISTORY } from '../limits.ts';
import { type FactDifference, firstFactDifference } from '../path-sets/difference.ts';
import { States } from '../path-sets/states.ts';
import { localPathSets } from '../path-sets/storage.ts';
import type { Cache } from './caches.ts';
import type { RunContext } from './context.ts';
import type { MissReasons } from './miss-reasons.ts';
import { messagesOf } from './publish.ts';

interface Explanation {
  readonly miss: Miss;
  /** The earlier action, if it is in the local store. */
  readonly against?: Hash;
  /** Where the earlier run was. Absent if neither this machine nor the remote knows it. */
  readonly seen?: SeenIn;
  readonly differences: readonly KeyDifference[];
}

/** What the lookup learned: why a result was refused, which fact differs, what the remote told of the step. */
type Learned = Pick<MissReasons, 'refusal' | 'factsDiffer' | 'earlier'>;

/** Stores nothing: the command waits for the explanation. This machine's own history comes first. */
export async function explain(
  action: KeyedAction,
  { cache }: RunContext,
  learned: Learned,
): Promise<Explanation> {
  const store = await cache.openStore();
  if (!store) return lacking('store');
  const { refusal, factsDiffer } = learned;
  const earlier = cache.history.entries();
  // Before the command, which may change its inputs.
  const blobs = earlier.length > 0 || learned.earlier ? withMessages(action, store.blobs) : store.blobs;
  if (refusal !== undefined) return { miss: { kind: 'refused', why: refusal }, differences: [] };
  const last = earlier.find((entry) => entry.key === action.key.hash);
  const differs = (last && (await differsNow(action, store, cache.digests))) ?? factsDiffer?.();
  if (differs) return byFact(differs, last, learned.earlier);
  if (last) return nothingStored(last, action.request);
  const here = await explainMiss(action, earlier, blobs);
  if (here?.against) return here;
  const there = (await explainThere(action, cache, blobs, learned.earlier)) ?? here;
  return there ?? { miss: { kind: 'first-run' }, differences: [] };
}

function lacking(lack: Lack): Explanation {
  return { miss: { kind: 'unknown', lack }, differences: [] };
}

function byFact(
  { miss, facts }: FactDifference,
  last: HistoryEntry | undefined,
  there: Earlier | undefined,
): Explanation {
  const seen = last ? { at: Date.parse(last.at) } : there?.outcome === 'same' ? there : undefined;
  return { miss, ...(seen && { seen: seenIn(seen) }), differences: facts };
}

/** By the answer of the remote. Undefined if only this machine can know. */
async function explainThere(
  action: KeyedAction,
  cache: Cache,
  blobs: BlobReader,
  seen: Earlier | undefined,
): Promise<Explanation | undefined> {
  const remote = await cache.openedRemote();
  if (seen?.outcome === 'none') return undefined;
  if (seen?.outcome === 'same') return { ...nothingStored(seen, action.request), seen: seenIn(seen) };
  if (seen?.outline) {
    const found = await differencesFrom(seen.outline, action.key.hash, blobs, remote);
    const miss = found && missBy(found);
    return { ...(miss ? { miss, differences: found } : lacking('time')), seen: seenIn(seen) };
  }
  if (seen) return { ...lacking('earlier-action'), seen: seenIn(seen) };
  if (!remote) return undefined;
  const ranThere = (cache.listedSets.get(action.key.hash)?.length ?? 0) > 0;
  if (ranThere) return nothingStored({}, action.request);
  return lacking(remote.usable ? 'server' : 'answer');
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
function nothingStored({ exitCode, notKept: why }: Ended, { hermetic }: RunRequest): Explanation {
  const miss: Miss = exitCode
    ? { kind: 'failed-before', why, exitCode }
    : { kind: 'not-kept', why, isStrict: hermetic === 'strict' };
  return { miss, differences: [] };
}

/** The key is the same, so an observed path differs. */
async function differsNow(
  action: KeyedAction,
  store: Store,
  digests: FileDigests,
): Promise<FactDifference | undefined> {
  try {
    return await firstFactDifference(action.key.hash, localPathSets(store), new States(action, digests));
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
  let best: { against: Hash; differences: KeyDifference[] } | undefined;
  for (const { key: against } of last ? [last] : sameProgram(action.request, earlier)) {
    const found = await unlessGone(async () =>
      last || (await areSimilar(against, key, blobs)) ? differences(against, key, blobs) : undefined,
    );
    if (found && (!best || found.length < best.differences.length)) best = { against, differences: found };
  }
  if (!best) return last && lacking('earlier-action');
  const miss = missBy(best.differences);
  return miss ? { ...best, miss } : lacking('earlier-action');
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
