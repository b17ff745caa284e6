// The report of `assay reproduce` and `assay audit --reproduce`, as text and as JSON.
import type { Reproduction, VariationReport } from '../../hermeticity/reproduce/reproduce.ts';
import { findingJson, findingLine } from '../trace/finding-report.ts';

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

/** Conditions without effect in one line; those not tried, or tried in part, with the reason. */
export function variationLines({ runs, variations }: Pick<Reproduction, 'runs' | 'variations'>): string[] {
  const same = variations.filter(({ outcome, reason }) => outcome === 'same' && reason === undefined);
  const names = same.map(({ name }) => name).join(', ');
  const times = runs === 1 ? '1 run' : `${runs} runs`;
  return [
    `Varied in ${times}${names === '' ? '' : `, without effect: ${names}`}`,
    ...variations.flatMap((one) => (one.reason === undefined ? [] : [remark(one, one.reason)])),
  ];
}

function remark({ name, outcome }: VariationReport, reason: string): string {
  return `  ${name}: ${outcome}: ${reason}`;
}
