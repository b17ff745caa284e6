// The steps of a run in topological order.
// A cycle of dependencies, and two steps with a common output, are refused before anything runs.
import { AssayError } from '../../core/errors.ts';
import { parentOf, type RelPath, ROOT } from '../../core/path.ts';
import { stateAndCheckpointPaths } from '../action/request.ts';
import type { Step, StepTable } from '../config/step.ts';

export interface Graph {
  /** Dependencies first. */
  readonly order: readonly Step[];
  /** The steps that were asked for; the others are their dependencies. */
  readonly wanted: ReadonlySet<string>;
}

export function graphOf(wanted: readonly Step[], steps: StepTable): Graph {
  const order = new Map<string, Step>();
  for (const step of wanted) visit(step, steps, order, new Set());
  return { order: [...order.values()], wanted: new Set(wanted.map(({ id }) => id)) };
}

/** `path`: the chain of dependents that led to `step`. */
function visit(step: Step, steps: StepTable, order: Map<string, Step>, path: Set<string>): void {
  if (order.has(step.id)) return;
  if (path.has(step.id)) {
    const trail = [...path, step.id];
    throw circle(trail.slice(trail.indexOf(step.id)), steps);
  }
  path.add(step.id);
  for (const id of step.dependsOn) {
    const next = steps.get(id);
    if (next) visit(next, steps, order, path);
  }
  path.delete(step.id);
  order.set(step.id, step);
}

/** Explains each implied edge by the input that it comes from, because it is not in the file. */
function circle(trail: readonly string[], steps: StepTable): AssayError {
  const named = trail.map((id, at) => {
    const reader = steps.get(trail[at - 1] ?? '');
    const input = reader?.implied.find(({ maker }) => maker === id);
    return input ? `${id} (it makes ${input.output}, and ${reader?.id} reads ${input.read})` : id;
  });
  return new AssayError('ASSAY_STEP_CYCLE', named.join(' -> '));
}

/**
 * Checks the whole workspace, not only this run: which step ran last must never decide an output's content.
 */
export function refuseSharedOutputs(steps: StepTable): void {
  const owners = new Map<RelPath, string>();
  for (const step of steps.values()) {
    const { id } = step;
    for (const output of [...step.outputs, ...stateAndCheckpointPaths(step)]) {
      const other = owners.get(output);
      if (other !== undefined && other !== id) throw claimedTwice(output, other, id);
      owners.set(output, id);
    }
  }
  for (const [output, id] of owners) {
    for (let folder = output; folder !== ROOT; ) {
      folder = parentOf(folder);
      const other = owners.get(folder);
      if (other !== undefined) throw claimedTwice(output, other, id);
    }
  }
}

function claimedTwice(output: RelPath, one: string, other: string): AssayError {
  return new AssayError('ASSAY_OUTPUT_OVERLAP', `${one} and ${other} both claim ${output}`);
}
