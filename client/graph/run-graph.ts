// Runs a graph: what is remembered to be in place first, all at once; the rest side by side, each step as any action.
import { GRAPH } from '../limits.ts';
import type { Graph } from './graph.ts';
import { runStep, type StepContext, skipped } from './run-step.ts';
import { schedule } from './schedule.ts';
import type { GraphEvent, GraphSummary, Hear, StepEnd } from './view/events.ts';
import { EVENTS_VERSION } from './view/events.ts';
import { type Settled, Tally } from './view/run-totals.ts';

export interface GraphOptions extends StepContext {
  readonly jobs: number;
  readonly keepGoing: boolean;
  /** The exit code for having been told to end; undefined while nobody has. */
  interrupted(): number | undefined;
  /** Waits for the uploads, and tells what is left. */
  settle(began: number, hear: Hear): Promise<Settled>;
}

export async function runGraph({ order }: Graph, options: GraphOptions): Promise<GraphSummary> {
  const { workspace, jobs, keepGoing, now } = options;
  const began = now();
  const tally = new Tally();
  const hear = (event: GraphEvent): void => {
    tally.hear(event);
    options.hear(event);
  };
  const finish = (end: StepEnd): boolean => {
    const wasEnded = end.outcome === 'failed' && options.interrupted() !== undefined;
    hear({ type: 'step-finished', ...end, ...(wasEnded && { outcome: 'interrupted' }) });
    return end.outcome !== 'failed' && end.outcome !== 'skipped';
  };
  hear({
    type: 'run-started',
    version: EVENTS_VERSION,
    at: new Date(began).toISOString(),
    workspace: workspace.root,
    steps: order.length,
    jobs,
  });
  const context = { ...options, hear };
  // Who asks for one job wants one thing after the other.
  const ahead = jobs === 1 ? 0 : GRAPH.ahead;
  await schedule(
    order,
    { jobs, ahead, keepGoing, isCancelled: () => options.interrupted() !== undefined },
    {
      run: async (step, turn) => finish(await runStep(step, context, turn)),
      skip: (step, reason) => finish(skipped(step, reason)),
      waits: ({ id }) => hear({ type: 'step-waiting', step: id }),
      resumes: ({ id }) => hear({ type: 'step-resumed', step: id }),
    },
  );
  const settled = await options.settle(began, hear);
  const summary = tally.summary(now() - began, options.interrupted(), settled);
  hear({ type: 'run-finished', ...summary });
  return summary;
}
