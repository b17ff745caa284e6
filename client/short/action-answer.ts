// The short answer of `assay run --json=short -- COMMAND`: a run of one step. What the command printed is not printed
// again: the answer has the first lines of a failure.

import type { RunRequest } from '../action/request.ts';
import { nameOfAction } from '../history/step-id.ts';
import { SHORT } from '../limits.ts';
import { stepEndOf } from '../report/action-report.ts';
import { type RunWarning, warningText } from '../run/reporter.ts';
import type { RunSummary } from '../run/run.ts';
import type { RunEvent } from '../terminal/events.ts';
import type { Writable } from '../terminal/sync-stream.ts';
import { RunCounter } from '../view/run-totals.ts';
import { ShortRun } from './run-answer.ts';

export class ShortAction {
  readonly #run = new ShortRun();
  readonly #step: string;
  /** Both streams of the command. */
  readonly output: Writable;

  constructor(request: RunRequest) {
    const step = nameOfAction(request);
    this.#step = step;
    this.#run.setWorkspace(request.workspace);
    this.output = {
      write: (data) =>
        this.#run.handle({ type: 'step-log', step, stream: 'stdout', bytes: Buffer.from(data) }),
    };
  }

  report(event: RunEvent): void {
    if (event.type === 'retried') this.#run.handle({ ...event, type: 'step-retried', step: this.#step });
    else if (isWarning(event))
      this.#run.handle({ type: 'step-warning', step: this.#step, text: warningText(event) });
  }

  /** One line. */
  answer(summary: RunSummary): string {
    const end = { type: 'step-finished', ...stepEndOf(this.#step, summary) } as const;
    const totals = new RunCounter();
    totals.handle(end);
    this.#run.handle(end);
    const next = `assay ${summary.outcome === 'miss' ? 'explain' : 'show'} ${summary.key.slice(0, SHORT.keyDigits)}`;
    return this.#run.answer(totals.summary(summary.elapsedMs, undefined), next);
  }
}

const NO_WARNINGS: ReadonlySet<RunEvent['type']> = new Set([
  'transfer',
  'not-published',
  'sending',
  'waiting-for-run',
  'retried',
]);

function isWarning(event: RunEvent): event is RunWarning {
  return !NO_WARNINGS.has(event.type);
}
