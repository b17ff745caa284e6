// One action from key to result. This file is the map: each arrow of the flow is one call, and each call is one file.
//
//                 ┌─ hit ──> restore ──────────────────┐
//   key > lookup ─┤                                    ├─> the log, the exit code
//                 └─ miss ─> execute > seal > publish ─┘
//
// The command's exit code and outputs are the same whether or not any cache works.
import type { Hash } from '../../core/digest.ts';
import type { EvidenceStatus } from '../../core/evidence.ts';
import type { RunRequest } from '../action/request.ts';
import type { Outcome } from '../history/history.ts';
import { whileOwningOutputs } from '../outputs/output-lock.ts';
import { isInPlace, restore } from '../outputs/restore.ts';
import type { Checkpoints } from '../snapshots/checkpoint/checkpoints.ts';
import type { StateAroundRun } from '../snapshots/state/state-around-run.ts';
import type { RunContext } from './context.ts';
import { type Execution, execute } from './execute.ts';
import { explain } from './explain.ts';
import { type IdentifiedAction, type KeyedAction, keyOf } from './key.ts';
import { replay } from './log.ts';
import { type Hit, lookup } from './lookup.ts';
import { MissReasons } from './miss-reasons.ts';
import { publish } from './publish.ts';
import { seal } from './seal.ts';

/** The exit code of a command that was to be hermetic and is not. */
export const NOT_HERMETIC = 3;

export interface RunSummary {
  readonly outcome: Outcome;
  readonly key: string;
  /** The command's; or NOT_HERMETIC. */
  readonly exitCode: number;
  /** The second of these: the command itself ended well. */
  readonly notHermetic?: true;
  /** What is known of the run that made the result. */
  readonly standing: EvidenceStatus;
  /** For a miss: what differs from the closest earlier action. */
  readonly reason: string;
  /** The result is in the local store for the next run. */
  readonly published: boolean;
  /** It is at the remote too; where uploads go on beside the run, it may still get there. */
  readonly shared: boolean;
  /** Another result of the same action was there first, here or at the remote, and stays. */
  readonly diverged?: true;
  /** Why the result of a command that ran is not there, if it is not. */
  readonly notPublished?: string;
  /** How many outputs had to be written; the others were right already. */
  readonly outputsWritten: number;
  /** How long the command takes when it runs, and how long all of this took. */
  readonly commandMs: number;
  readonly elapsedMs: number;
}

export async function run(request: RunRequest, context: RunContext): Promise<RunSummary> {
  const began = context.now();
  const heard = new MissReasons();
  const hearing = heard.within(context);
  const action = keyOf(request, context);
  context.onKeyed?.(action);
  const hit = await lookup(action, hearing);
  const ran = (hit && (await useHit(hit, action, hearing))) ?? (await makeResult(action, hearing, heard));
  const shared = await finishSharing(ran.sent, began, context);
  const notPublished = ran.outcome === 'miss' && !ran.published ? heard.notKept : undefined;
  return {
    ...withoutSent(ran),
    ...shared,
    key: action.key.hash,
    ...(notPublished !== undefined && { notPublished }),
    elapsedMs: context.now() - began,
  };
}

/** All but what the caller knows; `sent` is the key of a result that is on its way to the remote. */
export type RunEnd = Omit<RunSummary, 'key' | 'elapsedMs'> & { readonly sent?: Hash };

function withoutSent({ sent: _, ...ran }: RunEnd): Omit<RunEnd, 'sent'> {
  return ran;
}

/** Nobody waits for uploads but the run itself: its outputs are in place, and nobody else's are locked. */
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

/** Undefined if its outputs could not be put in place. */
async function useHit(hit: Hit, action: KeyedAction, context: RunContext): Promise<RunEnd | undefined> {
  if (isInPlace(hit, action, context)) return finishHit(hit, 0, action, context);
  return whileOwningOutputs(action.request, context, async (waited, ownership) => {
    return restoreHit(waited ? await lookup(action, context) : hit, action, { ...context, ownership });
  });
}

/**
 * First the turn, then the outputs: whoever owns outputs has all that it needs to finish, so nobody who waits for them waits for
 * ever. Who had to wait for another run of the same step looks again: that one may have made what is wanted.
 */
async function makeResult(action: KeyedAction, context: RunContext, heard: MissReasons): Promise<RunEnd> {
  await context.acquireJobSlot?.();
  return whileOwningOutputs(action.request, context, async (waited, ownership) => {
    const owning = { ...context, ownership };
    const restored = waited && (await restoreHit(await lookup(action, context), action, owning));
    return restored || runCommand(action, owning, heard);
  });
}

async function restoreHit(
  hit: Hit | undefined,
  action: KeyedAction,
  context: RunContext,
): Promise<RunEnd | undefined> {
  const restored = hit && (await restore(hit, action, context));
  return restored && finishHit(hit, restored.written, action, context);
}

export function finishHit(
  hit: Hit,
  outputsWritten: number,
  action: IdentifiedAction,
  context: RunContext,
): RunEnd {
  const { outcome, reason, exitCode, commandMs, standing } = hit;
  replay(hit.log, context);
  context.cache.addToHistory({ action, outcome, reason, commandMs });
  const kept = { published: false, shared: false };
  return { outcome, exitCode, standing, reason, ...kept, outputsWritten, commandMs };
}

async function runCommand(action: KeyedAction, context: RunContext, heard: MissReasons): Promise<RunEnd> {
  const { reason, against } = await explain(action, context, heard.refusal);
  const state = await openState(action, context);
  const { execution, checkpoints } = await executeAction(action, context, state);
  const sealed = seal(action, execution, context);
  const { published, diverged, sent } = await publish(action, sealed, context);
  await checkpoints?.finish(published);
  if (context.ownership?.doubt() === undefined) await state?.save(execution);
  const { commandMs } = execution;
  const { standing } = sealed;
  const ended = endOf(execution, action.request, standing);
  const { notKept } = heard;
  const noted = { notKept, exitCode: ended.exitCode || undefined, commandMs };
  context.cache.addToHistory({ action, outcome: 'miss', reason, against, ...noted });
  const kept = { published, shared: false, ...(diverged && { diverged }), ...(sent && { sent }) };
  return { outcome: 'miss', ...ended, standing, reason, ...kept, outputsWritten: 0, commandMs };
}

async function openState(action: KeyedAction, context: RunContext): Promise<StateAroundRun | undefined> {
  if (action.request.state.length === 0) return undefined;
  const { StateAroundRun } = await import('../snapshots/state/state-around-run.ts');
  return StateAroundRun.open(action, context);
}

async function executeAction(
  action: KeyedAction,
  context: RunContext,
  state: StateAroundRun | undefined,
): Promise<{ execution: Execution; checkpoints?: Checkpoints }> {
  const { checkpoint } = action.request;
  const preparation = state ? { restoreState: () => state.prepare() } : {};
  if (!checkpoint) return { execution: await execute(action, context, preparation) };
  const { executeWithCheckpoints } = await import('../snapshots/checkpoint/execute.ts');
  return executeWithCheckpoints(action, checkpoint, context, preparation);
}

/** A command that failed has the word; one that went well but saw more than it declared fails where that was asked for. */
function endOf(
  { exitCode }: Execution,
  { hermetic }: RunRequest,
  standing: EvidenceStatus,
): Pick<RunEnd, 'exitCode' | 'notHermetic'> {
  const isRefused = exitCode === 0 && hermetic === 'strict' && standing !== 'clean';
  return isRefused ? { exitCode: NOT_HERMETIC, notHermetic: true } : { exitCode };
}
