// Runs a graph: schedules its steps, emits their events, waits for uploads and returns the totals.
import { GRAPH } from '../limits.ts';
import type { Emit, GraphEvent, GraphSummary, StepEnd } from '../view/events.ts';
import { EVENTS_VERSION } from '../view/events.ts';
import { RunCounter, type UploadOutcome } from '../view/run-totals.ts';
import type { Graph } from './graph.ts';
import { runStep, type StepContext, skipped } from './run-step.ts';
import { schedule } from './schedule.ts';

interface GraphOptions extends StepContext {
  readonly jobs: number;
  readonly keepGoing: boolean;
  /** The exit code of an interrupt; undefined before one. */
  interrupted(): number | undefined;
  /** Called after the last command, unless the run was interrupted. */
  recordMade(began: number): Promise<void>;
  /** Waits for uploads and reports those that are left. */
  finishUploads(began: number, emit: Emit): Promise<UploadOutcome>;
}

export async function runGraph({ order }: Graph, options: GraphOptions): Promise<GraphSummary> {
  const { workspace, jobs, keepGoing, now } = options;
  const began = now();
  const totals = new RunCounter();
  const emit = (event: GraphEvent): void => {
    totals.handle(event);
    options.emit(event);
  };
  const finish = (end: StepEnd): boolean => {
    const wasEnded = end.outcome === 'failed' && options.interrupted() !== undefined;
    emit({ type: 'step-finished', ...end, ...(wasEnded && { outcome: 'interrupted' }) });
    return end.outcome !== 'failed' && end.outcome !== 'skipped';
  };
  emit({
    type: 'run-started',
    version: EVENTS_VERSION,
    at: new Date(began).toISOString(),
    workspace: workspace.root,
    steps: order.length,
    jobs,
    ...(options.sample && { checkHits: { percent: options.sample.percent, seed: options.sample.seed } }),
  });
  const context = { ...options, emit };
  // --jobs=1 asks for a strict sequence, so no step is looked up ahead.
  const ahead = jobs === 1 ? 0 : GRAPH.ahead;
  await schedule(
    order,
    { jobs, ahead, keepGoing, isCancelled: () => options.interrupted() !== undefined },
    {
      run: async (step, slot) => finish(await runStep(step, context, slot)),
      skip: (step, reason) => finish(skipped(step, reason)),
      waits: ({ id }) => emit({ type: 'step-waiting', step: id }),
      resumes: ({ id }) => emit({ type: 'step-resumed', step: id }),
    },
  );
  if (options.interrupted() === undefined) await options.recordMade(began);
  const settled = await options.finishUploads(began, emit);
  const summary = totals.summary(now() - began, options.interrupted(), settled);
  emit({ type: 'run-finished', ...summary });
  return summary;
}
