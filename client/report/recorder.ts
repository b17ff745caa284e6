// Collects what a report tells of a run from the run's events. It is loaded with every run, so it imports types
// alone; build-report.ts makes the report.
import type { ReportedFinding } from '../../core/metadata/run-report-schema.ts';
import type { GraphEvent, StepEnd } from '../view/events.ts';

interface StepRecord {
  startedAt: number;
  waitingSince?: number | undefined;
  waitedMs: number;
  up: number;
  down: number;
  findings: readonly ReportedFinding[];
}

export interface RecordedRun {
  readonly began: number;
  readonly jobs: number;
  readonly ends: readonly StepEnd[];
  of(step: string): Readonly<StepRecord>;
}

export class RunRecorder {
  readonly #now: () => number;
  readonly #times = new Map<string, StepRecord>();
  readonly #ends: StepEnd[] = [];
  #began: number;
  #jobs = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#began = now();
  }

  handle(event: GraphEvent): void {
    switch (event.type) {
      case 'run-started':
        this.#began = Date.parse(event.at);
        this.#jobs = event.jobs;
        break;
      case 'step-started':
        this.#of(event.step).startedAt = this.#now();
        break;
      case 'step-waiting':
        this.#of(event.step).waitingSince = this.#now();
        break;
      case 'step-resumed':
        this.#endWait(this.#of(event.step));
        break;
      case 'step-transfer':
        this.#of(event.step)[event.direction] += event.bytes;
        break;
      case 'step-findings':
        this.#of(event.step).findings = event.findings;
        break;
      case 'step-finished':
        this.#endWait(this.#of(event.step));
        this.#ends.push(event);
    }
  }

  #of(step: string): StepRecord {
    const known = this.#times.get(step) ?? {
      startedAt: this.#now(),
      waitedMs: 0,
      up: 0,
      down: 0,
      findings: [],
    };
    this.#times.set(step, known);
    return known;
  }

  #endWait(times: StepRecord): void {
    if (times.waitingSince !== undefined) times.waitedMs += this.#now() - times.waitingSince;
    times.waitingSince = undefined;
  }

  /** Everything that was collected. */
  get recorded(): RecordedRun {
    return { began: this.#began, jobs: this.#jobs, ends: this.#ends, of: (step) => this.#of(step) };
  }
}
