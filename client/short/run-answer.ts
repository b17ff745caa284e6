// The short answer of `assay run --json=short`: what became of the run, why, and what to do next.
// Guarantee: it fits SHORT.bytes, also for a graph of thousands of steps. client/short/answers.schema.json describes it.
import { stripVTControlCharacters } from 'node:util';
import { isFlaky } from '../../core/metadata/run-report.ts';
import { SHORT } from '../limits.ts';
import { receiptText } from '../run/receipt.ts';
import type { GraphEvent, GraphSummary, StepEnd } from '../view/events.ts';
import { failureReason, jobsTakenText } from '../view/words.ts';
import { type FirstLines, firstLines } from './first-lines.ts';
import { cleaned, fitted, listed, type Room } from './fit.ts';
import { LogEnds } from './log-ends.ts';
import { nextCommand } from './next-command.ts';

/** A change of a meaning needs a new number, in the schema too. */
export const ANSWER_VERSION = 1;

export class ShortRun {
  readonly #ends: StepEnd[] = [];
  readonly #logs = new Map<string, LogEnds>();
  readonly #told = new Map<string, FirstLines>();
  /** The first lines of the first try of steps that were run again. */
  readonly #firstTries = new Map<string, FirstLines>();
  readonly #warnings: string[] = [];
  #workspace = '';

  handle(event: GraphEvent): void {
    if (event.type === 'run-started') this.setWorkspace(event.workspace);
    else if (event.type === 'step-log') this.#logOf(event.step).add(event.bytes);
    else if (event.type === 'step-retried') this.#nextTry(event.step);
    else if (event.type === 'step-warning') this.#warn(`${event.step}: ${event.text}`);
    else if (event.type === 'run-warning') this.#warn(event.text);
    else if (event.type === 'run-waiting') this.#warn(jobsTakenText(event.jobs, true));
    else if (event.type === 'step-finished') this.#finish(event);
  }

  /** Its path is left out of lines. */
  setWorkspace(folder: string): void {
    this.#workspace = folder;
  }

  #logOf(step: string): LogEnds {
    const known = this.#logs.get(step) ?? new LogEnds();
    this.#logs.set(step, known);
    return known;
  }

  #warn(text: string): void {
    if (this.#warnings.length < SHORT.warnings) this.#warnings.push(text);
  }

  /** The answer of a failure tells of its last try. */
  #nextTry(step: string): void {
    if (this.#firstTries.size < SHORT.failures && !this.#firstTries.has(step))
      this.#firstTries.set(step, this.#linesOf(step));
    this.#logs.delete(step);
  }

  #finish(end: StepEnd): void {
    this.#ends.push(end);
    if (end.outcome === 'failed' && this.#told.size < SHORT.failures)
      this.#told.set(end.step, this.#linesOf(end.step));
    this.#logs.delete(end.step);
  }

  #linesOf(step: string): FirstLines {
    const log = this.#logs.get(step)?.text() ?? '';
    return firstLines(stripVTControlCharacters(log), this.#workspace);
  }

  /** One line. `next`: the command that helps most. `run`: the id of the run, where it has one. */
  answer(summary: GraphSummary, next = nextCommand(this.#ends), run?: string): string {
    const named = run === undefined ? {} : { run };
    return fitted((room) => ({ ...this.#answer(summary, next, room), ...named }));
  }

  #answer(summary: GraphSummary, next: string, room: Room): object {
    const ends = this.#ends;
    const failed = ends.filter(({ outcome }) => outcome === 'failed');
    const misses = Map.groupBy(
      ends.filter(({ outcome }) => outcome === 'miss'),
      ({ reason }) => reason,
    );
    const made = ends.filter(({ receipt }) => receipt !== undefined);
    const { steps, hitsLocal, hitsRemote, misses: ran, skipped, interrupted, exitCode } = summary;
    return {
      version: ANSWER_VERSION,
      answer: 'run',
      outcome: interrupted > 0 ? 'interrupted' : exitCode === 0 ? 'ok' : 'failed',
      exitCode,
      ...{ steps, hits: hitsLocal + hitsRemote, hitsRemote, ran, failed: failed.length, skipped },
      ...{ elapsedMs: Math.round(summary.elapsedMs), savedMs: Math.round(summary.savedMs) },
      ...listed('failures', failed, room.items, (end) => this.#failure(end, room)),
      ...listed('flaky', ends.filter(isFlaky), room.items, (end) => this.#flaky(end, room)),
      ...listed('reasons', [...misses], room.items, (group) => reason(group, room)),
      ...listed('receipts', made, Math.min(room.items, SHORT.receipts), (end) => receipt(end, room)),
      ...listed('warnings', this.#warnings, Math.min(room.items, 3), (text) => cleaned(text, room)),
      next,
    };
  }

  #failure(end: StepEnd, room: Room): object {
    return {
      step: cleaned(end.step, room),
      exitCode: end.exitCode,
      ...(end.key !== undefined && { key: end.key.slice(0, SHORT.keyDigits) }),
      reason: cleaned([failureReason(end), end.wayOut].filter(Boolean).join('. '), room),
      ...(end.replayed && { replayed: true }),
      ...linesIn(this.#told.get(end.step), room),
    };
  }

  /** With the lines of its first try, if the last one passed: those of a failure are told with it. */
  #flaky({ step, outcome, tries }: StepEnd, room: Room): object {
    return {
      step: cleaned(step, room),
      exitCodes: tries?.exitCodes ?? [],
      ...(outcome !== 'failed' && linesIn(this.#firstTries.get(step), room)),
    };
  }
}

function linesIn(told: FirstLines | undefined, room: Room): object {
  const { lines, tool, failures } = told ?? { lines: [] };
  return {
    ...(tool !== undefined && { tool, failures }),
    ...listed('lines', lines, Math.min(room.items, SHORT.lines), (line) => cleaned(line, room)),
  };
}

function reason([why, ends]: readonly [string, readonly StepEnd[]], room: Room): object {
  const notKept = ends.find(({ notPublished }) => notPublished !== undefined)?.notPublished;
  return {
    reason: cleaned(why, room),
    ...listed('steps', ends, Math.min(room.items, SHORT.namedSteps), ({ step }) => cleaned(step, room)),
    ...(notKept !== undefined && { notKept: cleaned(notKept, room) }),
  };
}

function receipt({ step, key = '', receipt: made }: StepEnd, room: Room): object {
  return {
    step: cleaned(step, room),
    key: key.slice(0, SHORT.keyDigits),
    receipt: made ? cleaned(receiptText(made), { bytes: 2 * room.bytes }) : '',
  };
}
