// Runs a graph: what is remembered to be in place first, all at once; the rest side by side, each step as any action.
import type { Step } from '../config/step.ts';
import type { GraphEvent, GraphSummary, StepEnd } from './events.ts';
import { EVENTS_VERSION } from './events.ts';
import type { Graph } from './graph.ts';
import { NOTHING_DONE, runStep, type StepContext } from './run-step.ts';
import { schedule } from './schedule.ts';
import { Tally } from './tally.ts';

export interface GraphOptions extends StepContext {
  readonly jobs: number;
  readonly keepGoing: boolean;
  /** The exit code for having been told to end; undefined while nobody has. */
  interrupted(): number | undefined;
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
    hear({ type: 'step-finished', ...end });
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
  await schedule(
    order,
    { jobs, keepGoing, isCancelled: () => options.interrupted() !== undefined },
    {
      run: async (step) => finish(await runStep(step, context)),
      skip: (step, reason) => finish(skipped(step, reason)),
    },
  );
  const summary = tally.summary(now() - began, options.interrupted());
  hear({ type: 'run-finished', ...summary });
  return summary;
}

function skipped({ id }: Step, reason: string): StepEnd {
  return { ...NOTHING_DONE, step: id, outcome: 'skipped', exitCode: 0, reason };
}
