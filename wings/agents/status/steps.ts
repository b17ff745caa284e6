// Each step's last outcome in this workspace, and what a run would do with it now.
// Guarantee: no command runs and no output is written. A step behind one that is not in place is unknown, because its
// inputs are not final.
import { relative } from 'node:path';
import type { Step } from '../../../client/config/step.ts';
import { currentFolder } from '../../../client/files/current-folder.ts';
import { type Forecast, forecast } from '../../../client/graph/dry-run.ts';
import { graphOf } from '../../../client/graph/graph.ts';
import { openWorkspace } from '../../../client/graph/opened-workspace.ts';
import type { StepContext } from '../../../client/graph/run-step.ts';
import { selectSteps } from '../../../client/graph/select/selection.ts';
import { openStepRunner, type StepRunner } from '../../../client/graph/step-runner.ts';
import { graphRunsFile, readRuns } from '../../../client/report/graph-runs.ts';
import { StateRecorder } from '../../../client/up-to-date/state-recorder.ts';
import type { StepOutcome } from '../../../core/metadata/run-report.ts';
import { relPathFromUser } from '../../../core/path.ts';

export interface StepStatus {
  readonly step: string;
  readonly now: 'up-to-date' | 'stored' | 'would-run' | 'unknown';
  /** Why it would run, or is unknown. */
  readonly why?: string;
  /** It waits for another step. */
  readonly isBehind?: true;
  /** Absent if no run of this workspace had it. */
  readonly last?: StepOutcome;
  readonly at?: string;
}

export async function statusOfSteps(
  asked: { readonly names: readonly string[]; readonly packages: readonly string[] },
  store: string,
): Promise<StepStatus[]> {
  const here = currentFolder();
  const caller = { ...process.env };
  const workspace = await openWorkspace(here, store, caller);
  const { root, steps } = workspace;
  const folder = relPathFromUser(relative(root, here));
  const { order } = graphOf(selectSteps({ ...asked, folder }, steps), steps);
  const now = { now: Date.now };
  let opened: Promise<StepRunner> | undefined;
  const context: StepContext = {
    workspace,
    caller,
    emit() {},
    recorder: new StateRecorder({ ...workspace, storeFolder: store, caller }),
    strayWrites: new Set(),
    force: false,
    ...now,
    stepRunner() {
      const cache = { storeFolder: store, workspace: root, token: undefined, report() {}, ...now };
      opened ??= Promise.resolve(openStepRunner(cache));
      return opened;
    },
  };
  try {
    const found = await statesNow(order, context);
    const last = lastOutcomes(store, root);
    return found.map((status) => ({ ...status, ...last.get(status.step) }));
  } finally {
    await (await opened)?.close();
  }
}

async function statesNow(order: readonly Step[], context: StepContext): Promise<StepStatus[]> {
  const found: StepStatus[] = [];
  const unsettled = new Set<string>();
  for (const step of order) {
    const behind = step.dependsOn.find((id) => unsettled.has(id));
    const status: StepStatus =
      behind === undefined
        ? await stateNow(step, context)
        : { step: step.id, now: 'unknown', why: `${behind} comes first`, isBehind: true };
    if (status.now !== 'up-to-date') unsettled.add(step.id);
    found.push(status);
  }
  return found;
}

async function stateNow(step: Step, context: StepContext): Promise<StepStatus> {
  if (!step.cache) return { step: step.id, now: 'would-run', why: 'its "cache" is false' };
  if (context.recorder.lookup(step)?.inPlace) return { step: step.id, now: 'up-to-date' };
  const [one] = await forecast({ order: [step], wanted: new Set() }, context);
  return one ? statusOf(one) : { step: step.id, now: 'unknown' };
}

function statusOf({ step, outcome, why }: Forecast): StepStatus {
  if (outcome === 'miss') return { step, now: 'would-run', why };
  if (outcome === 'unknown') return { step, now: 'unknown', why };
  return { step, now: why.endsWith('in place') ? 'up-to-date' : 'stored' };
}

/** The newest outcome of each step in this workspace. */
function lastOutcomes(store: string, root: string): Map<string, { last: StepOutcome; at: string }> {
  const last = new Map<string, { last: StepOutcome; at: string }>();
  for (const { workspace, at, steps } of readRuns(graphRunsFile(store))) {
    if (workspace !== root) continue;
    for (const [step, outcome] of steps) last.set(step, { last: outcome, at });
  }
  return last;
}
