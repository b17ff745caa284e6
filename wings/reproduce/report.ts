// The report of `assay reproduce` and `assay audit --reproduce`, as text and as JSON.

import { variationLines } from '../../client/audit/variations.ts';
import { findingJson, findingLine } from '../../client/trace/finding-report.ts';
import type { Reproduction } from '../../hermeticity/reproduction.ts';

export function reproductionJson({ findings, variations, runs, gaps }: Reproduction): string {
  const reproducible = findings.length === 0 && gaps.length === 0;
  return JSON.stringify({ reproducible, findings: findings.map(findingJson), variations, runs, gaps });
}

export function reproductionText(reproduction: Reproduction): string {
  const { findings, gaps } = reproduction;
  const lines = [
    headline(reproduction),
    ...gaps.map((gap) => `  ${gap}`),
    ...(findings.length > 0 ? ['', ...findings.map(findingLine)] : []),
    '',
    ...variationLines(reproduction),
  ];
  return `${lines.join('\n')}\n`;
}

function headline({ findings, gaps }: Reproduction): string {
  if (gaps.length > 0) return 'unknown: not all conditions could be compared';
  if (findings.length === 0) return 'reproducible: the same result under all conditions that were tried';
  return `not reproducible: ${findings.length === 1 ? '1 finding' : `${findings.length} findings`}`;
}
