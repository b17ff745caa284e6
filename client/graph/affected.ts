// The steps that a change affects (--affected): those it reaches (step-reach.ts), and all that depend on
// them. A step with observed inputs is always affected, because its next reads are unknown. One step too many
// is safe: it is a hit.
import { changedPaths } from './changed-paths.ts';
import { isMadeBy, type ReachContext, StepReach } from './step-reach.ts';

/** `ref`: "" for the main branch. */
export function affectedBy(ref: string, change: ReachContext): Set<string> {
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
