// The summary of a graph run as Markdown, for a CI job's summary page.

import { checkedText, duration, savedText } from '../../run/reporter.ts';
import { plain } from '../../terminal/colour.ts';
import type { GraphSummary, StepEnd } from './events.ts';
import { failureReason, summaryLines } from './words.ts';

const MOST_ROWS = 200;

const MARKS: Readonly<Record<StepEnd['outcome'], string>> = {
  'hit-local': 'hit (local)',
  'hit-remote': 'hit (remote)',
  miss: 'ran',
  failed: '**failed**',
  interrupted: 'interrupted',
  skipped: 'skipped',
};

/** Failures and misses come first; hits need no attention. */
const RANK: readonly StepEnd['outcome'][] = [
  'failed',
  'interrupted',
  'miss',
  'skipped',
  'hit-remote',
  'hit-local',
];

export const MARKDOWN_BEGINS = '### Assay: ';

export function markdownOf(summary: GraphSummary, ends: readonly StepEnd[]): string {
  const [headline = ''] = summaryLines(summary, ends, plain);
  const sorted = ends.toSorted((a, b) => RANK.indexOf(a.outcome) - RANK.indexOf(b.outcome));
  const rows = sorted.slice(0, MOST_ROWS).map(row);
  const rest = ends.length > MOST_ROWS ? [``, `… and ${ends.length - MOST_ROWS} more.`] : [];
  return [
    `${MARKDOWN_BEGINS}${cell(headline)}`,
    '',
    '| step | outcome | time | why |',
    '|---|---|---|---|',
    ...rows,
    ...rest,
    '',
    ...summary.warnings.map((warning) => `Warning: ${cell(warning)}\n`),
  ].join('\n');
}

function row(end: StepEnd): string {
  const { step, outcome, commandMs, elapsedMs, reason } = end;
  const isHit = outcome === 'hit-local' || outcome === 'hit-remote';
  const whyNot = outcome === 'failed' ? failureReason(end) : reason;
  const checked = end.checked ? checkedText(end.checked) : '';
  const why = isHit ? savedText(commandMs - elapsedMs).replace(', ', '') : whyNot;
  return `| ${cell(step)} | ${MARKS[outcome]}${checked} | ${duration(isHit ? elapsedMs : commandMs)} | ${cell(why)} |`;
}

function cell(text: string): string {
  return text
    .replaceAll('\\', '\\\\')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll(/\s*\n\s*/g, ' ');
}
