// The file of --summary: Markdown if its name ends in .md, else JSON. Errors appear before anything runs.
// Only an earlier summary is overwritten, because the name may be a typing error.
import { closeSync, constants, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { usage } from '../../core/cli/command.ts';
import { messageOf } from '../../core/errors.ts';
import { makeFolder } from '../../system/files/make-folder.ts';
import { EVENTS_VERSION, type GraphSummary, type StepEnd } from './events.ts';
import { MARKDOWN_BEGINS, markdownOf, type SummaryPage } from './markdown.ts';
import { whyOf } from './words.ts';

const JSON_BEGINS = /^\{\n {2}"version": \d+,\n {2}"steps": \d/;

export function prepareSummary(file: string): void {
  try {
    makeFolder(dirname(file));
    // A pipe is opened once, at the end: its reader would take an early close for the end of file.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== false) closeSync(openSync(file, 'a'));
    refuseOtherContent(file);
  } catch (error) {
    throw usage(`--summary ${file} can’t be written: ${messageOf(error)}`);
  }
}

export function summaryPage(summary: GraphSummary, ends: readonly StepEnd[]): SummaryPage {
  return {
    counts: summary,
    rows: ends.map((end) => ({ ...end, why: whyOf(end) })),
    warnings: summary.warnings,
  };
}

export function writeSummary(file: string, summary: GraphSummary, ends: readonly StepEnd[]): void {
  const json = { version: EVENTS_VERSION, ...summary, results: ends };
  const text = file.endsWith('.md')
    ? markdownOf(summaryPage(summary, ends))
    : `${JSON.stringify(json, undefined, 2)}\n`;
  // A step may have written the file meanwhile.
  refuseOtherContent(file);
  // O_NONBLOCK fails on a pipe without a reader, where a plain open would wait for ever.
  const probe = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK);
  try {
    writeFileSync(file, text);
  } finally {
    closeSync(probe);
  }
}

/**
 * Refuses a regular file that is neither empty nor a summary. Pipes and terminals hold no content to lose.
 */
function refuseOtherContent(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
  const content = readFileSync(file, 'utf8');
  if (content !== '' && !content.startsWith(MARKDOWN_BEGINS) && !JSON_BEGINS.test(content))
    throw new Error('the file exists and is no summary; remove it or choose another name');
}
