// One step of a graph: recalled, if it is remembered to be in place; else the ordinary way, which is loaded by the first step
// that takes it.

import type { Variables } from '../action/environment.ts';
import type { Step } from '../config/step.ts';
import type { Workspace } from '../config/workspace.ts';
import { replay, type StreamName } from '../run/log.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import type { StateRecorder } from '../up-to-date/state-recorder.ts';
import type { ScheduleSlot } from './schedule.ts';
import type { StepRunner } from './step-runner.ts';
import type { Emit, StepEnd } from './view/events.ts';

export interface StepContext {
  readonly workspace: Pick<Workspace, 'root' | 'steps'>;
  readonly caller: Variables;
  readonly emit: Emit;
  readonly recorder: StateRecorder;
  /** Paths that commands were seen to write and that are no outputs: grows while they run. */
  readonly strayWrites: Set<string>;
  /** Run commands whatever is stored. */
  readonly force: boolean;
  now(): number;
  /** The same each time. */
  stepRunner(): Promise<StepRunner>;
}

/** Never rejects: what goes wrong with a step is the step's outcome. */
export async function runStep(step: Step, context: StepContext, slot: ScheduleSlot): Promise<StepEnd> {
  const { emit, force, recorder } = context;
  emit({ type: 'step-started', step: step.id, command: step.command });
  const known = force || !step.cache ? undefined : recorder.lookup(step);
  if (known?.inPlace) {
    replay(known.inPlace.log, logStreamsOf(step, emit));
    return known.inPlace.end;
  }
  const ordinary = await context.stepRunner();
  return ordinary.run(step, { ...context, slot }, known);
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
    write: (said: string | Uint8Array) =>
      emit({ type: 'step-log', step: id, stream, bytes: Buffer.from(said) }),
  });
  return { stdout: streamFor('stdout'), stderr: streamFor('stderr') };
}
