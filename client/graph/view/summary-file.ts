// The file that `--summary` asks for: Markdown by its name, else JSON. Whether it can be written is known before anything runs,
// and nothing is written over but an earlier summary: the name may be a slip of the hand.
import { closeSync, constants, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { usage } from '../../../core/cli/command.ts';
import { messageOf } from '../../../core/errors.ts';
import { EVENTS_VERSION, type GraphSummary, type StepEnd } from './events.ts';
import { MARKDOWN_BEGINS, markdownOf } from './markdown.ts';

const JSON_BEGINS = /^\{\n {2}"version": \d+,\n {2}"steps": \d/;

export function prepareSummary(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    // A pipe is opened once, when there is something to say: its reader would take this for the end.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== false) closeSync(openSync(file, 'a'));
    refuseForeign(file);
  } catch (error) {
    throw usage(`--summary ${file} can’t be written: ${messageOf(error)}`);
  }
}

export function writeSummary(file: string, summary: GraphSummary, ends: readonly StepEnd[]): void {
  const json = { version: EVENTS_VERSION, ...summary, results: ends };
  const text = file.endsWith('.md') ? markdownOf(summary, ends) : `${JSON.stringify(json, undefined, 2)}\n`;
  // A step may have made it meanwhile.
  refuseForeign(file);
  // A pipe that nobody reads would be waited for without an end: this fails instead.
  const probe = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK);
  try {
    writeFileSync(file, text);
  } finally {
    closeSync(probe);
  }
}

/** Not empty, and nothing that a run writes, by how it begins. A pipe or a terminal has no content that could be lost. */
function refuseForeign(file: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return;
  const content = readFileSync(file, 'utf8');
  if (content !== '' && !content.startsWith(MARKDOWN_BEGINS) && !JSON_BEGINS.test(content))
    throw new Error('it is there already and no summary; remove it, or name another file');
}
