// The file that `--summary` asks for: Markdown by its name, else JSON. Whether it can be written is known before anything runs,
// and nothing is written over but an earlier summary: the name may be a slip of the hand.
import { closeSync, mkdirSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { usage } from '../../../core/command.ts';
import { messageOf } from '../../../core/errors.ts';
import { EVENTS_VERSION, type GraphSummary, type StepEnd } from '../events.ts';
import { MARKDOWN_BEGINS, markdownOf } from './markdown.ts';

const JSON_BEGINS = /^\{\n {2}"version": \d/;

export function prepareSummary(file: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    closeSync(openSync(file, 'a'));
    if (isForeign(file))
      throw new Error('it is there already and no summary; remove it, or name another file');
  } catch (error) {
    throw usage(`--summary ${file} can’t be written: ${messageOf(error)}`);
  }
}

export function writeSummary(file: string, summary: GraphSummary, ends: readonly StepEnd[]): void {
  const json = { version: EVENTS_VERSION, ...summary, results: ends };
  writeFileSync(
    file,
    file.endsWith('.md') ? markdownOf(summary, ends) : `${JSON.stringify(json, undefined, 2)}\n`,
  );
}

/**
 * Not empty, and nothing that a run writes, by how it begins: one that was ended may have written no more than that. A pipe or a
 * terminal has no content that could be lost.
 */
function isForeign(file: string): boolean {
  if (!statSync(file).isFile()) return false;
  const content = readFileSync(file, 'utf8');
  return content !== '' && !content.startsWith(MARKDOWN_BEGINS) && !JSON_BEGINS.test(content);
}
