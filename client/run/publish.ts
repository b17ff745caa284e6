// Publishes a sealed result: first all blobs that it names, then the result; first locally, then at the
// remote.
// A reader never sees a result whose blobs are missing. The upload goes on in the background (uploads.ts).
//
// The action's own messages (Action, Command, Directory) are stored too, so that a later miss can be compared
// with it.
import { readFileSync } from 'node:fs';
import { concurrently } from '../../core/concurrently.ts';
import { type Digest, digestOf, type Hash } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { RUN_REPORT } from '../../core/metadata/run-report.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { encodePathSet, type PathSet, resultKey, type StateOf } from '../../core/path-set.ts';
import { STORE } from '../../store/limits.ts';
import type { Blobs, Content, Store } from '../../store/store.ts';
import { fileChunks } from '../files/file-chunks.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { REMOTE, RUN } from '../limits.ts';
import type { UnsharedResult } from '../local-store/outbox.ts';
import type { Sealed } from '../outputs/encoded-outputs.ts';
import { ForeignStates } from '../path-sets/foreign-states.ts';
import { type MayReplace, withPatterns } from '../path-sets/name-patterns.ts';
import { addPathSet, type Candidate, candidates, setsIn } from '../path-sets/path-sets.ts';
import { remembering } from '../path-sets/remembered-states.ts';
import { hasRival } from '../path-sets/rivals.ts';
import type { States } from '../path-sets/states.ts';
import { localPathSets, type PathSetStorage } from '../path-sets/storage.ts';
import { endOfLog, type Log } from '../process/log.ts';
import type { Report } from '../terminal/events.ts';
import type { Cache } from './caches.ts';
import type { RunContext } from './context.ts';
import type { SealedResult, Unpublishable } from './seal.ts';

interface Published {
  /** The local store has the result. */
  readonly published: boolean;
  /** The same action made different outputs before; the earlier result stays. */
  readonly diverged: boolean;
  /** Where the local store has it, if it was published. */
  readonly address?: Candidate;
  /** The key of the result, if its upload has begun. */
  readonly sent?: Hash;
}

const NOTHING: Published = { published: false, diverged: false };

export async function publish(
  action: KeyedAction,
  sealed: SealedResult | Unpublishable,
  { cache, report, now, ownership }: RunContext,
): Promise<Published> {
  const listed = cache.listedSets.get(action.key.hash);
  cache.listedSets.delete(action.key.hash);
  const refusal = sealed.publishable ? ownership?.publishRefusal() : sealed.why;
  if (refusal !== undefined) report({ type: 'not-published', why: refusal });
  const store = await cache.openStore();
  if (!store) return NOTHING;
  if (!sealed.publishable || refusal !== undefined) {
    await keepAction(action, store);
    if (sharesByDefault(action)) {
      const digests = actionBlobs(action).map(({ digest }) => digest);
      (await cache.openUploads())?.addMessages(digests, report);
    }
    return NOTHING;
  }
  const { states } = sealed;
  const stateOf = remembering(states.of, sealed.pathSet);
  const foreign = new ForeignStates(states, now);
  const found = await findAddress(action, sealed, localPathSets(store), stateOf, listed ?? [], foreign);
  const address = { ...found, stateOf };
  if (sealed.isKeptFailure) {
    const why = await keepFailure(action, sealed, address, store, cache, now());
    report({ type: 'not-published', why });
    return NOTHING;
  }
  const outcome = await publishLocally(action, sealed, address, store, report);
  if (outcome !== 'published') {
    await keepAction(action, store);
    return { ...NOTHING, diverged: outcome === 'diverged' };
  }
  const uploads = await cache.openUploads();
  const maySend = uploads !== undefined || cache.madeHere !== undefined;
  const localOnly = sealed.localOnly ?? (maySend ? whyPrivate(found.set, states) : undefined);
  if (localOnly !== undefined) {
    if (uploads) report({ type: 'not-shared', why: localOnly });
    return { published: true, diverged: false, address: found };
  }
  const unshared = unsharedOf(action, address);
  uploads?.add(unshared, report, foreign.of, listed?.length === 0);
  const { workspace, name } = action.request;
  const result = digestOf(sealed.result).hash;
  cache.madeHere?.add({ ...unshared, result, workspace, isStep: name !== undefined });
  return { published: true, diverged: false, address: found, ...(uploads && { sent: address.key.hash }) };
}

