// The steps that a change reaches (changed-paths.ts): those whose own reach it lies in (step-reach.ts), and those that depend on
// such a step. A step whose inputs are observed is reached by every change: what the next run reads is not known. Rather one too
// many: that is a hit.
import { changedPaths } from './changed-paths.ts';
import { isMadeBy, StepReach, type Surroundings } from './step-reach.ts';

/** `ref`: "" for where the branch left the main one. */
export function affectedBy(ref: string, change: Surroundings): Set<string> {
  const { root, steps, caller } = change;
  const changed = changedPaths(root, ref, caller);
  const reached = new Set<string>();
  for (const step of steps.values()) {
    const reach = new StepReach(step, change);
    if (changed.some((one) => reach.reaches(one) || (step.observed && !isMadeBy(step, one.path))))
      reached.add(step.id);
  }
  for (let grown = -1; grown !== reached.size; ) {
    grown = reached.size;
    for (const { id, dependsOn } of steps.values())
      if (dependsOn.some((one) => reached.has(one))) reached.add(id);
  }
  return reached;
}
