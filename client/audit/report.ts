// An audit as text, grouped by what to do, and as one JSON object.
import { fixText } from '../../hermeticity/verdict/finding.ts';
import { variationLines } from '../reproduce/report.ts';
import { findingJson, findingLine } from '../trace/finding-report.ts';
import type { Audit } from './audit.ts';
import { GROUPS } from './finding-kinds.ts';

export function auditJson(audit: Audit): string {
  return JSON.stringify(auditObject(audit));
}

export function auditObject(audit: Audit): Record<string, unknown> {
  const { hermetic, complete, gaps, exitCode, findings, report, reproduction } = audit;
  return {
    hermetic,
    complete,
    exitCode,
    findings: findings.map(findingJson),
    gaps,
    tracer: report.tracer,
    ...(reproduction && { reproduction: { runs: reproduction.runs, variations: reproduction.variations } }),
  };
}

export function auditText(audit: Audit): string {
  const lines = [headline(audit), ...audit.gaps.map((gap) => `  incomplete trace: ${gap}`)];
  for (const [title, kinds] of GROUPS) {
    const found = audit.findings.filter(({ kind }) => kinds.includes(kind));
    if (found.length > 0) lines.push('', `${title}:`, ...found.map(findingLine));
  }
  const fixes = [...new Set(audit.findings.flatMap(({ fix }) => (fix ? [fixText(fix)] : [])))];
  if (fixes.length > 0) lines.push('', 'Flags that would declare it:', ...fixes.map((fix) => `  ${fix}`));
  if (audit.reproduction) lines.push('', ...variationLines(audit.reproduction));
  return `${lines.join('\n')}\n`;
}

/** The verdict in one line. */
export function headline({ hermetic, complete, exitCode, findings }: Audit): string {
  const outcome = exitCode === 0 ? '' : ` (the command ended with ${exitCode})`;
  if (hermetic) return `hermetic: nothing undeclared was seen${outcome}`;
  const count = findings.length === 1 ? '1 finding' : `${findings.length} findings`;
  return `not hermetic: ${count}${complete ? '' : ', and the trace is incomplete'}${outcome}`;
}