/** Keeps a failure on this machine alone. The words say that, or why it failed. */
async function keepFailure(
  action: KeyedAction,
  sealed: SealedResult,
  { key, set, stateOf }: ResultAddress,
  store: Store,
  cache: Cache,
  at: number,
): Promise<string> {
  try {
    const digest = digestOf(sealed.result);
    const own = { digest, bytes: sealed.result };
    await putLocally([...sealed.contents, own, ...actionBlobs(action, set)], store.blobs);
    if (set) await addPathSet(action.key.hash, set, localPathSets(store), stateOf);
    (await cache.keptFailures()).keep(key.hash, { result: digest.hash, at });
    return 'it failed; the failure is kept on this machine for a day';
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * Stores the end of what a failed command printed, for the report of the run. Undefined if it printed nothing, or if
 * the result would not have been shared.
 */
export async function keepFailedLog(
  log: Log,
  action: KeyedAction,
  { cache }: RunContext,
): Promise<Digest | undefined> {
  const bytes = endOfLog(log, RUN_REPORT.maxLogBytes);
  const store = bytes.length > 0 && sharesByDefault(action) ? await cache.openStore() : undefined;
  if (!store) return undefined;
  const digest = digestOf(bytes);
  try {
    await putLocally([{ digest, bytes }], store.blobs);
    return digest;
  } catch {
    return undefined;
  }
}

/** A run whose result would have been shared. */
function sharesByDefault({ request: { hermetic, keepUnproven } }: KeyedAction): boolean {
  return keepUnproven === 'shared' || (hermetic !== 'off' && keepUnproven !== 'local');
}

/** An unwatched run may have the path set of an earlier run, so the set is judged here and not when a run is sealed. */
function whyPrivate(set: PathSet | undefined, { privatePaths }: States): string | undefined {
  return set && privatePaths.whyLocal(set);
}

interface ResultAddress extends Candidate {
  readonly stateOf: StateOf;
}

/**
 * The key to store the result under. Names that differ in every run are patterns there. If this run was not
 * watched, the path set of an earlier watched run applies. `listed`: the path sets of the remote.
 */
async function findAddress(
  { key }: KeyedAction,
  { pathSet: seen }: SealedResult,
  storage: PathSetStorage,
  stateOf: StateOf,
  listed: readonly PathSet[],
  foreign: ForeignStates,
): Promise<Candidate> {
  if (seen) {
    const earlier = [...(await setsIn(key.hash, storage, stateOf)), ...listed];
    // A set that other clients look at stays one.
    const mayReplace: MayReplace = (pattern, path) => foreign.admits(pattern) || !foreign.admits(path);
    const set = withPatterns(seen, earlier, stateOf, mayReplace);
    return { key: resultKey(key.hash, set, stateOf), set };
  }
  for await (const candidate of candidates(key, storage, stateOf)) return candidate;
  return { key };
}

/**
 * Stores an action without a result, so that the next miss can be compared with it. `set`: also the blob of
 * this path set. Errors are ignored.
 */
export async function keepAction(action: KeyedAction, store: Store, set?: PathSet): Promise<void> {
  try {
    await putLocally(actionBlobs(action, set), store.blobs);
  } catch {
    // Its inputs are gone, or the store is full.
  }
}

async function publishLocally(
  action: KeyedAction,
  sealed: SealedResult,
  { key, set, stateOf }: ResultAddress,
  store: Store,
  report: Report,
): Promise<'published' | 'diverged' | 'failed'> {
  const slots = localPathSets(store);
  const resultAt = async ({ key: { hash } }: Candidate) =>
    (await store.results.get({ namespace: DEFAULT_NAMESPACE, key: hash }))?.bytes;
  try {
    const own = { key: key.hash, result: sealed.result };
    const isRival = set && (await hasRival(own, candidates(action.key, slots, stateOf), resultAt));
    if (!isRival) await putLocally([...sealed.contents, ...actionBlobs(action, set)], store.blobs);
    // A path set without a result leads nowhere, so the two may come in any order, and in one commit.
    const [outcome] = isRival
      ? (['diverged'] as const)
      : await Promise.all([
          store.results.put({ namespace: DEFAULT_NAMESPACE, key: key.hash }, sealed.result),
          set && addPathSet(action.key.hash, set, slots, stateOf),
        ]);
    if (outcome !== 'diverged') return 'published';
    report({
      type: 'not-published',
      why: 'an earlier run of this action made other outputs, which are kept',
    });
    return outcome;
  } catch (error) {
    const changed = error instanceof AssayError && error.code === 'ASSAY_DIGEST_MISMATCH';
    report({
      type: 'not-published',
      why: changed ? 'an output changed while it was stored' : messageOf(error),
    });
    return 'failed';
  }
}

export async function putLocally(contents: readonly Sealed[], blobs: Blobs): Promise<void> {
  const missing = new Set(
    (await blobs.missing(contents.map(({ digest }) => digest))).map(({ hash }) => hash),
  );
  const wanted = contents.filter(({ digest }) => missing.has(digest.hash));
  const put = async (content: Sealed): Promise<void> => {
    await blobs.put(content.digest, contentOf(content));
  };
  await concurrently(wanted.filter(isSmall), RUN.smallPutsAtOnce, put);
  await concurrently(
    wanted.filter((content) => !isSmall(content)),
    REMOTE.concurrency,
    put,
  );
}

/** Small blobs go into the index: the more are put at once, the more share one commit. */
function isSmall({ digest }: Sealed): boolean {
  return digest.size <= STORE.inlineBytes;
}

function contentOf(sealed: Sealed): Content {
  if ('bytes' in sealed) return sealed.bytes;
  return isSmall(sealed) ? readFileSync(sealed.file) : fileChunks(sealed.file);
}

function unsharedOf(action: KeyedAction, { key, set }: Candidate): UnsharedResult {
  return {
    key,
    action: action.key.hash,
    ...(set && { set: digestOf(encodePathSet(set)).hash }),
    blobs: actionBlobs(action, set).map(({ digest }) => digest),
  };
}

function actionBlobs(action: KeyedAction, set?: PathSet): Sealed[] {
  const messages = [...messagesOf(action), ...(set ? [encodePathSet(set)] : [])];
  return messages.filter(({ length }) => length > 0).map((bytes) => ({ digest: digestOf(bytes), bytes }));
}

/** The Action, its Command and its Directory messages. */
export function messagesOf({ action, command, inputs }: KeyedAction): Uint8Array[] {
  return [action, command, ...inputs.directories().blobs.values()];
}
