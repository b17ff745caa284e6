// Runs one action from its key to its result. This file is the map: each arrow is one call, and each call one
// file.
//
//                 ┌─ hit ──> restore ──────────────────┐
//   key > lookup ─┤                                    ├─> the log, the exit code
//                 └─ miss ─> execute > seal > publish ─┘
//
// A hit that --check-hits sampled runs its command all the same (HitChecks in context.ts).
// The command's exit code and outputs are the same with a working cache, a broken one, or none.
import type { Digest, Hash } from '../../core/digest.ts';
import { type EvidenceStatus, lacksProof } from '../../core/evidence.ts';
import type { Checked } from '../../core/metadata/receipt.ts';
import { RUN_REPORT, type Tries } from '../../core/metadata/run-report.ts';
import type { MissCause, ReportedDifference } from '../../core/metadata/run-report-schema.ts';
import { causeOfMiss } from '../../store/actions/miss.ts';
import { missText } from '../../store/actions/miss-text.ts';
import type { RunRequest } from '../action/request.ts';
import { keepDifferences, reportedDifferences } from '../history/differences.ts';
import type { Outcome, SeenIn } from '../history/history.ts';
import type { IdentifiedAction, KeyedAction } from '../inputs/keyed-action.ts';
import { ActionLease, type LeaseUse } from '../lease/action-lease.ts';
import { withOutputLocks } from '../outputs/output-lock.ts';
import { type Log, replay } from '../process/log.ts';
import { executeTries } from '../retry/tries.ts';
import type { HitChecks, RunContext } from './context.ts';
import { type Execution, execute } from './execute.ts';
import { explain } from './explain.ts';
import type { Hit } from './hit.ts';
import { changedSince, keyAction } from './key.ts';
import { lookup, lookupLocally } from './lookup.ts';
import { MissReasons } from './miss-reasons.ts';
import { ownHit } from './own-hit.ts';
import { keepFailedLog, publish } from './publish.ts';
import type { HitReceipt } from './receipt.ts';
import { isInPlace, restore } from './restore-hit.ts';
import { seal } from './seal.ts';
import type { AroundCommand } from './step-hook.ts';

/** The exit code for a successful command that --hermetic=strict refuses. */
export const NOT_HERMETIC = 3;

export interface RunSummary {
  readonly outcome: Outcome;
  readonly key: string;
  /** The command's own exit code, or NOT_HERMETIC. */
  readonly exitCode: number;
  /** The exit code is NOT_HERMETIC: the command itself succeeded. */
  readonly notHermetic?: true;
  /** The evidence status of the run that made the result. */
  readonly status: EvidenceStatus;
  /** For a miss: the difference from the closest earlier action. */
  readonly reason: string;
  /** Of a miss: the same for a machine. */
  readonly cause?: MissCause;
  /** Of a miss: what differs from the earlier action, without values; how many more; where the earlier run was. */
  readonly differences?: readonly ReportedDifference[];
  readonly moreDifferences?: number;
  readonly seen?: SeenIn;
  /** The result is in the local store. */
  readonly published: boolean;
  /** The remote has the result. False while an upload is still in progress. */
  readonly shared: boolean;
  /** The local store or the remote has a different result of the same action, which stays. */
  readonly diverged?: true;
  /** Why the result was not published, if the command ran and it was not. */
  readonly notPublished?: string;
  /** If the command was run more than once (--retry). */
  readonly tries?: Tries;
  /** For a hit whose command ran all the same (--check-hits): whether it made what is stored. */
  readonly checked?: Checked;
  /** For a hit: whose run made the result, and what was compared. */
  readonly receipt?: HitReceipt;
  /** If it failed: the blob in the local store with the end of what it printed. */
  readonly log?: Digest;
  /** How many outputs were written; the others were already correct. */
  readonly outputsWritten: number;
  /** The duration of the command when it ran, and of this whole run. */
  readonly commandMs: number;
  readonly elapsedMs: number;
  /** What the run had to do with action leases, and how long it waited for other runs; absent for "none". */
  readonly actionLease?: LeaseUse;
  readonly leaseWaitedMs?: number;
  /** The address of the run's page, if a server took its report. */
  readonly page?: string;
}

export async function run(request: RunRequest, given: RunContext): Promise<RunSummary> {
  const context = { ...given, leaseWait: given.leaseWait ?? { totalMs: 0 } };
  const began = context.now();
  const reasons = new MissReasons();
  const recording = reasons.within(context);
  const action = keyAction(request, context);
  context.onKeyed?.(action);
  const hit = await lookup(action, recording);
  const sampled = hit && checksOf(hit, action, recording) ? hit : undefined;
  const used = hit && !sampled ? await useHit(hit, action, recording) : undefined;
  const looksAgain = hit === undefined || sampled !== undefined;
  const ran = used ?? (await makeResult(action, recording, reasons, looksAgain, sampled));
  if (ran === 'inputs-changed') return run(request, { ...context, actionLease: 'off' });
  const shared = await finishSharing(ran.sent, began, context);
  const log = ran.printed && (await keepFailedLog(ran.printed, action, context));
  const notPublished = ran.outcome === 'miss' && !ran.published ? reasons.notKept : undefined;
  return {
    ...withoutSent(ran),
    ...shared,
    ...(log && { log }),
    key: action.key.hash,
    ...(notPublished !== undefined && { notPublished }),
    ...leaseSummary(ran.actionLease, context.leaseWait.totalMs),
    elapsedMs: context.now() - began,
  };
}

