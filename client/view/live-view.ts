// The view for a terminal: finished steps scroll by, one line each. Running steps are redrawn below them.
import { wrapLine } from '../../core/cli/layout.ts';
import { GRAPH } from '../limits.ts';
import { nextTryText } from '../retry/retry.ts';
import { receiptText } from '../run/receipt.ts';
import { durationText, sampleText, sendingText, waitingText } from '../run/reporter.ts';
import type { Colour } from '../terminal/colour.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import type { GraphEvent, GraphSummary, StepEnd } from './events.ts';
import { type LogMode, LogPrinter } from './log-printer.ts';
import type { RunCounter } from './run-totals.ts';
import { bytesText, jobsTakenText, stepLine, summaryLines } from './words.ts';

export interface LiveViewOptions {
  readonly screen: Writable;
  readonly logs: LogMode;
  readonly totals: RunCounter;
  readonly colour: Colour;
  /** Print the receipts of hits. */
  readonly verbose: boolean;
  columns(): number;
  now(): number;
}

const MOST_RUNNING = 8;

interface Waiting {
  readonly holder?: string;
  readonly leftMs?: number;
  readonly at: number;
}

export class LiveView {
  readonly #options: LiveViewOptions;
  readonly #logs: LogPrinter;
  readonly #running = new Map<string, number>();
  /** Steps that wait for another run, since when. */
  readonly #waiting = new Map<string, Waiting>();
  #steps = 0;
  #startedAt = 0;
  #drawnLines = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: LiveViewOptions) {
    this.#options = options;
    const stream = { write: (data: string | Uint8Array) => this.#above(() => options.screen.write(data)) };
    this.#logs = new LogPrinter(options.logs, { stdout: stream, stderr: stream });
  }

  handle(event: GraphEvent): void {
    const { now } = this.#options;
    switch (event.type) {
      case 'run-started':
        this.#begin(event.steps, now());
        if (event.checkHits) this.#print(`checks hits (${sampleText(event.checkHits)})`);
        break;
      case 'step-waiting':
        this.#running.delete(event.step);
        break;
      case 'step-started':
      case 'step-resumed':
        this.#waiting.delete(event.step);
        this.#running.set(event.step, now());
        break;
      case 'step-waits-for-run':
        this.#running.delete(event.step);
        this.#waiting.set(event.step, { ...event, at: now() });
        break;
      case 'step-retried':
        this.#print(`${event.step}: ${nextTryText(event)}`);
        break;
      case 'step-log':
        this.#logs.handle(event);
        break;
      case 'step-warning':
        this.#print(`${this.#options.colour('yellow', '!')} ${event.step}: ${event.text}`);
        break;
      case 'run-warning':
        this.#print(`${this.#options.colour('yellow', '!')} ${event.text}`);
        break;
      case 'run-waiting':
        this.#print(jobsTakenText(event.jobs));
        break;
      case 'run-sending':
        this.#print(sendingText(event.results));
        break;
      case 'step-finished':
        this.#finish(event);
        break;
      case 'run-finished':
        this.#end(event);
    }
  }

  #begin(steps: number, at: number): void {
    this.#steps = steps;
    this.#startedAt = at;
    this.#timer = setInterval(() => this.#draw(), GRAPH.drawMs);
    this.#timer.unref();
  }

  #finish(end: StepEnd): void {
    this.#running.delete(end.step);
    this.#waiting.delete(end.step);
    const { colour, verbose } = this.#options;
    this.#print(stepLine(end, colour, false));
    if (verbose && end.receipt) this.#print(`  ${receiptText(end.receipt)}`);
    if (this.#logs.wants(end.step, end.outcome === 'failed')) this.#logs.print(end.step);
    this.#logs.forget(end.step);
  }

  #end(summary: GraphSummary): void {
    clearInterval(this.#timer);
    this.#erase();
    const { totals, colour } = this.#options;
    for (const line of summaryLines(summary, totals.ends, colour))
      this.#options.screen.write(this.#wrapped(line));
  }

  #print(line: string): void {
    this.#above(() => this.#options.screen.write(this.#wrapped(line)));
  }

  /** Breaks a long line between words and indents the rest. Ends with a newline. */
  #wrapped(line: string): string {
    const indent = line.search(/\S|$/) + 2;
    return `${wrapLine(line, this.#options.columns(), ' '.repeat(indent))}\n`;
  }

  /** Erases the drawn lines and writes in their place. The next timer tick draws them again. */
  #above(write: () => void): void {
    this.#erase();
    write();
  }

  #erase(): void {
    if (this.#drawnLines > 0) this.#options.screen.write(`${up(this.#drawnLines)}\x1b[J`);
    this.#drawnLines = 0;
  }

  #draw(): void {
    const lines = this.#lines().map((line) => clip(line, this.#options.columns()));
    const start = this.#drawnLines > 0 ? up(this.#drawnLines) : '';
    this.#options.screen.write(`${start}\x1b[J${lines.map((line) => `${line}\n`).join('')}`);
    this.#drawnLines = lines.length;
  }

  #lines(): string[] {
    const { totals, now } = this.#options;
    const at = now();
    const counts = [
      `${totals.ends.length}/${this.#steps}`,
      `${totals.count('hit-local') + totals.count('hit-remote')} hit`,
      `${totals.count('miss')} ran`,
      `${totals.count('failed')} failed`,
      `${this.#running.size} running`,
      `${bytesText(totals.bytesDown)} down`,
      `${bytesText(totals.bytesUp)} up`,
      durationText(at - this.#startedAt),
    ];
    const running = [...this.#running].slice(0, MOST_RUNNING);
    const more = this.#running.size - running.length;
    return [
      counts.join('  '),
      ...running.map(([step, since]) => `  ${step}  ${durationText(at - since)}`),
      ...[...this.#waiting]
        .slice(0, MOST_RUNNING)
        .map(([step, wait]) => `  ${step}  ${waitingNow(wait, at)}`),
      ...(more > 0 ? [`  … and ${more} more`] : []),
    ];
  }
}

/** The time that is left counts down. */
function waitingNow({ leftMs, at: since, ...of }: Waiting, at: number): string {
  return waitingText({ ...of, ...(leftMs !== undefined && { leftMs: Math.max(0, leftMs - (at - since)) }) });
}

/** Cuts a line to the terminal's width: a wrapped line takes two rows and would not be erased. */
function clip(line: string, columns: number): string {
  return line.length < columns ? line : `${line.slice(0, Math.max(1, columns - 2))}…`;
}

/** Moves to the start of an earlier line. The terminal may have echoed a ^C, so the column is not 0. */
function up(lines: number): string {
  return `\r\x1b[${lines}A`;
}
