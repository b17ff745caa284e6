// Audits all steps of a workspace in topological order, and ranks them with the worst first.
import { AssayError, messageOf } from '../../core/errors.ts';
import { withDependencyFixes } from '../config/dependency-fix.ts';
import { requestOf } from '../config/request.ts';
import type { Step } from '../config/step.ts';
import { graphOf, type StepTable } from '../graph/graph.ts';
import type { RunContext } from '../run/context.ts';
import { type Audit, audit } from './audit.ts';
import { type Fixed, fixStep } from './fix.ts';
import { auditObject } from './report.ts';

export interface AuditedStep {
  readonly step: string;
  /** Absent if the step could not be audited; `why` has the reason. */
  readonly audit?: Audit;
  readonly why?: string;
  readonly fixed?: Fixed;
}

export interface AllOptions {
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
    const { request, caller } = requestOf(step, options, context.caller);
    const seen = await audit(request, { ...context, caller }, options);
    const found = { ...seen, findings: withDependencyFixes(seen.findings, step, options.steps) };
    const fixed =
      options.fix && !found.hermetic ? await fixStep(options.root, step, found.findings, context) : undefined;
    return { step: step.id, audit: found, ...(fixed && { fixed }) };
  } catch (error) {
    return { step: step.id, why: error instanceof AssayError ? error.detail : messageOf(error) };
  }
}

export function allHermetic(audited: readonly AuditedStep[]): boolean {
  return audited.every((one) => one.audit?.hermetic === true && one.audit.exitCode === 0);
}

/** An incomplete trace ranks worse than a known finding. */
function weight({ audit: found }: AuditedStep): number {
  if (!found) return Number.POSITIVE_INFINITY;
  return found.findings.length + (found.complete ? 0 : 1_000_000) + (found.exitCode === 0 ? 0 : 0.5);
}

export function allText(audited: readonly AuditedStep[]): string {
  const hermetic = audited.filter((one) => one.audit?.hermetic).length;
  const width = Math.max(0, ...audited.map(({ step }) => step.length));
  const lines = audited.map((one) => `  ${one.step.padEnd(width)}  ${verdictOf(one)}`);
  return [`${hermetic} of ${audited.length} steps are hermetic`, '', ...lines, ''].join('\n');
}

function verdictOf({ audit: found, why, fixed }: AuditedStep): string {
  if (!found) return `not audited: ${why}`;
  const count = found.findings.length === 1 ? '1 finding' : `${found.findings.length} findings`;
  const verdict = found.hermetic ? 'hermetic' : count;
  const gaps = found.complete ? '' : ', incomplete trace';
  const failed = found.exitCode === 0 ? '' : `, ended with ${found.exitCode}`;
  return `${verdict}${gaps}${failed}${fixed && fixed.added > 0 ? `, ${fixed.added} declared in ${fixed.file}` : ''}`;
}

export function allJson(audited: readonly AuditedStep[]): string {
  const steps = audited.map(({ step, audit: found, why, fixed }) => ({
    step,
    ...(found ? auditObject(found) : { hermetic: false, error: why }),
    ...(fixed && { fixed }),
  }));
  return JSON.stringify({ hermetic: allHermetic(audited), steps });
}