/** `sent`: the key of a result whose upload has begun. `printed`: the log of a failure. */
export type RunEnd = Omit<RunSummary, 'key' | 'elapsedMs' | 'log'> & {
  readonly sent?: Hash;
  readonly printed?: Log;
};

function withoutSent({ sent: _, printed: __, ...ran }: RunEnd): Omit<RunEnd, 'sent' | 'printed'> {
  return ran;
}

/** Waits for the uploads after the output locks are released, so that no other run waits for them. */
async function finishSharing(
  sent: Hash | undefined,
  began: number,
  { cache, report, uploadsLater }: RunContext,
): Promise<Partial<Pick<RunSummary, 'shared' | 'diverged'>>> {
  if (!uploadsLater) {
    const { unshared, why } = await cache.finishUploads(began, {
      sending: (results) => report({ type: 'sending', results }),
    });
    if (unshared > 0) report({ type: 'unshared', results: unshared, why });
  }
  if (!sent) return {};
  const uploads = await cache.openUploads();
  return {
    shared: uploads?.isShared(sent) ?? false,
    ...(uploads?.isDiverged(sent) && { diverged: true }),
  };
}

function leaseSummary(
  use: LeaseUse = 'none',
  waitedMs: number,
): Pick<RunSummary, 'actionLease' | 'leaseWaitedMs'> {
  if (use === 'none' && waitedMs === 0) return {};
  return { actionLease: use === 'none' ? 'waited' : use, leaseWaitedMs: Math.round(waitedMs) };
}

/** Nothing proves an unproven result, so a check of it would tell nothing. */
function checksOf({ status }: Hit, { key }: KeyedAction, { sample }: RunContext): HitChecks | undefined {
  return sample?.includes(key.hash) && !lacksProof(status) ? sample : undefined;
}

/** Undefined if the outputs could not be restored. */
async function useHit(hit: Hit, action: KeyedAction, context: RunContext): Promise<RunEnd | undefined> {
  if (isInPlace(hit, action, context)) return finishHit(hit, 0, action, context);
  return withOutputLocks(action.request, context, async (waited, ownership) => {
    return restoreHit(waited ? await lookup(action, context) : hit, action, { ...context, ownership });
  });
}

/**
 * Takes the job slot first, then the action's lease, which gives the slot back while it waits. Then the output locks: a
 * run that holds a lock waits for nothing else, so there is no deadlock.
 * With the locks it looks up the result again: another run may have made it since. If it ran the command nevertheless,
 * the outputs would be away for a while, and somebody may be reading them. `looksAgain` is false after a result that
 * could not be restored: it is not tried again. `sampled`: the hit that is to be checked.
 */
async function makeResult(
  action: KeyedAction,
  context: RunContext,
  reasons: MissReasons,
  looksAgain: boolean,
  sampled: Hit | undefined,
): Promise<RunEnd | 'inputs-changed'> {
  await context.acquireJobSlot?.();
  const waitedBefore = context.leaseWait?.totalMs;
  const lease = await ActionLease.before<Hit>({
    request: action.request,
    isAsked: context.actionLease === 'auto' && !context.cache.findsNothing && !sampled,
    history: () => context.cache.history.entries(),
    earlier: () => reasons.earlier,
    lookAgain: () => lookup(action, context),
    ask: async (asked) => (await context.stepHook?.())?.lease?.(action, context, asked),
  });
  try {
    if (context.leaseWait?.totalMs !== waitedBefore && changedSince(action, context) !== undefined)
      return 'inputs-changed';
    const used = lease.hit && (await useHit(lease.hit, action, context));
    const leased = { ...context, lease };
    const end = used ?? (await makeWithLocks(action, leased, reasons, looksAgain, sampled));
    return { ...end, actionLease: lease.use };
  } finally {
    lease.close();
  }
}

function makeWithLocks(
  action: KeyedAction,
  context: LeasedContext,
  reasons: MissReasons,
  looksAgain: boolean,
  sampled: Hit | undefined,
): Promise<RunEnd> {
  return withOutputLocks(action.request, context, async (waited, ownership) => {
    const owning = { ...context, ownership };
    const lookAgain = waited ? lookup : lookupLocally;
    const hit = waited || looksAgain ? await lookAgain(action, context) : undefined;
    const checks = hit && checksOf(hit, action, context);
    if (checks) return check(checks, hit.result === sampled?.result ? sampled : hit, action, owning);
    return (await restoreHit(hit, action, owning)) ?? runCommand(action, owning, reasons);
  });
}

function check(checks: HitChecks, hit: Hit, action: KeyedAction, context: RunContext): Promise<RunEnd> {
  return checks.check(hit, action, { ...context, withoutState: true }, async (own) => {
    const around = await surround(action, own);
    const execution = await around.execute();
    // A later check must not start from a checkpoint of this one.
    await around.finish(true, undefined);
    return execution;
  });
}

