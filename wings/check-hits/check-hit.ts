// Checks a hit: runs its command all the same, and compares what it makes with the stored result.
// The stored result is never replaced, and nothing that a check makes is ever served.
//
//                    ┌─ equal ────────────────────────────────────────────────> same
//   hit ─> run once ─┤                          ┌─ the runs differ ───────────> unstable
//                    └─ different ─> run again ─┤
//                                               └─ the runs agree ────────────> different: the hit is stale
//
// The caller holds the locks of the outputs. Outputs and exit code are compared; a log that differs is only
// reported. The outputs and the exit code of the last run stay. A check has no verdict if it was interrupted, or if
// an input, a tool or a fact changed meanwhile: the run then counts as a miss whose result is not kept.

import { resultDifferenceText } from '../../client/check-hits/difference-text.ts';
import type { KeyedAction } from '../../client/inputs/keyed-action.ts';
import { encodeOutputs } from '../../client/outputs/encoded-outputs.ts';
import { type Output, observeOutput, sameOutput } from '../../client/outputs/outputs.ts';
import { wrongOutputs } from '../../client/outputs/restore.ts';
import { States } from '../../client/path-sets/states.ts';
import { onStop } from '../../client/process/launch.ts';
import { replay } from '../../client/process/log.ts';
import { handleFault, type Remote } from '../../client/remote/remote.ts';
import { upload } from '../../client/remote/transfer.ts';
import type { Execute, RunContext } from '../../client/run/context.ts';
import type { Execution } from '../../client/run/execute.ts';
import type { Hit } from '../../client/run/hit.ts';
import { changedSince } from '../../client/run/key.ts';
import { putLocally } from '../../client/run/publish.ts';
import { endOf, NOT_HERMETIC, type RunEnd } from '../../client/run/run.ts';
import { originOf } from '../../client/run/run-origin.ts';
import { type SealedResult, seal, type Unpublishable } from '../../client/run/seal.ts';
import { AssayError, messageOf } from '../../core/errors.ts';
import { type Checked, encodeReceipt, type HitVerdict, withVerdict } from '../../core/metadata/receipt.ts';
import { DEFAULT_NAMESPACE } from '../../core/namespace.ts';
import type { ObservedPath } from '../../core/path-set.ts';
import { ActionResult } from '../../core/proto/generated/reapi.ts';
import { decodeResult, emptyResult } from '../../core/result.ts';
import { exitCodeOfSignal } from '../../hermeticity/trace/exit-status.ts';
import { causeOfMiss } from '../../store/actions/miss.ts';
import { missText } from '../../store/actions/miss-text.ts';
import { firstDifference } from '../../store/review/first-difference.ts';
import type { Blobs, Store } from '../../store/store.ts';
import { parentFolder } from '../../system/paths/absolute-path.ts';
import { pathsMade, unmatchedAccesses } from './unmatched-accesses.ts';

export async function checkHit(
  hit: Hit,
  action: KeyedAction,
  context: RunContext,
  execute: Execute,
): Promise<RunEnd> {
  let signal: NodeJS.Signals | undefined;
  const release = onStop(context.signal, (name) => {
    signal ??= name;
  });
  try {
    const facts = new FactsBefore(hit, action, context);
    const whyVoid = (run: FreshRun) =>
      signal
        ? `it was interrupted by ${signal}`
        : (changedSince(action, context) ?? facts.changedBesides(run));
    const first = await freshRun(action, context, execute);
    const fault = faultOf(first, context);
    if (fault !== undefined) return notChecked(fault, first, action, context);
    if (isAsStored(hit, first, action, context)) {
      reportLog(hit, first, context);
      return checkedEnd('same', first, hit, action, context);
    }
    const changed = whyVoid(first);
    if (changed !== undefined) return notChecked(changed, first, action, context, signal);
    const rival = await Rival.of(first, hit, action, context);
    const second = await freshRun(action, { ...context, ...SILENT }, execute);
    if (second.execution.exitCode !== first.execution.exitCode) replay(second.execution.log, context);
    const later = faultOf(second, context) ?? whyVoid(second);
    if (later !== undefined) return notChecked(later, second, action, context, signal);
    const verdict = doAgree(first, second, action) ? 'different' : 'unstable';
    for (const text of verdictTexts(verdict, rival.difference, first, hit, action))
      context.report({ type: 'hit-check', text });
    context.report({ type: 'hit-check', text: await rival.keep(verdict) });
    return checkedEnd(verdict, second, hit, action, context);
  } finally {
    release();
  }
}

