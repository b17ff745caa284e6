// Executes a step that is not up to date: restores its known result, or runs it as any action (run/run.ts).
// The step's log and reports become events that carry its name.
import { AssayError, messageOf } from '../../core/errors.ts';
import type { FindingKind } from '../../hermeticity/verdict/finding.ts';
import { causeOfMiss, type Miss } from '../../store/actions/miss.ts';
import { missText } from '../../store/actions/miss-text.ts';
import type { Variables } from '../action/environment.ts';
import type { RunRequest } from '../action/request.ts';
import { withDependencyFixes } from '../config/dependency-fix.ts';
import { requestOf } from '../config/request.ts';
import type { Step, StepTable } from '../config/step.ts';
import type { KeyedAction } from '../inputs/keyed-action.ts';
import type { SharedJobs } from '../jobs/shared-jobs.ts';
import type { LeaseWait } from '../lease/action-lease.ts';
import { GRAPH } from '../limits.ts';
import type { ScratchPool } from '../process/scratch-pool.ts';
import { disabled, storeOnly } from '../run/cache-modes.ts';
import type { Cache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import type { Hit } from '../run/hit.ts';
import { type RunWarning, warningText } from '../run/reporter.ts';
import { type RunSummary, run } from '../run/run.ts';
import type { RunEvent } from '../terminal/events.ts';
import type { RecordedResult } from '../up-to-date/state-recorder.ts';
import type { Emit, StepEnd } from '../view/events.ts';
import { JobSlot, StepCancelled, WaitedTooLong } from './job-slot.ts';
import type { MadeSteps } from './made-steps.ts';
import { restoreKnown } from './restore-known-step.ts';
import { logStreamsOf, NOTHING_DONE, type StepContext, skipped } from './run-step.ts';
import type { ScheduleSlot } from './schedule.ts';

export interface SlotContext extends StepContext {
  readonly slot: ScheduleSlot;
}

export interface ExecuteContext extends SlotContext {
  readonly cache: Cache;
  readonly madeSteps: MadeSteps;
  readonly scratch: ScratchPool;
  /** The job slots of all runs of the user; without them this run is bounded by its own --jobs alone. */
  readonly jobs?: SharedJobs | undefined;
  /** Called after a step wrote files: another step may use them as tools. */
  wrote(): void;
  /** False if another step has already reported this event type. */
  isFirst(event: RunEvent): boolean;
}

type StepRunContext = ExecuteContext & { readonly leaseWait: LeaseWait };

/** Never rejects: an error of a step becomes the outcome of the step. */
export async function executeStep(
  step: Step,
  context: ExecuteContext,
  known: RecordedResult | undefined,
): Promise<StepEnd> {
  const { now } = context;
  const began = now();
  const reports = new StepReports(step, context);
  const { jobs, emit } = context;
  const slot = new JobSlot(context.slot, now, jobs && { jobs, asked: { step: step.id, emit } });
  const leaseWait = { totalMs: 0 };
  try {
    const summary = await runWithRetry(step, { ...context, leaseWait }, known, reports, slot);
    return {
      ...summary,
      step: step.id,
      ...outcomeOf(summary),
      ...whyItRan(summary, step, context.force),
      elapsedMs: summary.elapsedMs - slot.waitedMs,
      ...(reports.notPublished !== undefined && { notPublished: reports.notPublished }),
    };
  } catch (error) {
    if (error instanceof StepCancelled) return skipped(step, error.message);
    return {
      ...NOTHING_DONE,
      step: step.id,
      outcome: 'failed',
      ...refusalOf(error),
      elapsedMs: now() - began,
    };
  } finally {
    slot.close();
  }
}

function refusalOf(error: unknown): Pick<StepEnd, 'exitCode' | 'reason' | 'wayOut'> {
  if (!(error instanceof AssayError)) return { exitCode: 125, reason: messageOf(error) };
  const { message: reason, code, entry } = error;
  return { exitCode: code === 'ASSAY_COMMAND_NOT_FOUND' ? 127 : 125, reason, wayOut: entry.hint };
}

/**
 * Starts again from the request after a long wait for a job slot: inputs and tools may have changed
 * meanwhile.
 */
async function runWithRetry(
  step: Step,
  context: StepRunContext,
  known: RecordedResult | undefined,
  reports: StepReports,
  slot: JobSlot,
): Promise<RunSummary> {
  try {
    const declared = requestOf(step, context.workspace, context.caller, context.cache.tools);
    const keepsHere = context.keepsFailures && declared.cacheFailures === false;
    const request: RunRequest = keepsHere ? { ...declared, cacheFailures: 'local' } : declared;
    const own = runContext(step, context, context.caller, reports, slot);
    return (
      (known && (await restoreKnown(step, request, known, context, own))) ??
      (await runAndRecord(step, request, context, own))
    );
  } catch (error) {
    if (!(error instanceof WaitedTooLong)) throw error;
    return runWithRetry(step, context, undefined, reports, slot);
  }
}

async function runAndRecord(
  step: Step,
  request: RunRequest,
  { cache, recorder, wrote, madeSteps, emit }: ExecuteContext,
  own: RunContext,
): Promise<RunSummary> {
  const began = own.now();
  let action: KeyedAction | undefined;
  const onKeyed = (made: KeyedAction) => {
    action = made;
  };
  const onMade = (hit: Hit, how: 'executed' | 'restored') => {
    if (action) madeSteps.add(step, action, hit, how, own.now());
  };
  const summary = await run(request, { ...own, onKeyed, onMade });
  if (summary.outcome === 'miss')
    for (const text of step.remarks) emit({ type: 'step-warning', step: step.id, text });
  const hasRun = summary.outcome === 'miss' || summary.checked !== undefined;
  const isInPlace = summary.exitCode === 0 && !hasRun && summary.outputsWritten === 0;
  if (hasRun) {
    cache.tools.forget();
    cache.systemFiles?.forget();
  }
  if (!isInPlace) {
    recorder.stepRan(step);
    wrote();
  } else if (action) recorder.record(step, action, cache, began);
  return summary;
}

function outcomeOf({ exitCode, outcome, checked }: RunSummary): Pick<StepEnd, 'outcome' | 'replayed'> {
  if (exitCode === 0) return { outcome };
  return { outcome: 'failed', ...(outcome !== 'miss' && !checked && { replayed: true }) };
}

/** A person who gave --force, or whose step is not cached, reads that as the reason, not what the lookup found. */
function whyItRan(
  { outcome }: RunSummary,
  { cache }: Step,
  force: boolean,
): Partial<Pick<StepEnd, 'reason' | 'cause'>> {
  if (cache && !force) return {};
  const miss: Miss = cache ? { kind: 'forced', by: '--force' } : { kind: 'not-cached' };
  return { reason: missText(miss), ...(outcome === 'miss' && { cause: causeOfMiss(miss) }) };
}

function runContext(
  step: Step,
  context: StepRunContext,
  caller: Variables,
  reports: StepReports,
  slot: JobSlot,
): RunContext {
  const { emit, cache, scratch, force, sample, stepHook, actionLease, leaseWait, retries } = context;
  return {
    ...logStreamsOf(step, emit),
    cache: step.cache ? (force ? storeOnly(cache) : cache) : disabled(cache),
    caller,
    sample,
    stepHook,
    retries,
    withoutState: force,
    uploadsLater: true,
    scratch,
    report: (event) => reports.handle(event),
    acquireJobSlot: () => slot.acquire(() => emit({ type: 'step-resumed', step: step.id })),
    releaseJobSlot: () => slot.release(),
    leaveJobSlot: () => slot.leave(),
    actionLease: step.cache && !force ? actionLease : 'off',
    leaseWait,
    throwIfCancelled: () => slot.throwIfCancelled(),
    now: () => context.now(),
  };
}

const WRITES: ReadonlySet<FindingKind> = new Set(['write', 'mutate', 'delete']);

/** Turns the reports of one step's run into graph events. */
class StepReports {
  notPublished: string | undefined;
  readonly #step: Step;
  readonly #steps: StepTable;
  readonly #emit: Emit;
  readonly #isFirst: ExecuteContext['isFirst'];
  readonly #strayWrites: Set<string>;
  readonly #warned = new Set<string>();
  #counted = { up: 0, down: 0 };

  constructor(step: Step, { emit, isFirst, workspace, strayWrites }: ExecuteContext) {
    this.#step = step;
    this.#steps = workspace.steps;
    this.#emit = emit;
    this.#isFirst = isFirst;
    this.#strayWrites = strayWrites;
  }

  handle(event: RunEvent): void {
    if (event.type === 'not-published') this.notPublished = event.why;
    else if (event.type === 'transfer') this.#count(event.direction, event.bytes);
    else if (event.type === 'remote-given-up' || event.type === 'remote-takes-nothing') this.#warnOnce(event);
    else if (event.type === 'unwatched' && event.anyCommand) this.#warnOnce(event);
    else if (event.type === 'findings') this.#handleFindings(event);
    else if (event.type === 'retried') this.#emit({ ...event, type: 'step-retried', step: this.#step.id });
    else if (event.type === 'waiting-for-run')
      this.#emit({ ...event, type: 'step-waits-for-run', step: this.#step.id });
    else if (event.type !== 'sending') this.#warn(event);
  }

  #handleFindings(event: RunWarning & { type: 'findings' }): void {
    const findings = withDependencyFixes(event.findings, this.#step, this.#steps);
    this.#emit({
      type: 'step-findings',
      step: this.#step.id,
      findings: findings.map(({ kind, path = '', detail = '' }) => ({ kind, path, detail })),
    });
    for (const { kind, path } of findings)
      if (WRITES.has(kind) && path !== undefined) this.#strayWrites.add(path);
    if (this.#step.hermetic === 'strict') this.#warnEach({ ...event, findings });
    else this.#warn({ ...event, findings });
  }

  /** A remote fails in the same way for all steps, and so does a tracer: the warning appears once. */
  #warnOnce(event: RunWarning): void {
    if (this.#isFirst(event)) this.#emit({ type: 'run-warning', text: warningText(event) });
  }

  /** Under "strict" the findings are why the step failed, so each one is shown. */
  #warnEach({ type, findings, gaps }: RunWarning & { type: 'findings' }): void {
    for (const finding of findings.slice(0, GRAPH.findingsShown))
      this.#warn({ type, findings: [finding], gaps: [] });
    const rest = findings.slice(GRAPH.findingsShown);
    if (rest.length > 0 || gaps.length > 0) this.#warn({ type, findings: rest, gaps });
  }

  /** The tries of a command give the same warnings: each appears once. */
  #warn(event: RunWarning): void {
    const text = warningText(event);
    if (this.#warned.size < this.#warned.add(text).size)
      this.#emit({ type: 'step-warning', step: this.#step.id, text });
  }

  /** `total` starts again at 0 for each batch of blobs. */
  #count(direction: 'up' | 'down', total: number): void {
    const before = total < this.#counted[direction] ? 0 : this.#counted[direction];
    this.#counted = { ...this.#counted, [direction]: total };
    this.#emit({ type: 'step-transfer', step: this.#step.id, direction, bytes: total - before });
  }
}
