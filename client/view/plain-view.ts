// The view for log files and pipes: a line for each finished step, its log as --logs asks, a summary. In a CI
// system with groups, a step's log folds under its line, and all goes to one stream to keep the order.

import { nextTryText } from '../retry/retry.ts';
import { receiptText } from '../run/receipt.ts';
import { sampleText, sendingText, waitingText } from '../run/reporter.ts';
import { plain } from '../terminal/colour.ts';
import type { CiSyntax } from './ci.ts';
import type { GraphEvent, GraphSummary, StepEnd } from './events.ts';
import { type LogMode, LogPrinter, type Streams } from './log-printer.ts';
import type { RunCounter } from './run-totals.ts';
import { jobsTakenText, stepLine, summaryLines } from './words.ts';

export interface PlainViewOptions {
  readonly streams: Streams;
  readonly logs: LogMode;
  readonly totals: RunCounter;
  readonly ci?: CiSyntax | undefined;
  /** Print the receipts of hits. */
  readonly verbose: boolean;
  now(): number;
}

export class PlainView {
  readonly #options: PlainViewOptions;
  readonly #logs: LogPrinter;
  readonly #streams: Streams;

  constructor(options: PlainViewOptions) {
    this.#options = options;
    const { stdout } = options.streams;
    this.#streams = options.ci ? { stdout, stderr: stdout } : options.streams;
    this.#logs = new LogPrinter(options.logs, this.#streams);
  }

  handle(event: GraphEvent): void {
    if (event.type === 'step-log') this.#logs.handle(event);
    else if (event.type === 'step-warning') this.#print(this.#warning(event.step, event.text));
    else if (event.type === 'run-warning')
      this.#print(this.#options.ci?.warn('Assay', event.text) ?? `assay: ${event.text}\n`);
    else if (event.type === 'run-started' && event.checkHits)
      this.#print(`assay: checks hits (${sampleText(event.checkHits)})\n`);
    else if (event.type === 'run-sending') this.#print(`assay: ${sendingText(event.results)}\n`);
    else if (event.type === 'run-waiting') this.#print(`assay: ${jobsTakenText(event.jobs)}\n`);
    else if (event.type === 'step-waits-for-run')
      this.#print(`assay: ${event.step}: ${waitingText(event)}\n`);
    else if (event.type === 'step-retried') this.#print(`assay: ${event.step}: ${nextTryText(event)}\n`);
    else if (event.type === 'step-finished') this.#finish(event);
    else if (event.type === 'run-finished') this.#summarize(event);
  }

  #warning(step: string, text: string): string {
    return this.#options.ci?.warn(step, text) ?? `assay: ${step}: ${text}\n`;
  }

  #finish(end: StepEnd): void {
    const { ci, now, verbose } = this.#options;
    const failed = end.outcome === 'failed';
    const line = stepLine(end, plain, true);
    const hasLog = this.#logs.wants(end.step, failed);
    if (hasLog && ci) this.#print(ci.groupStart(line, now(), failed));
    else this.#print(`assay: ${line}\n`);
    if (verbose && end.receipt) this.#print(`assay: ${end.step}: ${receiptText(end.receipt)}\n`);
    if (hasLog) this.#logs.print(end.step);
    if (hasLog && ci) this.#print(ci.groupEnd(line, now()));
    if (failed && ci) this.#print(ci.annotate(end));
    this.#logs.forget(end.step);
  }

  #summarize(summary: GraphSummary): void {
    const [first = '', ...more] = summaryLines(summary, this.#options.totals.ends, plain);
    this.#print(`${[`assay: ${first}`, ...more].join('\n')}\n`);
  }

  #print(text: string): void {
    this.#streams.stderr.write(text);
  }
}
