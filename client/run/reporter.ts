// Prints the events and the summary of a run on stderr, or one JSON object as the last line of stderr.
// The command's own output passes unchanged.
import { type Finding, fixText } from '../../hermeticity/verdict/finding.ts';
import { colourFor } from '../terminal/colour.ts';
import type { Report, RunEvent } from '../terminal/events.ts';
import { inOneLine, type Writable } from '../terminal/sync-stream.ts';
import { findingJson } from '../trace/finding-report.ts';
import type { RunSummary } from './run.ts';

/** A stream that may be a terminal. */
export type Screen = Writable & { readonly isTTY?: boolean; readonly isMidLine?: boolean };

/** How many findings a run prints. */
const FINDINGS_SHOWN = 5;

export class Reporter {
  readonly #screen: Screen;
  readonly #json: boolean;
  readonly #warnings: string[] = [];
  #notPublished: string | undefined;
  #found: readonly Finding[] = [];
  #progressShown = false;

  constructor(screen: Screen, json: boolean) {
    this.#screen = screen;
    this.#json = json;
  }

  readonly report: Report = (event) => {
    if (event.type === 'transfer') this.#progress(event);
    else if (event.type === 'not-published') this.#notPublished = event.why;
    else if (event.type === 'sending') this.#say(sendingText(event.results));
    else if (event.type === 'findings') this.#findings(event);
    else this.#warn(warningText(event));
  };