/** The second run says what the first one said. */
const SILENT = { stdout: { write() {} }, stderr: { write() {} }, report() {} } as const;

interface FreshRun {
  readonly execution: Execution;
  readonly sealed: SealedResult | Unpublishable;
  /** In the order of the declaration, what was there after the run. */
  readonly outputs: readonly (Output | undefined)[];
}

/** A result that is kept beside another one is never served, so --hermetic=strict does not refuse it. */
async function freshRun(action: KeyedAction, context: RunContext, execute: Execute): Promise<FreshRun> {
  const { request } = action;
  const execution = await execute(context);
  const lenient = request.hermetic === 'strict' ? { ...request, hermetic: 'warn' as const } : request;
  const sealed = seal({ ...action, request: lenient }, execution, context);
  const { digests } = context.cache;
  return {
    execution,
    sealed,
    outputs: request.outputs.map((path) =>
      unlessRefused(undefined, () => observeOutput(request.workspace, path, digests)),
    ),
  };
}

/** Why the outputs may contain something that this run did not make. */
function faultOf({ execution, outputs }: FreshRun, { ownership }: RunContext): string | undefined {
  const { statusFault, outputFault } = execution;
  const isComplete = !outputs.includes(undefined);
  return statusFault ?? (isComplete ? outputFault : undefined) ?? ownership?.publishRefusal();
}

function isAsStored(
  hit: Hit,
  { execution }: FreshRun,
  { request }: KeyedAction,
  { cache }: RunContext,
): boolean {
  if (execution.exitCode !== hit.exitCode) return false;
  return unlessRefused(false, () => wrongOutputs(hit.outputs, request.workspace, cache.digests).length === 0);
}

/** After a failure the outputs of an earlier run are put back, unless failures are cached. */
function doAgree(first: FreshRun, second: FreshRun, { request }: KeyedAction): boolean {
  const { exitCode } = first.execution;
  if (second.execution.exitCode !== exitCode) return false;
  if (exitCode !== 0 && request.cacheFailures !== true) return true;
  return first.outputs.every((output, at) => {
    const other = second.outputs[at];
    return output === undefined ? other === undefined : sameOutput(other, output);
  });
}

function unlessRefused<T>(otherwise: T, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof AssayError) return otherwise;
    throw error;
  }
}

/** The states of the facts that allowed the hit, as they were before its command ran. */
class FactsBefore {
  readonly #set: readonly ObservedPath[];
  readonly #states: () => States;
  readonly #before: readonly string[];

  constructor({ set = [] }: Hit, action: KeyedAction, { cache }: RunContext) {
    this.#set = set;
    this.#states = () => new States(action, cache.digests);
    this.#before = set.map(this.#states().of);
  }

  /** A fact that something else than this run changed. */
  changedBesides({ execution }: FreshRun): string | undefined {
    const made = pathsMade(execution.watched?.report.accesses ?? []);
    const madeIn = new Set([...made].map(parentFolder));
    const states = this.#states();
    const changed = this.#set.find((seen, at) => {
      const path = states.roots.resolve(seen);
      if (path !== undefined && (made.has(path) || (seen.names && madeIn.has(path)))) return false;
      return states.of(seen) !== this.#before[at];
    });
    return changed && `${states.roots.shown(changed)} changed while it ran`;
  }
}

function reportLog({ log }: Hit, { execution }: FreshRun, { report }: RunContext): void {
  if (execution.logFault !== undefined) return;
  const [stream] = (['stdout', 'stderr'] as const).filter((name) => !log[name].equals(execution.log[name]));
  if (stream !== undefined)
    report({
      type: 'hit-check',
      text: `its outputs are those of the stored result, but its ${stream} differs`,
    });
}