async function restoreHit(
  hit: Hit | undefined,
  action: KeyedAction,
  context: RunContext,
): Promise<RunEnd | undefined> {
  const restored = hit && (await restore(hit, action, context));
  if (!restored) return undefined;
  if (restored.written > 0) context.onMade?.(hit, 'restored');
  return finishHit(hit, restored.written, action, context);
}

export function finishHit(
  hit: Hit,
  outputsWritten: number,
  action: IdentifiedAction,
  context: RunContext,
): RunEnd {
  const { outcome, reason, exitCode, commandMs, status, receipt } = hit;
  replay(hit.log, context);
  const failed = hit.isKeptFailure && { exitCode };
  context.cache.addToHistory({ action, outcome, reason, commandMs, ...failed });
  const kept = { published: false, shared: false };
  return {
    outcome,
    exitCode,
    status,
    reason,
    ...kept,
    ...(receipt && { receipt }),
    ...(exitCode !== 0 && { printed: hit.log }),
    outputsWritten,
    commandMs,
  };
}

type LeasedContext = RunContext & { readonly lease: ActionLease<Hit> };

async function runCommand(
  action: KeyedAction,
  context: LeasedContext,
  reasons: MissReasons,
): Promise<RunEnd> {
  const { lease } = context;
  const { miss, against, seen, differences } = await explain(action, context, reasons);
  const reason = missText(miss);
  const around = await surround(action, context);
  lease.commandStarted();
  const execution = await executeWithRetries(around, action, context);
  lease.commandEnded(execution);
  // After a failure no further command begins, so a step that may fail keeps its slot until that is known.
  const isDone = execution.exitCode === 0 && action.request.hermetic !== 'strict';
  if (isDone) await handOverSlot(context);
  const sealed = seal(action, execution, context);
  const { commandMs } = execution;
  const { status } = sealed;
  const ended = endOf(execution, action.request, status);
  if (!isDone && ended.exitCode === 0) context.releaseJobSlot?.();
  const { published, diverged, sent, address } = await publish(action, sealed, context);
  lease.stored(published, sent);
  if (sealed.publishable && address)
    context.onMade?.(ownHit(action, sealed, execution, address, context), 'executed');
  await around.finish(published, context.ownership?.publishRefusal() === undefined ? execution : undefined);
  const { notKept } = reasons;
  const { tries } = execution;
  const noted = { notKept, exitCode: ended.exitCode || undefined, commandMs, tries };
  const store = against === undefined ? await context.cache.openStore() : undefined;
  const kept = store && (await keepDifferences(differences, store.blobs));
  context.cache.addToHistory({ action, outcome: 'miss', reason, against, seen, differences: kept, ...noted });
  const more = differences.length - RUN_REPORT.maxDifferences;
  const explained = {
    ...(differences.length > 0 && { differences: reportedDifferences(differences) }),
    ...(more > 0 && { moreDifferences: more }),
    ...(seen && { seen }),
  };
  const stored = { published, shared: false, ...(diverged && { diverged }), ...(sent && { sent }) };
  return {
    outcome: 'miss',
    ...ended,
    status,
    reason,
    cause: causeOfMiss(miss),
    ...explained,
    ...stored,
    ...(tries && { tries }),
    ...(ended.exitCode !== 0 && { printed: execution.log }),
    outputsWritten: 0,
    commandMs,
  };
}

function executeWithRetries(
  { execute }: AroundCommand,
  action: KeyedAction,
  context: RunContext,
): Promise<Execution> {
  const { retries, cache, report, signal } = context;
  if (!retries) return execute();
  return executeTries(execute, {
    ...{ action, retries, report, signal, digests: cache.digests },
    changedSince: () => changedSince(action, context),
    throwIfCancelled: () => context.throwIfCancelled?.(),
    forget() {
      cache.tools.forget();
      cache.systemFiles?.forget();
    },
  });
}

/** Lets the next command start before this run seals its result, which occupies the process for milliseconds. */
async function handOverSlot({ releaseJobSlot }: RunContext): Promise<void> {
  if (!releaseJobSlot) return;
  releaseJobSlot();
  await new Promise((resolve) => setImmediate(resolve));
}

/** Loaded late: few steps declare state or checkpoints. */
async function surround(action: KeyedAction, context: RunContext): Promise<AroundCommand> {
  const { state, checkpoint } = action.request;
  if (state.length === 0 && !checkpoint)
    return { execute: () => execute(action, context), async finish() {} };
  const { openAround } = await import('./step-hook.ts');
  return openAround(action, context);
}

/**
 * The command's own exit code wins. With --hermetic=strict, an undeclared access turns success into failure.
 */
export function endOf(
  { exitCode }: Execution,
  { hermetic }: RunRequest,
  status: EvidenceStatus,
): Pick<RunEnd, 'exitCode' | 'notHermetic'> {
  const isRefused = exitCode === 0 && hermetic === 'strict' && status !== 'declared';
  return isRefused ? { exitCode: NOT_HERMETIC, notHermetic: true } : { exitCode };
}
