// One step of a graph: recalled, if it is remembered to be in place; else the ordinary way, which is loaded by the first step
// that takes it.

import type { Variables } from '../action/environment.ts';
import type { Step } from '../config/step.ts';
import type { Workspace } from '../config/workspace.ts';
import { replay, type StreamName } from '../run/log.ts';
import type { Ear } from '../terminal/sync-stream.ts';
import type { GraphMemory } from '../up-to-date/state-recorder.ts';
import type { Turn } from './schedule.ts';
import type { OrdinaryWay } from './step-runner.ts';
import type { Hear, StepEnd } from './view/events.ts';

export interface StepContext {
  readonly workspace: Pick<Workspace, 'root' | 'steps'>;
  readonly caller: Variables;
  readonly hear: Hear;
  readonly memory: GraphMemory;
  /** Paths that commands were seen to write and that are no outputs: grows while they run. */
  readonly strayWrites: Set<string>;
  /** Run commands whatever is stored. */
  readonly force: boolean;
  now(): number;
  /** The same each time. */
  ordinaryWay(): Promise<OrdinaryWay>;
}

/** Never rejects: what goes wrong with a step is the step's outcome. */
export async function runStep(step: Step, context: StepContext, turn: Turn): Promise<StepEnd> {
  const { hear, force, memory } = context;
  hear({ type: 'step-started', step: step.id, command: step.command });
  const known = force || !step.cache ? undefined : memory.recall(step);
  if (known?.inPlace) {
    replay(known.inPlace.log, earsOf(step, hear));
    return known.inPlace.end;
  }
  const ordinary = await context.ordinaryWay();
  return ordinary.run(step, { ...context, turn }, known);
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

export function earsOf({ id }: Step, hear: Hear): Readonly<Record<StreamName, Ear>> {
  const ear = (stream: StreamName) => ({
    write: (said: string | Uint8Array) =>
      hear({ type: 'step-log', step: id, stream, bytes: Buffer.from(said) }),
  });
  return { stdout: ear('stdout'), stderr: ear('stderr') };
}