const SHOWN_ACCESSES = 8;

function verdictTexts(
  verdict: HitVerdict,
  difference: string,
  { execution: { watched } }: FreshRun,
  { set = [] }: Hit,
  action: KeyedAction,
): string[] {
  if (verdict === 'unstable')
    return [
      `UNSTABLE: two runs of this command differ from one another, so its hits depend on which run came first: ${difference} (see \`assay reproduce\`)`,
    ];
  const stale = `STALE HIT: two runs of this command agree, and the stored result differs: ${difference}`;
  if (watched?.where !== 'machine') return [stale];
  const accesses = unmatchedAccesses(action, set, watched);
  const more = accesses.length - SHOWN_ACCESSES;
  const listed = accesses.slice(0, SHOWN_ACCESSES).join(', ') + (more > 0 ? ` and ${more} more` : '');
  const cause =
    accesses.length > 0
      ? `the stored result has no fact for these accesses of this run: ${listed}`
      : 'the stored result has a fact for each access of this run: the command depends on what is no access, such as the clock';
  return [stale, cause];
}

/** A new result that differs from the stored one, and how it differs. */
class Rival {
  readonly difference: string;
  readonly #run: FreshRun;
  readonly #hit: Hit;
  readonly #action: KeyedAction;
  readonly #context: RunContext;

  private constructor(difference: string, run: FreshRun, hit: Hit, action: KeyedAction, context: RunContext) {
    this.difference = difference;
    this.#run = run;
    this.#hit = hit;
    this.#action = action;
    this.#context = context;
  }

  /** Stores the content of its outputs, which the next run removes. */
  static async of(run: FreshRun, hit: Hit, action: KeyedAction, context: RunContext): Promise<Rival> {
    const store = await context.cache.openStore();
    const difference = (store && (await differenceFrom(hit, run, action, store))) ?? 'the outputs';
    return new Rival(difference, run, hit, action, context);
  }

