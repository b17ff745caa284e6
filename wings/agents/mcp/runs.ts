// The runs that this server started, with their logs, for show_log.
// Guarantee: it holds at most AGENTS.runs runs and AGENTS.logBytes of the logs of each. A log says where it was cut.

import { stripVTControlCharacters } from 'node:util';
import { SHORT } from '../../../client/limits.ts';
import { counted } from '../../../client/view/words.ts';
import { visibleLines } from '../../../core/text/visible.ts';
import { AGENTS } from '../limits.ts';

class RunLogs {
  readonly #texts = new Map<string, string>();
  #left: number = AGENTS.logBytes;

  add(step: string, text: string): void {
    const kept = text.slice(0, this.#left);
    this.#left -= kept.length;
    const cut =
      kept.length < text.length && kept !== '' ? '\n… the rest of the logs of this run is not kept\n' : '';
    if (kept !== '') this.#texts.set(step, `${this.#texts.get(step) ?? ''}${kept}${cut}`);
  }

  /** Without control characters, but with line feeds. Undefined if the step printed nothing. */
  of(step: string): string | undefined {
    const text = this.#texts.get(step);
    return text === undefined ? undefined : visibleLines(stripVTControlCharacters(text));
  }
}

export class Runs {
  readonly #runs = new Map<string, RunLogs>();
  #count = 0;

  begin(): { readonly id: string; readonly logs: RunLogs } {
    const id = `run-${++this.#count}`;
    const logs = new RunLogs();
    this.#runs.set(id, logs);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > AGENTS.runs && oldest !== undefined) this.#runs.delete(oldest);
    return { id, logs };
  }

  /** One page, counted from 1. Throws if there is no such run, step or page. */
  page(run: string, step: string, page: number): object {
    const logs = this.#runs.get(run);
    if (!logs) throw new Error(`there is no run ${JSON.stringify(run)} of this session, or it is too old`);
    const pages = pagesOf(logs.of(step) ?? '');
    const text = pages[page - 1];
    if (text === undefined) throw new Error(`the log has ${counted(pages.length, 'page')}`);
    return { version: 1, answer: 'log', run, step, page, pages: pages.length, text };
  }
}

/** Each page is at most AGENTS.pageBytes of JSON. */
function pagesOf(text: string): string[] {
  const pages: string[] = [];
  let page = '';
  let size = 0;
  for (const character of text) {
    const bytes = Buffer.byteLength(JSON.stringify(character)) - 2;
    if (size + bytes > AGENTS.pageBytes) {
      pages.push(page);
      [page, size] = ['', 0];
    }
    page += character;
    size += bytes;
  }
  return [...pages, page];
}

/** Whether a run id is one by its form. */
export function isRunId(text: string): boolean {
  return /^run-\d+$/.test(text) && text.length <= SHORT.keyDigits;
}
