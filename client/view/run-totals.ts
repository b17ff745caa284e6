// Counts hits, misses, failures and bytes of a graph run from its events.

import type { Checked } from '../../core/metadata/receipt.ts';
import { isFlaky } from '../../core/metadata/run-report.ts';
import type { CheckedSample, GraphEvent, GraphSummary, StepEnd } from './events.ts';
import type { RunCounts } from './words.ts';

/** The uploads at the end of a run. */
export interface UploadOutcome {
  readonly unshared: number;
  readonly diverged: boolean;
}

const NO_UPLOADS: UploadOutcome = { unshared: 0, diverged: false };

/** What the first line of a summary tells of these steps. */
export function countsOf(
  ends: readonly Pick<StepEnd, 'outcome' | 'commandMs' | 'elapsedMs'>[],
  { elapsedMs, bytesUp, bytesDown }: Pick<GraphSummary, 'elapsedMs' | 'bytesUp' | 'bytesDown'>,
): RunCounts {
  const count = (wanted: StepEnd['outcome']) => ends.filter(({ outcome }) => outcome === wanted).length;
  const hits = ends.filter(({ outcome }) => outcome === 'hit-local' || outcome === 'hit-remote');
  return {
    steps: ends.length,
    hitsLocal: count('hit-local'),
    hitsRemote: count('hit-remote'),
    misses: count('miss'),
    failed: count('failed'),
    interrupted: count('interrupted'),
    skipped: count('skipped'),
    savedMs: hits.reduce((sum, end) => sum + Math.max(0, end.commandMs - end.elapsedMs), 0),
    ...{ elapsedMs, bytesUp, bytesDown },
  };
}

export class RunCounter {
  readonly ends: StepEnd[] = [];
  readonly #counts = new Map<StepEnd['outcome'], number>();
  readonly #warnings: string[] = [];
  #bytes = { up: 0, down: 0 };
  #sample: CheckedSample | undefined;

  handle(event: GraphEvent): void {
    if (event.type === 'step-finished') {
      this.ends.push(event);
      this.#counts.set(event.outcome, this.count(event.outcome) + 1);
    } else if (event.type === 'run-started') this.#sample = event.checkHits;
    else if (event.type === 'step-transfer') this.#bytes[event.direction] += event.bytes;
    else if (event.type === 'run-warning') this.#warnings.push(event.text);
  }

  #verdicts(): Record<Checked, number> {
    const count = (verdict: Checked) => this.ends.filter(({ checked }) => checked === verdict).length;
    return { same: count('same'), different: count('different'), unstable: count('unstable') };
  }

  get bytesUp(): number {
    return this.#bytes.up;
  }

  get bytesDown(): number {
    return this.#bytes.down;
  }

  count(outcome: StepEnd['outcome']): number {
    return this.#counts.get(outcome) ?? 0;
  }

  summary(
    elapsedMs: number,
    interrupted: number | undefined,
    settled: UploadOutcome = NO_UPLOADS,
  ): GraphSummary {
    const failure = this.ends.find(({ outcome }) => outcome === 'failed');
    const flaky = this.ends.filter(isFlaky).length;
    return {
      ...countsOf(this.ends, { elapsedMs, bytesUp: this.bytesUp, bytesDown: this.bytesDown }),
      unshared: settled.unshared,
      ...((settled.diverged || this.ends.some(({ diverged }) => diverged)) && { diverged: true }),
      ...(flaky > 0 && { flaky }),
      ...(this.#sample && { checkHits: { ...this.#sample, ...this.#verdicts() } }),
      warnings: this.#warnings,
      exitCode: interrupted ?? failure?.exitCode ?? 0,
    };
  }
}
