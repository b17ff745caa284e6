// Looks up the result of an action: in the local store, then at the remote.
// A hit is complete, comes from a successful command, and has exactly the declared outputs. All else is a
// miss.
//
// Blobs of a remote go into the local store first, which checks their digests. A failed command is a hit only
// with --cache-failures. One that this machine alone keeps (--cache-failures=local) is the last that is looked for: a
// success for the same facts comes first, wherever it is.
import { digestOf, type Hash, parseDigest } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { decodeEvidence, type Evidence, evidenceStatusOf } from '../../core/evidence.ts';
import { bundleIn } from '../../core/metadata/bundle.ts';
import { actionNamedBy, type Receipt, receiptOf } from '../../core/metadata/receipt.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { type RelPath, resolveFrom } from '../../core/path.ts';
import type { ObservedPath, PathSet, StateOf } from '../../core/path-set.ts';
import type { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../core/result.ts';
import { MINUTE } from '../../core/units.ts';
import { readBlob } from '../../store/shared/read-blob.ts';
import type { Blobs, Store, StoredResult } from '../../store/store.ts';
import type { RunRequest } from '../action/request.ts';
import { stepIdOf } from '../history/step-id.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import { RUN } from '../limits.ts';
import { type Output, outputsNamedBy, whyUnfit } from '../outputs/outputs.ts';
import { closestDifference, type FactDifference } from '../path-sets/difference.ts';
import { countFacts } from '../path-sets/fact-counts.ts';
import { ForeignStates } from '../path-sets/foreign-states.ts';
import { addPathSet, type Candidate, candidates, remoteCandidates } from '../path-sets/path-sets.ts';
import { remembering } from '../path-sets/remembered-states.ts';
import { States } from '../path-sets/states.ts';
import { isImported, localPathSets, remotePathSets } from '../path-sets/storage.ts';
import { fetchContent, type ReadTree } from '../remote/fetch-content.ts';
import { handleFault, listsOf, type Remote, RemoteFault } from '../remote/remote.ts';
import type { Report } from '../terminal/events.ts';
import { localRefusal, remoteRefusal } from './acceptance.ts';
import type { RunContext } from './context.ts';
import type { Hit } from './hit.ts';
import { decodeOrder } from './log-order.ts';
import { withWorkspace } from './log-workspace.ts';
import type { HitReceipt } from './receipt.ts';

export async function lookup(action: KeyedAction, context: RunContext): Promise<Hit | undefined> {
  return (await lookupResult(action, context)) ?? (await keptFailure(action, context));
}

async function keptFailure(action: KeyedAction, context: RunContext): Promise<Hit | undefined> {
  const { cache, now, report, retries = 0 } = context;
  const { request } = action;
  if (request.cacheFailures !== 'local') return undefined;
  const comparison = await openComparison(action, context);
  if (!comparison) return undefined;
  const { store, states } = comparison;
  const failures = await cache.keptFailures();
  const find = (stateOf: StateOf) => candidates(action.key, localPathSets(store), stateOf);
  let endedAt = 0;
  const hitAt = async (candidate: Candidate) => {
    const kept = failures.find(candidate.key.hash, now());
    if (!kept) return undefined;
    const bytes = await readBlob(kept.result, store.blobs);
    const result = decodeResult(bytes);
    checkAction(result, actionBehind(candidate, action));
    if (result.exitCode === 0 || localRefusal(evidenceIn(result), request) !== undefined) return undefined;
    // A run that would try more often than the kept one learns more by running it.
    if ((receiptOf(result).tries ?? 1) <= retries) return undefined;
    endedAt = kept.at;
    return hitOf({ bytes, result, outputs: [] }, request, store.blobs);
  };
  const onFault = (error: unknown) => report({ type: 'hit-unusable', why: messageOf(error) });
  const found = await findHit(find, states, { stateOf: states.of, hitAt, onFault });
  if (!found) return undefined;
  const ago = Math.floor((now() - endedAt) / MINUTE);
  const reason = `it failed ${ago === 0 ? 'less than a minute' : `${ago} min`} ago, and that is kept on this machine (--force runs it)`;
  return { ...found, outcome: 'hit-local', reason, isKeptFailure: true };
}

async function lookupResult(action: KeyedAction, context: RunContext): Promise<Hit | undefined> {
  const { cache, report, caller, onFactsDiffer, onEarlier } = context;
  const comparison = await openComparison(action, context);
  if (!comparison) return undefined;
  const { store, states, foreign } = comparison;
  const local = await findStored(action, comparison, context);
  if (local) return local;
  const remote = await cache.openRemote();
  if (!remote?.usable) return undefined;
  const sides = { store, remote, report };
  const tried: PathSet[] = [];
  const admits = (set: PathSet) => {
    const isUsed = isAdmitted(set, foreign, report);
    if (isUsed) tried.push(set);
    return isUsed;
  };
  const slotsThere = remotePathSets(remote, store, report);
  const { hash } = action.key;
  const asking = onEarlier ? { step: stepIdOf(action.request, caller), onEarlier } : {};
  const lists = listsOf(remote, asking);
  const onList = (sets: readonly PathSet[]) => cache.listedSets.set(hash, sets);
  const find = (stateOf: StateOf) => remoteCandidates(action.key, lists, slotsThere, stateOf, admits, onList);
  const fetched = await findHit(find, states, {
    stateOf: remembering(foreign.of),
    hitAt: (candidate) => fetchHit(candidate, action, states, sides),
    onFault: (error) => reportFault(error, sides),
  });
  if (fetched) {
    cache.listedSets.delete(hash);
    const found = { ...fetched, outcome: 'hit-remote', reason: 'found in the remote cache' } as const;
    const namespace = remote.namespaceOf(fetched.address);
    if (namespace === undefined || !fetched.receipt) return found;
    return {
      ...found,
      reason: `${found.reason}, in ${namespace}`,
      receipt: { ...fetched.receipt, namespace },
    };
  }
  if (tried.length > 0) onFactsDiffer?.(() => differenceNow(tried, states, foreign));
  return undefined;
}

/** Looks up the result in the local store only, and reports nothing: for a second look just before the command. */
export async function lookupLocally(action: KeyedAction, context: RunContext): Promise<Hit | undefined> {
  const comparison = await openComparison(action, context);
  return comparison && findStored(action, comparison, SILENT);
}

/** The local store, and what the facts of its results are compared with. */
interface Comparison {
  readonly store: Store;
  readonly states: States;
  readonly foreign: ForeignStates;
}

/** Undefined without a store. */
async function openComparison(
  action: KeyedAction,
  { cache, now }: RunContext,
): Promise<Comparison | undefined> {
  const store = cache.findsNothing ? undefined : await cache.openStore();
  if (!store) return undefined;
  const states = new States(action, cache.digests, cache.systemFiles);
  return { store, states, foreign: new ForeignStates(states, now, cache.systemFiles) };
}

type Listeners = Pick<RunContext, 'report' | 'onRefused'>;

const SILENT: Listeners = { report() {} };

/** A set that came with a bundle is admitted as one of a remote is. */
async function findStored(
  action: KeyedAction,
  { store, states, foreign }: Comparison,
  listeners: Listeners,
): Promise<Hit | undefined> {
  const admits = (set: PathSet) => !isImported(set) || isAdmitted(set, foreign, listeners.report);
  const find = (stateOf: StateOf) => candidates(action.key, localPathSets(store), stateOf, admits);
  const found = await findHit(find, states, {
    stateOf: states.of,
    hitAt: (candidate) =>
      storedHit(candidate.key.hash, action.request, store, listeners, actionBehind(candidate, action)),
    onFault: (error) => listeners.report({ type: 'hit-unusable', why: messageOf(error) }),
  });
  return found && { ...found, ...LOCAL };
}

/** Undefined also if the time for comparing sets of the remote is up. */
function differenceNow(
  sets: readonly PathSet[],
  states: States,
  { of: stateOf }: ForeignStates,
): FactDifference | undefined {
  try {
    return closestDifference(sets, states, stateOf);
  } catch {
    return undefined;
  }
}

/** Reads a result whose address the caller already has from the up-to-date state. */
export async function resultAt(
  address: Hash,
  request: RunRequest,
  { cache, report }: RunContext,
): Promise<Hit | undefined> {
  const store = await cache.openStore();
  const found = store && (await storedHit(address, request, store, { report }));
  if (!found) return undefined;
  const { made: _, ...stored } = found;
  return { ...stored, ...REMEMBERED, address, setCheck: () => ({ paths: [], properties: [] }) };
}

const REMEMBERED = { outcome: 'hit-local', reason: 'remembered, and found in the local store' } as const;
const LOCAL = { outcome: 'hit-local', reason: 'found in the local store' } as const;

type StoredHit = Omit<Hit, 'outcome' | 'reason' | 'address' | 'setCheck' | 'receipt'> & {
  /** What the result tells of its run. */
  readonly made: Receipt;
};

/** The first hit among the candidates that the action's path sets lead to. */
async function findHit(
  find: (stateOf: StateOf) => AsyncIterable<Candidate>,
  states: States,
  at: {
    readonly stateOf: StateOf;
    hitAt(candidate: Candidate): Promise<StoredHit | undefined>;
    onFault(error: unknown): void;
  },
): Promise<Omit<Hit, 'outcome' | 'reason'> | undefined> {
  const compared = new Map<ObservedPath, string>();
  const stateOf: StateOf = (seen) => {
    const state = at.stateOf(seen);
    compared.set(seen, state);
    return state;
  };
  try {
    for await (const candidate of find(stateOf)) {
      const hit = await at.hitAt(candidate);
      if (!hit) continue;
      const { made, ...stored } = hit;
      const { key, set = [] } = candidate;
      const comparedState = (seen: ObservedPath) => compared.get(seen) ?? '';
      const facts = countFacts(set, comparedState);
      const receipt: HitReceipt = { ...made, status: hit.status, facts, compared: 'contents' };
      return {
        ...stored,
        address: key.hash,
        receipt,
        set: candidate.set,
        setCheck: () => states.checkOf(set, comparedState),
      };
    }
  } catch (error) {
    at.onFault(error);
  }
  return undefined;
}

/** A refused path set is reported and skipped; the lookup goes on with the next one. */
function isAdmitted(set: PathSet, foreign: ForeignStates, report: Report): boolean {
  try {
    foreign.check(set);
    return true;
  } catch (error) {
    report({ type: 'hit-unusable', why: messageOf(error) });
    return false;
  }
}

async function storedHit(
  key: Hash,
  request: RunRequest,
  store: Store,
  { report, onRefused }: Listeners,
  behind?: Hash,
): Promise<StoredHit | undefined> {
  try {
    const stored = await store.results.get({ namespace: DEFAULT_NAMESPACE, key });
    return stored && (await hitFrom(stored, request, store.blobs, behind, onRefused));
  } catch (error) {
    report({ type: 'hit-unusable', why: messageOf(error) });
    return undefined;
  }
}

async function hitFrom(
  { bytes, writer }: StoredResult,
  request: RunRequest,
  blobs: Blobs,
  behind: Hash | undefined,
  onRefused: Listeners['onRefused'],
): Promise<StoredHit | undefined> {
  const result = decodeResult(bytes);
  if (result.exitCode !== 0 && request.cacheFailures !== true) return undefined;
  checkAction(result, behind);
  const isOfBundle = bundleIn(writer?.via) !== undefined;
  const evidence = evidenceIn(result);
  const refusal = isOfBundle
    ? remoteRefusal(evidence, request, 'the bundle’s result')
    : prefixed('the stored result is ', localRefusal(evidence, request));
  if (refusal !== undefined) {
    if (request.hermetic !== 'strict') onRefused?.(refusal);
    return undefined;
  }
  const outputs = await outputsOf(result, request, blobs);
  checkOutputs(outputs, request);
  return hitOf({ bytes, result, outputs }, request, blobs);
}

function prefixed(words: string, rest: string | undefined): string | undefined {
  return rest === undefined ? undefined : `${words}${rest}`;
}

/** The action that a result must name. A result under the action's own key need not name it. */
function actionBehind({ set }: Candidate, { key }: KeyedAction): Hash | undefined {
  return set && key.hash;
}

/** `assay forget --key` finds the results behind path sets by this name (core/metadata/receipt.ts). */
function checkAction(result: ActionResult, behind: Hash | undefined): void {
  if (behind !== undefined && actionNamedBy(result) !== behind)
    throw unfit('it names another action, or none');
}

/** A result whose outputs are the declared ones. */
interface CheckedResult {
  readonly bytes: Uint8Array;
  readonly result: ActionResult;
  readonly outputs: readonly Output[];
}

async function hitOf(
  { bytes, result, outputs }: CheckedResult,
  request: RunRequest,
  blobs: Blobs,
): Promise<StoredHit> {
  const stored = {
    stdout: await logBytes(result.stdoutRaw, result.stdoutDigest, blobs),
    stderr: await logBytes(result.stderrRaw, result.stderrDigest, blobs),
    ...decodeOrder(metadataOf(result)),
  };
  return {
    result: digestOf(bytes).hash,
    outputs,
    log: withWorkspace(stored, request.workspace),
    exitCode: result.exitCode,
    commandMs: durationOf(result),
    status: evidenceStatusOf(evidenceIn(result)),
    made: receiptOf(result),
  };
}

function metadataOf({ executionMetadata }: ActionResult) {
  return executionMetadata?.auxiliaryMetadata ?? [];
}

function evidenceIn(result: ActionResult): Evidence | undefined {
  return decodeEvidence(metadataOf(result));
}

function outputsOf(result: ActionResult, request: RunRequest, blobs: Blobs): Promise<Output[]> {
  return outputsNamedBy(result, request.workingDirectory, ({ hash }) => readBlob(hash, blobs));
}

/**
 * Refuses an unusable result before its blobs are fetched and before it could occupy the key in the local
 * store.
 */
function checkBeforeFetching(result: ActionResult, request: RunRequest, behind: Hash | undefined): void {
  checkAction(result, behind);
  if (result.exitCode !== 0 && request.cacheFailures !== true) throw unfit('its command failed');
  const refusal = remoteRefusal(evidenceIn(result), request);
  if (refusal !== undefined) throw new AssayError('ASSAY_NOT_HERMETIC', refusal);
  const logs = (result.stdoutDigest?.sizeBytes ?? 0) + (result.stderrDigest?.sizeBytes ?? 0);
  if (logs > 2 * RUN.maxLogBytes) throw unfit('its log is longer than any that is kept');
  const folders = result.outputDirectories;
  const links = [...result.outputSymlinks, ...result.outputFileSymlinks, ...result.outputDirectorySymlinks];
  const named = [...result.outputFiles, ...folders, ...links].map(({ path }) => path);
  checkPaths(
    named.map((path) => resolveFrom(request.workingDirectory, path)),
    request,
  );
}

function checkPaths(named: readonly RelPath[], request: RunRequest): void {
  const declared = [...new Set(request.outputs)].sort();
  if ([...named].sort().join('\0') !== declared.join('\0'))
    throw unfit('its outputs are not the declared ones');
}

/**
 * A remote may send any paths: only declared outputs are restored, and their links must stay in the
 * workspace.
 */
function checkOutputs(outputs: readonly Output[], request: RunRequest): void {
  checkPaths(
    outputs.map(({ path }) => path),
    request,
  );
  for (const output of outputs) {
    const why = whyUnfit(output);
    if (why !== undefined) throw unfit(`its output ${why}`);
  }
}

async function logBytes(
  raw: Uint8Array,
  digest: ActionResult['stdoutDigest'],
  blobs: Blobs,
): Promise<Buffer> {
  return digest && raw.length === 0 ? readBlob(parseDigest(digest).hash, blobs) : Buffer.from(raw);
}

function durationOf({ executionMetadata }: ActionResult): number {
  const { executionStartTimestamp: start, executionCompletedTimestamp: end } = executionMetadata ?? {};
  if (!start || !end) return 0;
  return Math.max(0, (end.seconds - start.seconds) * 1000 + (end.nanos - start.nanos) / 1e6);
}

interface Sides {
  readonly store: Store;
  readonly remote: Remote;
  readonly report: Report;
}

async function fetchHit(
  candidate: Candidate,
  action: KeyedAction,
  { of: stateOf }: States,
  sides: Sides,
): Promise<StoredHit | undefined> {
  const { key, set } = candidate;
  const { store, report } = sides;
  const { keepAction } = await import('./publish.ts');
  // The next miss is compared with this action, so the local store needs a copy of it.
  const kept = keepAction(action, store, set);
  const addSet = async () => {
    await kept;
    if (set) await addPathSet(action.key.hash, set, localPathSets(store), stateOf);
  };
  const fetched = await fetchResult(candidate, action, addSet, sides);
  await kept;
  if (!fetched) return undefined;
  // Another process was first, and its result stays.
  if (fetched === 'superseded')
    return storedHit(key.hash, action.request, store, { report }, actionBehind(candidate, action));
  return hitOf(fetched, action.request, store.blobs);
}

/**
 * Undefined unless the result and all its blobs are now in the local store. `addSet` stores the path set that
 * leads to the result, together with it: a set without a result is a miss.
 */
async function fetchResult(
  candidate: Candidate,
  action: KeyedAction,
  addSet: () => Promise<void>,
  { store, remote, report }: Sides,
): Promise<CheckedResult | 'superseded' | undefined> {
  const { key } = candidate;
  try {
    const bytes = candidate.result ?? (await remote.getResult(key));
    if (!bytes) return undefined;
    const result = decodeResult(bytes);
    checkBeforeFetching(result, action.request, actionBehind(candidate, action));
    let outputs: readonly Output[] = [];
    const judge = async (readTree: ReadTree) => {
      outputs = await outputsNamedBy(result, action.request.workingDirectory, readTree);
      checkOutputs(outputs, action.request);
    };
    await fetchContent(result, store.blobs, remote, report, judge, durationOf(result) || undefined);
    const put = store.results.put({ namespace: DEFAULT_NAMESPACE, key: key.hash }, bytes);
    const [outcome] = await Promise.all([put, addSet()]);
    return outcome === 'stored' ? { bytes, result, outputs } : 'superseded';
  } catch (error) {
    reportFault(error, { store, remote, report });
    return undefined;
  }
}

function reportFault(error: unknown, { remote, report }: Sides): void {
  if (error instanceof AssayError && error.code === 'ASSAY_NOT_HERMETIC') {
    report({ type: 'hit-refused', why: error.detail });
  } else if (!isRemotesFault(error)) {
    report({ type: 'hit-unusable', why: messageOf(error) });
  } else {
    report(handleFault(remote, error));
  }
}

/** The remote is unreachable, or it sent content that does not match its digest. */
function isRemotesFault(error: unknown): boolean {
  const lies: readonly string[] = ['ASSAY_DIGEST_MISMATCH', 'ASSAY_SIZE_MISMATCH', 'ASSAY_RESULT_MALFORMED'];
  return error instanceof RemoteFault || (error instanceof AssayError && lies.includes(error.code));
}

function unfit(why: string): AssayError {
  return new AssayError('ASSAY_OUTPUT_UNFIT', why);
}
