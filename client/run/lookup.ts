// Looks up the result of an action: in the local store, then at the remote.
// A hit is complete, comes from a successful command, and has exactly the declared outputs. All else is a
// miss.
//
// Blobs of a remote go into the local store first, which checks their digests. A failed command is a hit only
// with --cache-failures.
import { type Digest, digestOf, type Hash, parseDigest } from '../../core/digest.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { decodeEvidence, type EvidenceStatus, evidenceStatusOf } from '../../core/evidence.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import { type RelPath, resolveFrom } from '../../core/path.ts';
import type { PathSet, StateOf } from '../../core/path-set.ts';
import type { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult } from '../../core/result.ts';
import type { AbsPath } from '../../hermeticity/system/absolute-path.ts';
import type { Blobs, Store } from '../../store/store.ts';
import type { RunRequest } from '../action/request.ts';
import { RUN } from '../limits.ts';
import { type Output, outputsNamedBy, whyUnfit } from '../outputs/outputs.ts';
import { ForeignStates } from '../path-sets/foreign-states.ts';
import { addPathSet, type Candidate, candidates } from '../path-sets/path-sets.ts';
import { States } from '../path-sets/states.ts';
import { localPathSets, type PathSetStorage, remotePathSets } from '../path-sets/storage.ts';
import { fetchContent } from '../remote/fetch-content.ts';
import { readBlob } from '../remote/read-blob.ts';
import { handleFault, type Remote, RemoteFault } from '../remote/remote.ts';
import type { Report } from '../terminal/events.ts';
import { acceptsLocal, remoteRefusal } from './acceptance.ts';
import type { RunContext } from './context.ts';
import type { KeyedAction } from './key.ts';
import type { Log } from './log.ts';
import { decodeOrder } from './log-order.ts';

export interface Hit {
  readonly outcome: 'hit-local' | 'hit-remote';
  readonly reason: string;
  /**
   * The key under which the result is stored, and the digest of the result: after an eviction it may be
   * another one.
   */
  readonly address: Hash;
  readonly result: Hash;
  readonly outputs: readonly Output[];
  readonly log: Log;
  readonly exitCode: number;
  /** The duration of the command when it ran. */
  readonly commandMs: number;
  readonly standing: EvidenceStatus;
  /** The paths of the path set that led to the result; their states match. */
  observedPaths(): readonly AbsPath[];
}

export async function lookup(
  action: KeyedAction,
  { cache, report, now }: RunContext,
): Promise<Hit | undefined> {
  const store = await cache.openStore();
  if (!store) return undefined;
  const states = new States(action, cache.digests, cache.systemFiles);
  const local = await findHit(localPathSets(store), action, states, {
    stateOf: states.of,
    hitAt: ({ key }) => storedHit(key.hash, action.request, store, report),
    onFault: (error) => report({ type: 'hit-unusable', why: messageOf(error) }),
  });
  if (local) return { ...local, ...LOCAL };
  const remote = await cache.openRemote();
  if (!remote?.usable) return undefined;
  const sides = { store, remote, report };
  const foreign = new ForeignStates(states, now);
  const fetched = await findHit(remotePathSets(remote, store, report), action, states, {
    stateOf: foreign.of,
    admits: (set) => isAdmitted(set, foreign, report),
    hitAt: (candidate) => fetchHit(candidate, action, states, sides),
    onFault: (error) => reportFault(error, sides),
  });
  return fetched && { ...fetched, outcome: 'hit-remote', reason: 'found in the remote cache' };
}

/** Reads a result whose address the caller already has from the up-to-date state. */
export async function resultAt(
  address: Hash,
  request: RunRequest,
  { cache, report }: RunContext,
): Promise<Hit | undefined> {
  const store = await cache.openStore();
  const stored = store && (await storedHit(address, request, store, report));
  return stored && { ...stored, ...REMEMBERED, address, observedPaths: () => [] };
}

const REMEMBERED = { outcome: 'hit-local', reason: 'remembered, and found in the local store' } as const;
const LOCAL = { outcome: 'hit-local', reason: 'found in the local store' } as const;

