// The summary of a run as Markdown, for a CI job's summary page and for a comment on a pull request.
// Guarantee: text of steps and commands is data. It makes no Markdown, HTML or mention of a person, and no other row.

import type { StepOutcome } from '../../core/metadata/run-report.ts';
import { visible } from '../../core/text/visible.ts';
import { durationText, savedText } from '../run/reporter.ts';
import { plain } from '../terminal/colour.ts';
import { headline, type RunCounts } from './words.ts';

/** A step as a summary shows it. */
export interface SummaryRow {
  readonly step: string;
  readonly outcome: StepOutcome;
  readonly commandMs: number;
  readonly elapsedMs: number;
  /** "" for an ordinary hit. */
  readonly why: string;
}

export interface SummaryPage {
  readonly counts: RunCounts;
  readonly rows: readonly SummaryRow[];
  readonly warnings: readonly string[];
  /** The address of the run's page. */
  readonly address?: string;
}

const MOST_ROWS = 200;
const MOST_WARNINGS = 10;

/** Of all rows: a comment at GitHub holds 65,536 characters. */
const MOST_CHARACTERS = 40_000;
const LONGEST_TEXT = 300;

const MARKS: Readonly<Record<StepOutcome, string>> = {
  'hit-local': 'hit (local)',
  'hit-remote': 'hit (remote)',
  miss: 'ran',
  failed: '**failed**',
  interrupted: 'interrupted',
  skipped: 'skipped',
};

/** Failures and misses come first; hits need no attention. */
const RANK: readonly StepOutcome[] = ['failed', 'interrupted', 'miss', 'skipped', 'hit-remote', 'hit-local'];

export const MARKDOWN_BEGINS = '### Assay: ';

export function markdownOf({ counts, rows, warnings, address }: SummaryPage): string {
  const sorted = rows.toSorted((a, b) => RANK.indexOf(a.outcome) - RANK.indexOf(b.outcome));
  const shown = fitting(sorted.slice(0, MOST_ROWS).map(rowText));
  const more = rows.length - shown.length;
  return [
    `${MARKDOWN_BEGINS}${sentence(headline(counts, plain))}`,
    '',
    '| step | outcome | time | why |',
    '|---|---|---|---|',
    ...shown,
    ...(more > 0 ? ['', `… and ${more} more.`] : []),
    '',
    ...warnings.slice(0, MOST_WARNINGS).map((warning) => `Warning: ${sentence(warning)}\n`),
    ...(address === undefined ? [] : [`[All that the server knows of this run](${address})\n`]),
  ].join('\n');
}

/** The first rows that a comment has room for. */
function fitting(rows: readonly string[]): readonly string[] {
  let characters = 0;
  const end = rows.findIndex((row) => {
    characters += row.length;
    return characters > MOST_CHARACTERS;
  });
  return end === -1 ? rows : rows.slice(0, end);
}

function rowText({ step, outcome, commandMs, elapsedMs, why }: SummaryRow): string {
  const isHit = outcome === 'hit-local' || outcome === 'hit-remote';
  const saved = isHit ? savedText(commandMs - elapsedMs).replace(', ', '') : '';
  const shown = [saved, why].filter(Boolean).join(', ');
  return `| ${code(step)} | ${MARKS[outcome]} | ${durationText(isHit ? elapsedMs : commandMs)} | ${sentence(shown)} |`;
}

/** GitHub and GitLab find mentions, and links to issues, everywhere but in code. */
function sentence(text: string): string {
  return /[@#]/.test(text) ? code(text) : literal(text);
}

function code(text: string): string {
  return `<code>${literal(text)}</code>`;
}

/** References to characters: in Markdown and HTML they are text, also a | in a table. */
function literal(text: string): string {
  const line = visible(text.trim().replaceAll(/\s+/g, ' '));
  const cut = line.length > LONGEST_TEXT ? `${line.slice(0, LONGEST_TEXT)}…` : line;
  return cut.replaceAll(/[&<>"\\`*_~[\]|$]/g, (character) => `&#${character.charCodeAt(0)};`);
}
