// The command of `assay` that helps most after a run: where it failed, why it ran, or what would hit.
import type { StepEnd } from '../view/events.ts';

export function nextCommand(ends: readonly StepEnd[]): string {
  const failed = ends.find(({ outcome }) => outcome === 'failed');
  if (failed) return afterFailure(failed);
  const stopped = ends.find(({ outcome }) => outcome === 'interrupted' || outcome === 'skipped');
  if (stopped) return `assay run ${word(stopped.step)}`;
  const unkept = ends.find(({ outcome, notPublished }) => outcome === 'miss' && notPublished !== undefined);
  if (unkept) return `assay audit ${word(unkept.step)}`;
  const ran = ends.find(({ outcome }) => outcome === 'miss');
  return ran ? `assay explain ${word(ran.step)}` : 'assay status';
}

function afterFailure({ step, key, replayed, notHermetic }: StepEnd): string {
  if (notHermetic) return `assay audit ${word(step)}`;
  if (replayed) return `assay run --force ${word(step)}`;
  return key === undefined ? `assay run --dry-run ${word(step)}` : `assay run --logs=failed ${word(step)}`;
}

/** A name as a shell takes it. A very long one is left out. */
export function word(step: string): string {
  if (step.length > 200) return 'STEP';
  return /^[\w@%+=:,./#-]+$/.test(step)
    ? step
    : `'${step.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?').replaceAll("'", `'\\''`)}'`;
}
