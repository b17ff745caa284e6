// The report of `assay run -- COMMAND`: a run of one step. It collects what the run's events tell beside its
// summary. It is loaded with every such run, so it imports types alone; build-report.ts makes the report.
import type { ReportedFinding } from '../../core/metadata/run-report-schema.ts';
import type { RunRequest } from '../action/request.ts';
import type { RunSummary } from '../run/run.ts';
import type { RunEvent } from '../terminal/events.ts';
import type { StepEnd } from '../view/events.ts';
import type { ReportTarget } from './send.ts';

interface ReportedAction {
  readonly request: RunRequest;
  readonly caller: Readonly<Record<string, string | undefined>>;
  /** When the run began. */
  readonly began: number;
}

export class ActionReport {
  readonly #action: ReportedAction;
  readonly #bytes = { up: 0, down: 0 };
  readonly #batch = { up: 0, down: 0 };
  #findings: readonly ReportedFinding[] = [];

  constructor(action: ReportedAction) {
    this.#action = action;
  }

  handle(event: RunEvent): void {
    if (event.type === 'transfer') this.#count(event.direction, event.bytes);
    else if (event.type === 'findings')
      this.#findings = event.findings.map(({ kind, path = '', detail = '' }) => ({ kind, path, detail }));
  }

  /** `total` starts again at 0 for each batch of blobs. */
  #count(direction: 'up' | 'down', total: number): void {
    const before = total < this.#batch[direction] ? 0 : this.#batch[direction];
    this.#bytes[direction] += total - before;
    this.#batch[direction] = total;
  }

  /** The address of the run's page. Undefined if the server did not take the report in time. */
  async send(summary: RunSummary, target: ReportTarget): Promise<string | undefined> {
    const [{ buildReport }, { sendReport }, { sendLogs }, { nameOfAction, stepIdOf }] = await Promise.all([
      import('./build-report.ts'),
      import('./send.ts'),
      import('./send-logs.ts'),
      import('../history/step-id.ts'),
    ]);
    const { request, caller, began } = this.#action;
    const { up, down } = this.#bytes;
    const step = nameOfAction(request);
    const times = { startedAt: began, waitedMs: 0, up, down, findings: this.#findings };
    const recorded = { began, jobs: 1, ends: [stepEndOf(step, summary)], of: () => times };
    const { elapsedMs, exitCode } = summary;
    const totals = { elapsedMs, exitCode, interrupted: 0, bytesUp: up, bytesDown: down, warnings: [] };
    const declared = { id: step, dependsOn: [], env: request.variables.map(({ name }) => name) };
    const idOf = () => stepIdOf(request, caller);
    const around = { workspace: request.workspace, steps: [declared], caller, idOf };
    await sendLogs([summary], target.remote, target.openStore, elapsedMs);
    return sendReport(buildReport(recorded, totals, around, target.remote.reportForm), target);
  }
}

/** The run as that of one step. */
export function stepEndOf(step: string, { outcome, ...summary }: RunSummary): StepEnd {
  if (summary.exitCode === 0) return { ...summary, step, outcome };
  return { ...summary, step, outcome: 'failed', ...(outcome !== 'miss' && { replayed: true }) };
}