  summary(summary: RunSummary): void {
    this.#clearProgress();
    if (this.#screen.isMidLine) this.#screen.write('\n');
    if (this.#json) this.#screen.write(`${JSON.stringify(this.#machineSummary(summary))}\n`);
    else this.#screen.write(`assay: ${this.#sentence(summary)}\n`);
  }

  #machineSummary(summary: RunSummary): Record<string, unknown> {
    const { outcome, key, exitCode, standing, reason, published, shared, outputsWritten } = summary;
    const { commandMs, elapsedMs, diverged } = summary;
    return {
      outcome,
      key,
      exitCode,
      standing,
      reason,
      published,
      shared,
      outputsWritten,
      commandMs: Math.round(commandMs),
      elapsedMs: Math.round(elapsedMs),
      ...(diverged && { diverged }),
      ...(this.#found.length > 0 && { findings: this.#found.map(findingJson) }),
      ...(this.#notPublished !== undefined && { notPublished: this.#notPublished }),
      warnings: this.#warnings,
    };
  }

  #sentence(summary: RunSummary): string {
    const { outcome, key, reason, commandMs, elapsedMs, standing } = summary;
    const name = key.slice(0, 12);
    if (outcome !== 'miss') {
      const where = outcome === 'hit-local' ? 'local' : 'remote';
      const mark = standing === 'marked' ? ', marked' : '';
      return `${this.#colour('green', 'hit')} (${where}${mark}) ${name}, ${outputsText(summary)}${savedText(commandMs - elapsedMs)}`;
    }
    return `${this.#colour('yellow', 'miss')} ${name}: ${reason}; ran ${duration(commandMs)}, ${this.#publicationText(summary)}`;
  }

  #publicationText({ published, shared, standing }: RunSummary): string {
    if (!published) return `not published${this.#notPublished ? `: ${this.#notPublished}` : ''}`;
    const where = shared ? 'local, remote' : 'local';
    return standing === 'marked' ? `published (${where}), marked` : `published (${where})`;
  }

  /** Prints the first findings; `assay audit` prints all. */
  #findings({ findings, gaps }: RunEvent & { type: 'findings' }): void {
    this.#found = findings;
    for (const gap of gaps) this.#say(`the trace is incomplete: ${gap}`);
    for (const finding of findings.slice(0, FINDINGS_SHOWN))
      this.#say(`not declared: ${findingText(finding)}`);
    const more = findings.length - FINDINGS_SHOWN;
    if (more > 0) this.#say(`not declared: ${more} more, which \`assay audit\` lists`);
  }

  #colour(colour: 'green' | 'yellow', text: string): string {
    return colourFor(this.#screen.isTTY ?? false, process.env)(colour, text);
  }

  /** A remote that is down fails the lookup and the upload of earlier results: one warning is enough. */
  #warn(text: string): void {
    if (this.#warnings.includes(text)) return;
    this.#warnings.push(text);
    this.#say(text);
  }

  #say(text: string): void {
    this.#clearProgress();
    if (this.#screen.isMidLine) this.#screen.write('\n');
    this.#screen.write(`assay: ${text}\n`);
  }

  #progress({ direction, done, of, bytes }: RunEvent & { type: 'transfer' }): void {
    if (!this.#screen.isTTY) return;
    const verb = direction === 'up' ? 'uploading' : 'downloading';
    this.#screen.write(`\r\x1b[Kassay: ${verb} ${done} of ${of} (${(bytes / 2 ** 20).toFixed(1)} MiB)`);
    this.#progressShown = true;
  }

  #clearProgress(): void {
    if (this.#progressShown) this.#screen.write('\r\x1b[K');
    this.#progressShown = false;
  }
}

/** All findings in one line. */
function findingsText({ findings, gaps }: RunEvent & { type: 'findings' }): string {
  const [first] = findings;
  if (!first) return `the trace is incomplete: ${gaps[0]}`;
  const more = findings.length > 1 ? ` and ${findings.length - 1} more` : '';
  return `not declared: ${findingText(first)}${more}`;
}

function findingText({ kind, path, detail, fix }: Finding): string {
  const what = [path, detail].filter((part) => part !== undefined).join(': ');
  return `${kind} ${what}${fix ? ` (${fixText(fix)})` : ''}`;
}

export type Warning = Exclude<RunEvent, { type: 'transfer' | 'not-published' | 'sending' }>;

export function sendingText(results: number): string {
  return `sending ${results === 1 ? '1 result' : `${results} results`} to the remote`;
}

export function warningText(event: Warning): string {
  return inOneLine(wordsFor(event));
}

function wordsFor(event: Warning): string {
  switch (event.type) {
    case 'findings':
      return findingsText(event);
    case 'unwatched':
      return `the command runs unwatched: ${event.why}`;
    case 'hit-refused':
      return `${event.why}; running the command instead`;
    case 'store-unusable':
      return `the local store is not usable, running without it: ${event.why}`;
    case 'remote-given-up':
      return `the remote is not usable, going on without it: ${event.why}`;
    case 'remote-takes-nothing':
      return `the remote takes no results, they stay in the local store: ${event.why}`;
    case 'diverged':
      return `an earlier run of this action made other outputs, and ${event.where} keeps those: the command is not deterministic (see \`assay reproduce\`)`;
    case 'unshared':
      return `${event.results === 1 ? '1 result was' : `${event.results} results were`} not shared, and will be sent by the next run or \`assay push\`: ${event.why}`;
    case 'hit-unusable':
      return `a stored result could not be used, counting it as a miss: ${event.why}`;
    case 'resumed':
      return `starting from checkpoint ${event.checkpoint}`;
    case 'checkpoints-behind':
      return `the remote is behind: ${event.arrived > 0 ? `it has checkpoint ${event.arrived}` : 'it has no checkpoint of this run'}, and ${event.sealed} is sealed here`;
    case 'unsealed':
      return `no checkpoint was taken: ${event.why}`;
    case 'state-carried':
      return `starting with ${event.from}`;
    case 'state-not-kept':
      return `its state was not kept: ${event.why}`;
    case 'waiting':
      return `waiting for another run that makes ${event.output}`;
    case 'stray-link':
      return `the input ${event.path} is a link to something that is not declared: what it points to is not in the key`;
    case 'secret-declared':
      return `${event.name} looks like a secret: a declared variable's value is stored with the action`;
  }
}

function outputsText({ outputsWritten }: RunSummary): string {
  if (outputsWritten === 0) return 'outputs already in place';
  return outputsWritten === 1 ? '1 output restored' : `${outputsWritten} outputs restored`;
}

/** Empty if the hit took as long as the command. */
export function savedText(milliseconds: number): string {
  return milliseconds < 1 ? '' : `, saved ${duration(milliseconds)}`;
}

export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60_000)} min ${Math.round((milliseconds % 60_000) / 1000)} s`;
}
