// A step of a graph that is not remembered to be in place: run as any action is. What it says and reports becomes events under
// its name.
import { AssayError, messageOf } from '../../core/errors.ts';
import type { FindingKind } from '../../hermeticity/verdict/finding.ts';
import type { Variables } from '../action/environment.ts';
import { withDependencyFixes } from '../config/dependency-fix.ts';
import { requestOf, type StepRequest } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { GRAPH } from '../limits.ts';
import type { Cache } from '../run/caches.ts';
import type { RunContext } from '../run/context.ts';
import type { KeyedAction } from '../run/key.ts';
import { type Warning, warningText } from '../run/reporter.ts';
import { type RunSummary, run } from '../run/run.ts';
import type { RunEvent } from '../terminal/events.ts';
import type { RecordedResult } from '../up-to-date/state-recorder.ts';
import { forced, unused } from './cache-modes.ts';
import type { StepTable } from './graph.ts';
import { JobSlot, StepCancelled, WaitedTooLong } from './job-slot.ts';
import { restoreKnown } from './restore-known-step.ts';
import { logStreamsOf, NOTHING_DONE, type StepContext, skipped } from './run-step.ts';
import type { ScheduleSlot } from './schedule.ts';
import type { Emit, StepEnd } from './view/events.ts';

export interface SlotContext extends StepContext {
  readonly slot: ScheduleSlot;
}

export interface ExecuteContext extends SlotContext {
  readonly cache: Cache;
  /** Called when a step wrote something, which may be what another one runs. */
  wrote(): void;
  /** False if another step has reported the like. */
  isNews(event: RunEvent): boolean;
}

