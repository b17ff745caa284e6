// For logs and pipes: a line when a step ends, its log beside it as asked for, the summary at the end. In a CI system that
// knows groups, what a step said folds away under its line, and all of it goes to one stream so that it stays together.

import { sendingText } from '../../run/reporter.ts';
import { plain } from '../../terminal/colour.ts';
import type { CiSyntax } from './ci.ts';
import type { GraphEvent, GraphSummary, StepEnd } from './events.ts';
import { type LogMode, LogPrinter, type Streams } from './log-printer.ts';
import type { RunTotals } from './run-totals.ts';
import { stepLine, summaryLines } from './words.ts';

export interface PlainViewOptions {
  readonly streams: Streams;
  readonly logs: LogMode;
  readonly totals: RunTotals;
  readonly ci?: CiSyntax | undefined;
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
    else if (event.type === 'step-warning') this.#say(this.#warning(event.step, event.text));
    else if (event.type === 'run-warning')
      this.#say(this.#options.ci?.warn('Assay', event.text) ?? `assay: ${event.text}\n`);
    else if (event.type === 'run-sending') this.#say(`assay: ${sendingText(event.results)}\n`);
    else if (event.type === 'step-finished') this.#finish(event);
    else if (event.type === 'run-finished') this.#summarize(event);
  }

  #warning(step: string, text: string): string {
    return this.#options.ci?.warn(step, text) ?? `assay: ${step}: ${text}\n`;
  }

  #finish(end: StepEnd): void {
    const { ci, now } = this.#options;
    const failed = end.outcome === 'failed';
    const line = stepLine(end, plain, true);
    const hasLog = this.#logs.wants(end.step, failed);
    if (hasLog && ci) this.#say(ci.groupStart(line, now(), failed));
    else this.#say(`assay: ${line}\n`);
    if (hasLog) this.#logs.print(end.step);
    if (hasLog && ci) this.#say(ci.groupEnd(line, now()));
    if (failed && ci) this.#say(ci.annotate(end));
    this.#logs.forget(end.step);
  }

  #summarize(summary: GraphSummary): void {
    const [first = '', ...more] = summaryLines(summary, this.#options.totals.ends, plain);
    this.#say(`${[`assay: ${first}`, ...more].join('\n')}\n`);
  }

  #say(text: string): void {
    this.#streams.stderr.write(text);
  }
}
