// Audits all steps of a workspace in topological order, and ranks them with the worst first.
import { AssayError, messageOf } from '../../core/errors.ts';
import { withDependencyFixes } from '../config/dependency-fix.ts';
import { requestOf } from '../config/request.ts';
import type { Step, StepTable } from '../config/step.ts';
import { graphOf } from '../graph/graph.ts';
import type { RunContext } from '../run/context.ts';
import { byRank } from '../trace/finding-rank.ts';
import { audit } from './audit.ts';
import { type Fixed, fixStep } from './fix.ts';
import { type GroupedAudit, grouped } from './groups.ts';
import { auditHeadline, auditObject } from './report.ts';

interface AuditedStep {
  readonly step: string;
  /** Absent if the step could not be audited; `why` has the reason. */
  readonly audit?: GroupedAudit;
  readonly why?: string;
  readonly fixed?: Fixed;
}

interface AllOptions {
  readonly root: string;
  readonly steps: StepTable;
  readonly reproduce: boolean;
  readonly fix: boolean;
}

export async function auditAll(options: AllOptions, context: RunContext): Promise<AuditedStep[]> {
  const { order } = graphOf([...options.steps.values()], options.steps);
  const audited: AuditedStep[] = [];
  for (const step of order) audited.push(await auditStep(step, options, context));
  return audited.sort((a, b) => weight(b) - weight(a));
}

async function auditStep(step: Step, options: AllOptions, context: RunContext): Promise<AuditedStep> {
  try {
    const request = requestOf(step, options, context.caller);
    const seen = await audit(request, context, options);
    const findings = withDependencyFixes(seen.findings, step, options.steps);
    const found = grouped({ ...seen, findings }, request, step.folder);
    const fixed =
      options.fix && !found.hermetic ? await fixStep(options.root, step, found, context) : undefined;
    return { step: step.id, audit: found, ...(fixed && { fixed }) };
  } catch (error) {
    return { step: step.id, why: error instanceof AssayError ? error.detail : messageOf(error) };
  }
}

export function allHermetic(audited: readonly AuditedStep[]): boolean {
  return audited.every((one) => one.audit?.hermetic === true && one.audit.exitCode === 0);
}

/** What must be fixed counts more than what is left, and that more than advice. */
function weight({ audit: found }: AuditedStep): number {
  if (!found) return Number.POSITIVE_INFINITY;
  const { fix, left, advice } = byRank(found.findings);
  const urgent = fix.length + (found.complete ? 0 : 1) + (found.exitCode === 0 ? 0 : 0.5);
  return (urgent * MANY + left.length) * MANY + advice.length;
}

/** More than the findings of any step. */
const MANY = 100_000;

export function allText(audited: readonly AuditedStep[]): string {
  const declared = audited.filter((one) => one.audit?.hermetic).length;
  const width = Math.max(0, ...audited.map(({ step }) => step.length));
  const lines = audited.map((one) => `  ${one.step.padEnd(width)}  ${verdictOf(one)}`);
  return [`${declared} of ${audited.length} steps use nothing undeclared`, '', ...lines, ''].join('\n');
}

function verdictOf({ audit: found, why, fixed }: AuditedStep): string {
  if (!found) return `not audited: ${why}`;
  return `${auditHeadline(found)}${fixed && fixed.added > 0 ? `; ${fixed.added} declared in ${fixed.file}` : ''}`;
}

export function allJson(audited: readonly AuditedStep[]): string {
  const steps = audited.map(({ step, audit: found, why, fixed }) => ({
    step,
    ...(found ? auditObject(found) : { hermetic: false, error: why }),
    ...(fixed && { fixed }),
  }));
  return JSON.stringify({ hermetic: allHermetic(audited), steps });
}