/** Never rejects: what goes wrong with a step is the step's outcome. */
export async function executeStep(
  step: Step,
  context: ExecuteContext,
  known: RecordedResult | undefined,
): Promise<StepEnd> {
  const { now } = context;
  const began = now();
  const notes = new Notes(step, context);
  const slot = new JobSlot(context.slot, now);
  try {
    const summary = await runUnlessLate(step, context, known, notes, slot);
    return {
      ...summary,
      step: step.id,
      ...outcomeOf(summary),
      reason: reasonOf(summary.reason, step, context.force),
      elapsedMs: summary.elapsedMs - slot.waitedMs,
      ...(notes.notPublished !== undefined && { notPublished: notes.notPublished }),
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
  }
}

function refusalOf(error: unknown): Pick<StepEnd, 'exitCode' | 'reason' | 'wayOut'> {
  if (!(error instanceof AssayError)) return { exitCode: 125, reason: messageOf(error) };
  const { message: reason, code, entry } = error;
  return { exitCode: code === 'ASSAY_COMMAND_NOT_FOUND' ? 127 : 125, reason, wayOut: entry.hint };
}

/** Who waited long for its turn begins again, from what it asks for: its inputs and tools may be other ones by now. */
async function runUnlessLate(
  step: Step,
  context: ExecuteContext,
  known: RecordedResult | undefined,
  notes: Notes,
  slot: JobSlot,
): Promise<RunSummary> {
  try {
    const asked = requestOf(step, context.workspace, context.caller, context.cache.tools);
    const own = runContext(step, context, asked.caller, notes, slot);
    return (
      (known && (await restoreKnown(step, asked.request, known, context, own))) ??
      (await runAndLearn(step, asked, context, own))
    );
  } catch (error) {
    if (!(error instanceof WaitedTooLong)) throw error;
    return runUnlessLate(step, context, undefined, notes, slot);
  }
}

async function runAndLearn(
  step: Step,
  asked: StepRequest,
  { cache, recorder, wrote, emit }: ExecuteContext,
  own: RunContext,
): Promise<RunSummary> {
  const began = own.now();
  let action: KeyedAction | undefined;
  const onKeyed = (made: KeyedAction) => {
    action = made;
  };
  const summary = await run(asked.request, { ...own, onKeyed });
  if (summary.outcome === 'miss')
    for (const text of step.remarks) emit({ type: 'step-warning', step: step.id, text });
  const isInPlace = summary.exitCode === 0 && summary.outcome !== 'miss' && summary.outputsWritten === 0;
  if (summary.outcome === 'miss') {
    cache.tools.forget();
    cache.systemFiles?.forget();
  }
  if (!isInPlace) {
    recorder.stepRan(step);
    wrote();
  } else if (action) recorder.record(step, asked, action, cache, began);
  return summary;
}

function outcomeOf({ exitCode, outcome }: RunSummary): Pick<StepEnd, 'outcome' | 'replayed'> {
  if (exitCode === 0) return { outcome };
  return { outcome: 'failed', ...(outcome !== 'miss' && { replayed: true }) };
}

function reasonOf(reason: string, { cache }: Step, force: boolean): string {
  if (!cache) return 'it is not cached';
  return force ? 'forced' : reason;
}

function runContext(
  step: Step,
  context: ExecuteContext,
  caller: Variables,
  notes: Notes,
  slot: JobSlot,
): RunContext {
  const { emit, cache, force } = context;
  return {
    ...logStreamsOf(step, emit),
    cache: step.cache ? (force ? forced(cache) : cache) : unused(cache),
    caller,
    withoutState: force,
    uploadsLater: true,
    report: (event) => notes.take(event),
    acquireJobSlot: () => slot.acquire(),
    throwIfCancelled: () => slot.throwIfCancelled(),
    now: () => context.now(),
  };
}

const WRITES: ReadonlySet<FindingKind> = new Set(['write', 'mutate', 'delete']);

/** What a run reports while it goes on, kept or passed on. */
class Notes {
  notPublished: string | undefined;
  readonly #step: Step;
  readonly #steps: StepTable;
  readonly #emit: Emit;
  readonly #isNews: ExecuteContext['isNews'];
  readonly #strayWrites: Set<string>;
  #counted = { up: 0, down: 0 };

  constructor(step: Step, { emit, isNews, workspace, strayWrites }: ExecuteContext) {
    this.#step = step;
    this.#steps = workspace.steps;
    this.#emit = emit;
    this.#isNews = isNews;
    this.#strayWrites = strayWrites;
  }

  take(event: RunEvent): void {
    if (event.type === 'not-published') this.notPublished = event.why;
    else if (event.type === 'transfer') this.#count(event.direction, event.bytes);
    else if (event.type === 'remote-given-up' || event.type === 'remote-takes-nothing') this.#warnOnce(event);
    else if (event.type === 'findings') this.#handleFindings(event);
    else if (event.type !== 'sending') this.#warn(event);
  }

  #handleFindings(event: Warning & { type: 'findings' }): void {
    const findings = withDependencyFixes(event.findings, this.#step, this.#steps);
    for (const { kind, path } of findings)
      if (WRITES.has(kind) && path !== undefined) this.#strayWrites.add(path);
    if (this.#step.hermetic === 'strict') this.#warnEach({ ...event, findings });
    else this.#warn({ ...event, findings });
  }

  /** A remote fails all steps in the same way. */
  #warnOnce(event: Warning): void {
    if (this.#isNews(event)) this.#emit({ type: 'run-warning', text: warningText(event) });
  }

  /** Where they are why it failed, one and a count of the others is not enough. */
  #warnEach({ type, findings, gaps }: Warning & { type: 'findings' }): void {
    for (const finding of findings.slice(0, GRAPH.findingsShown))
      this.#warn({ type, findings: [finding], gaps: [] });
    const rest = findings.slice(GRAPH.findingsShown);
    if (rest.length > 0 || gaps.length > 0) this.#warn({ type, findings: rest, gaps });
  }

  #warn(event: Warning): void {
    this.#emit({ type: 'step-warning', step: this.#step.id, text: warningText(event) });
  }

  /** A run counts from the start for each batch of blobs that it moves. */
  #count(direction: 'up' | 'down', total: number): void {
    const before = total < this.#counted[direction] ? 0 : this.#counted[direction];
    this.#counted = { ...this.#counted, [direction]: total };
    this.#emit({ type: 'step-transfer', step: this.#step.id, direction, bytes: total - before });
  }
}