type StoredHit = Omit<Hit, 'outcome' | 'reason' | 'address' | 'observedPaths'>;

/** The first hit among the candidates that the action's path sets lead to. */
async function findHit(
  storage: PathSetStorage,
  action: KeyedAction,
  states: States,
  at: {
    readonly stateOf: StateOf;
    /** False for a path set that is skipped. */
    admits?(set: PathSet): boolean;
    hitAt(candidate: Candidate): Promise<StoredHit | undefined>;
    onFault(error: unknown): void;
  },
): Promise<Omit<Hit, 'outcome' | 'reason'> | undefined> {
  try {
    for await (const candidate of candidates(action.key, storage, at.stateOf, at.admits)) {
      const hit = await at.hitAt(candidate);
      const address = candidate.key.hash;
      if (hit) return { ...hit, address, observedPaths: () => states.pathsOf(candidate.set ?? []) };
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
  report: Report,
): Promise<StoredHit | undefined> {
  try {
    const stored = await store.results.get({ namespace: DEFAULT_NAMESPACE, key });
    const hit = stored && (await hitFrom(decodeResult(stored.bytes), request, store.blobs));
    return hit && { ...hit, result: digestOf(stored.bytes).hash };
  } catch (error) {
    report({ type: 'hit-unusable', why: messageOf(error) });
    return undefined;
  }
}

async function hitFrom(
  result: ActionResult,
  request: RunRequest,
  blobs: Blobs,
): Promise<Omit<StoredHit, 'result'> | undefined> {
  if (result.exitCode !== 0 && !request.cacheFailures) return undefined;
  const metadata = result.executionMetadata?.auxiliaryMetadata ?? [];
  const evidence = decodeEvidence(metadata);
  if (!acceptsLocal(evidence, request)) return undefined;
  const outputs = await outputsOf(result, request, blobs);
  checkOutputs(outputs, request);
  const log = {
    stdout: await logBytes(result.stdoutRaw, result.stdoutDigest, blobs),
    stderr: await logBytes(result.stderrRaw, result.stderrDigest, blobs),
    order: decodeOrder(metadata),
  };
  const { exitCode } = result;
  return { outputs, log, exitCode, commandMs: durationOf(result), standing: evidenceStatusOf(evidence) };
}

function outputsOf(result: ActionResult, request: RunRequest, blobs: Blobs): Promise<Output[]> {
  return outputsNamedBy(result, request.workingDirectory, ({ hash }) => readBlob(hash, blobs));
}

/**
 * Refuses an unusable result before its blobs are fetched and before it could occupy the key in the local
 * store.
 */
function checkBeforeFetching(result: ActionResult, request: RunRequest): void {
  if (result.exitCode !== 0 && !request.cacheFailures) throw unfit('its command failed');
  const refusal = remoteRefusal(decodeEvidence(result.executionMetadata?.auxiliaryMetadata ?? []), request);
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
  { key, set }: Candidate,
  action: KeyedAction,
  { of: stateOf }: States,
  sides: Sides,
): Promise<StoredHit | undefined> {
  if (!(await fetchResult(key, action, sides))) return undefined;
  const { store, report } = sides;
  const { keepAction } = await import('./publish.ts');
  // The next miss is compared with this action, so the local store needs a copy of it.
  await keepAction(action, store);
  if (set) await addPathSet(action.key.hash, set, localPathSets(store), stateOf);
  return storedHit(key.hash, action.request, store, report);
}

/** True if the result and all its blobs are now in the local store. */
async function fetchResult(
  key: Digest,
  action: KeyedAction,
  { store, remote, report }: Sides,
): Promise<boolean> {
  try {
    const bytes = await remote.getResult(key);
    if (!bytes) return false;
    const result = decodeResult(bytes);
    checkBeforeFetching(result, action.request);
    const judge = async () => {
      checkOutputs(await outputsOf(result, action.request, store.blobs), action.request);
    };
    await fetchContent(result, store.blobs, remote, report, judge, durationOf(result) || undefined);
    await store.results.put({ namespace: DEFAULT_NAMESPACE, key: key.hash }, bytes);
    return true;
  } catch (error) {
    reportFault(error, { store, remote, report });
    return false;
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