  /** Keeps both results as a divergence, here and at the remote. Returns in words where. */
  async keep(verdict: HitVerdict): Promise<string> {
    const result = this.#result();
    const store = await this.#context.cache.openStore();
    if (typeof result === 'string') return `the stored result stays, and the new one is not kept: ${result}`;
    if (!store) return 'the stored result stays, and the new one is not kept: the local store is not usable';
    const bytes = ActionResult.encode(withVerdict(result, verdict)).finish();
    const places = [
      (await this.#keepHere(bytes, store)) ? 'in the local store' : undefined,
      (await this.#send(bytes, store)) ? 'at the remote' : undefined,
    ].filter((place) => place !== undefined);
    const secret = this.#whyPrivate();
    const unsent = secret === undefined ? '' : `, and not sent: ${secret}`;
    if (places.length === 0) return 'the stored result stays, and the new one could not be kept';
    return `the stored result stays, and the new one is kept ${places.join(' and ')} as a divergence (\`assay divergences\` shows both)${unsent}`;
  }

  /** Or why there is none. Of a failed command, the exit code alone. */
  #result(): ActionResult | string {
    const { execution, sealed } = this.#run;
    if (sealed.publishable) return decodeResult(sealed.result);
    if (execution.exitCode === 0) return sealed.why;
    const origin = originOf(this.#action, this.#context.caller);
    const auxiliaryMetadata = [encodeReceipt(this.#action.key.hash, origin)];
    return {
      ...emptyResult(execution.exitCode),
      executionMetadata: { worker: origin.where ?? '', auxiliaryMetadata },
    };
  }

  async #keepHere(bytes: Uint8Array, store: Store): Promise<boolean> {
    const address = { namespace: DEFAULT_NAMESPACE, key: this.#hit.address };
    try {
      return (await store.results.put(address, bytes, { asRival: true })) === 'diverged';
    } catch (error) {
      this.#context.report({ type: 'hit-check', text: `the local store takes nothing: ${messageOf(error)}` });
      return false;
    }
  }

  async #send(bytes: Uint8Array, { blobs }: Store): Promise<boolean> {
    const { cache, report } = this.#context;
    const remote = await cache.openRemote();
    if (!remote?.usable || !remote.takesWrites || this.#whyPrivate() !== undefined) return false;
    try {
      return await this.#sendTo(remote, bytes, blobs);
    } catch (error) {
      report(handleFault(remote, error));
      return false;
    }
  }

  /** An answer with the path sets of a key tells whether the remote takes a rival. */
  async #sendTo(remote: Remote, bytes: Uint8Array, blobs: Blobs): Promise<boolean> {
    const { sealed } = this.#run;
    const { hash } = this.#action.key;
    await remote.listPathSets(hash, { purpose: 'compare' });
    if (!remote.takesPublications) return false;
    const digests = sealed.publishable ? sealed.contents.map(({ digest }) => digest) : [];
    await upload(digests, blobs, remote, this.#context.report);
    return remote.putRival(hash, { hash: this.#hit.address, size: 0 }, bytes);
  }

  /** Set if the run read something that must stay on this machine. */
  #whyPrivate(): string | undefined {
    const { sealed } = this.#run;
    if (!sealed.publishable) return undefined;
    const { localOnly, pathSet, states } = sealed;
    return localOnly ?? (pathSet && states.privatePaths.whyLocal(pathSet));
  }
}

/** Undefined if the results could not be compared. */
async function differenceFrom(
  hit: Hit,
  { execution, outputs, sealed }: FreshRun,
  { request }: KeyedAction,
  store: Store,
): Promise<string | undefined> {
  const { workspace, workingDirectory } = request;
  try {
    const stored = await store.results.get({ namespace: DEFAULT_NAMESPACE, key: hit.address });
    const present = outputs.filter((output) => output !== undefined);
    const { result, contents } = encodeOutputs(present, workspace, workingDirectory);
    await putLocally([...contents.values(), ...(sealed.publishable ? sealed.contents : [])], store.blobs);
    if (execution.exitCode !== hit.exitCode)
      return `the command ends with ${execution.exitCode} now, and ended with ${hit.exitCode} then`;
    if (!stored) return undefined;
    const made = ActionResult.encode({ ...result, exitCode: hit.exitCode }).finish();
    const { output } = await firstDifference(store.blobs, stored.bytes, made, { left: undefined });
    return output && resultDifferenceText({ output }, ['stored', 'new']);
  } catch {
    return undefined;
  }
}

function checkedEnd(
  checked: Checked,
  { execution, sealed }: FreshRun,
  { outcome, reason, status, receipt }: Hit,
  action: KeyedAction,
  { cache }: RunContext,
): RunEnd {
  const { request } = action;
  const { commandMs } = execution;
  const isRefused = checked === 'different' && request.hermetic === 'strict';
  const ended = isRefused ? { exitCode: NOT_HERMETIC } : endOf(execution, request, sealed.status);
  cache.addToHistory({ action, outcome, reason, checked, exitCode: ended.exitCode || undefined, commandMs });
  return {
    outcome,
    ...ended,
    status,
    reason,
    checked,
    published: false,
    shared: false,
    ...(checked !== 'same' && { diverged: true }),
    ...(receipt && { receipt }),
    outputsWritten: 0,
    commandMs,
  };
}

function notChecked(
  why: string,
  { execution, sealed }: FreshRun,
  action: KeyedAction,
  { cache, report }: RunContext,
  signal?: NodeJS.Signals,
): RunEnd {
  const { commandMs } = execution;
  const miss = { kind: 'forced', by: '--check-hits' } as const;
  const reason = missText(miss);
  report({ type: 'hit-check', text: `the hit could not be checked: ${why}` });
  report({ type: 'not-published', why });
  const own = endOf(execution, action.request, sealed.status);
  const ended = own.exitCode === 0 && signal ? { exitCode: exitCodeOfSignal(signal) } : own;
  const exitCode = ended.exitCode || undefined;
  cache.addToHistory({ action, outcome: 'miss', reason, notKept: why, exitCode, commandMs });
  return {
    outcome: 'miss',
    ...ended,
    status: sealed.status,
    reason,
    cause: causeOfMiss(miss),
    published: false,
    shared: false,
    outputsWritten: 0,
    commandMs,
  };
}
