// What a step read of what another step makes, without coming after it: declaring the file would not order the two, so the
// remedy of such a finding is `dependsOn`.
import { relPathFromUser } from '../../core/path.ts';
import { type Finding, READ_KINDS } from '../../hermeticity/verdict/finding.ts';
import { referenceFrom } from './dependencies.ts';
import { MadePaths } from './made-paths.ts';
import { stepsBefore } from './request.ts';
import type { Step } from './step.ts';
import type { Workspace } from './workspace.ts';

export function withDependencyFixes(
  findings: readonly Finding[],
  step: Step,
  steps: Workspace['steps'],
): Finding[] {
  const made = new MadePaths(steps.values());
  return findings.map((finding) => {
    const { kind, path } = finding;
    const maker = path !== undefined && READ_KINDS.has(kind) ? makerOf(path, made) : undefined;
    const other = maker === undefined || maker === step.id ? undefined : steps.get(maker);
    if (!other) return finding;
    const { fix: _, ...rest } = finding;
    if (stepsBefore(other, steps).has(step.id))
      return { ...rest, advice: `${other.id} makes it, and comes after ${step.id}` };
    return { ...rest, fix: { flag: 'dependsOn', value: dependencyOn(other, step) } };
  });
}

/** What stands in `packageSteps` holds for every package, so it names the packages that each depends on. */
function dependencyOn(other: Step, step: Step): string {
  const isShared = step.source.path[0] === 'packageSteps' && other.package !== '';
  return isShared && other.package !== step.package ? `^${other.name}` : referenceFrom(step, other);
}

/** `path`: as a finding shows it, which may lie outside, and "." for the workspace itself. */
function makerOf(path: string, made: MadePaths): string | undefined {
  const isInside = !path.startsWith('/') && !path.split('/').includes('..');
  return isInside ? made.around(relPathFromUser(path))?.maker : undefined;
}
