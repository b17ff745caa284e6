// A step of a loaded workspace, by its id.
import type { Step, StepTable } from '../../../client/config/step.ts';

export function stepNamed({ steps }: { readonly steps: StepTable }, id: string): Step {
  const step = steps.get(id);
  if (!step) throw new Error(`there is no step ${id}: only ${[...steps.keys()].join(', ')}`);
  return step;
}
