// Turns a finding "read an output of another step" into the advice to declare `dependsOn`.
// Declaring the file as an input would not order the two steps.
import { relPathFromUser } from '../../core/path.ts';
import { type Finding, READ_KINDS } from '../../hermeticity/verdict/finding.ts';
import { referenceFrom } from './dependencies.ts';
import { OutputIndex } from './output-index.ts';
import { stepsBefore } from './request.ts';
import type { Step } from './step.ts';
import type { Workspace } from './workspace.ts';

export function withDependencyFixes(
  findings: readonly Finding[],
  step: Step,
  steps: Workspace['steps'],
): Finding[] {
  const made = new OutputIndex(steps.values());
  return findings.map((finding) => {
    const { kind, path } = finding;
    const maker = path !== undefined && READ_KINDS.has(kind) ? makerOf(path, made) : undefined;
    const other = maker === undefined || maker === step.id ? undefined : steps.get(maker);
    if (!other) return finding;
    const { fix: _, ...rest } = finding;
    if (stepsBefore(other, steps).has(step.id))
      return { ...rest, advice: `${other.id} writes it, and runs after ${step.id}` };
    return { ...rest, fix: { flag: 'dependsOn', value: dependencyOn(other, step) } };
  });
}

/** A step of `packageSteps` is for every package, so it names dependencies by "^". */
function dependencyOn(other: Step, step: Step): string {
  const isShared = step.source.path[0] === 'packageSteps' && other.package !== '';
  return isShared && other.package !== step.package ? `^${other.name}` : referenceFrom(step, other);
}

/** `path`: as the finding shows it; may lie outside the workspace, and "." is the workspace itself. */
function makerOf(path: string, made: OutputIndex): string | undefined {
  const isInside = !path.startsWith('/') && !path.split('/').includes('..');
  return isInside ? made.around(relPathFromUser(path))?.maker : undefined;
}
