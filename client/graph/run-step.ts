// Runs one step of a graph: replays it if it is up to date, else hands it to the StepRunner.
// The StepRunner is loaded by the first step that needs it.

import type { Variables } from '../action/environment.ts';
import type { Step } from '../config/step.ts';
import type { Workspace } from '../config/workspace.ts';
import type { ActionLeaseMode } from '../lease/action-lease.ts';
import { replay, type StreamName } from '../process/log.ts';
import type { HitChecks } from '../run/context.ts';
import type { OpenStepHook } from '../run/step-hook.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import type { StateRecorder } from '../up-to-date/state-recorder.ts';
import type { Emit, StepEnd } from '../view/events.ts';
import type { ScheduleSlot } from './schedule.ts';
import type { StepRunner } from './step-runner.ts';

export interface StepContext {
  readonly workspace: Pick<Workspace, 'root' | 'steps'>;
  readonly caller: Variables;
  readonly emit: Emit;
  readonly recorder: StateRecorder;
  /** Paths that commands were seen to write and that are no outputs. Grows during the run. */
  readonly strayWrites: Set<string>;
  /** Run the commands, whatever is stored (--force). */
  readonly force: boolean;
  /** Failures are kept on this machine alone, unless the step says something else (--cache-failures=local). */
  readonly keepsFailures?: boolean | undefined;
  /** How often a command that fails is run again (--retry). */
  readonly retries?: number | undefined;
  /** The hits to check (--check-hits). */
  readonly sample?: HitChecks | undefined;
  readonly stepHook?: OpenStepHook | undefined;
  readonly actionLease?: ActionLeaseMode | undefined;
  now(): number;
  /** Always the same runner. */
  stepRunner(): Promise<StepRunner>;
}

/** Never rejects: an error of a step becomes the outcome of the step. */
export async function runStep(step: Step, context: StepContext, slot: ScheduleSlot): Promise<StepEnd> {
  const { emit, force, recorder, sample } = context;
  emit({ type: 'step-started', step: step.id, command: step.command });
  const recorded = force || !step.cache ? undefined : recorder.lookup(step);
  const known = recorded && sample?.includes(recorded.key) ? undefined : recorded;
  if (known?.inPlace) {
    replay(known.inPlace.log, logStreamsOf(step, emit));
    return known.inPlace.end;
  }
  const runner = await context.stepRunner();
  return runner.run(step, { ...context, slot }, known);
}

export const NOTHING_DONE = {
  published: false,
  shared: false,
  outputsWritten: 0,
  commandMs: 0,
  elapsedMs: 0,
} as const;

export function skipped({ id }: Step, reason: string): StepEnd {
  return { ...NOTHING_DONE, step: id, outcome: 'skipped', exitCode: 0, reason };
}

export function logStreamsOf({ id }: Step, emit: Emit): Readonly<Record<StreamName, Writable>> {
  const streamFor = (stream: StreamName) => ({
    write: (data: string | Uint8Array) =>
      emit({ type: 'step-log', step: id, stream, bytes: Buffer.from(data) }),
  });
  return { stdout: streamFor('stdout'), stderr: streamFor('stderr') };
}
