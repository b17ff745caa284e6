// Makes the report of a run from what was recorded.
// Guarantee: it has no content, no value of a variable and no command line.
import { randomUUID } from 'node:crypto';
import {
  LOGS_FORM,
  RUN_REPORT,
  RUNS_FORM,
  STEP_IDS_FORM,
  type Tries,
} from '../../core/metadata/run-report.ts';
import type { ReportedStep, ReportedTries, RunReport } from '../../core/metadata/run-report-schema.ts';
import type { StepId } from '../../core/metadata/step-id.ts';
import { VERSION } from '../../core/version.ts';
import type { Variables } from '../action/environment.ts';
import type { Step } from '../config/step.ts';
import { checkedOut } from '../history/repository.ts';
import { triesText } from '../retry/retry.ts';
import { checkedOutCommit, placeOf } from '../run/run-origin.ts';
import type { GraphSummary, StepEnd } from '../view/events.ts';
import type { RecordedRun } from './recorder.ts';

/** The declaration of a step, as a report has it. */
type DeclaredStep = Pick<Step, 'id' | 'dependsOn' | 'env'>;

interface ReportedGraph {
  readonly workspace: string;
  readonly steps: readonly DeclaredStep[];
  readonly caller: Variables;
  idOf(step: string): StepId;
}

/** Shortened until it is no larger than a server takes. `form`: the newest one that the server takes. */
export function buildReport(
  recorded: RecordedRun,
  summary: Pick<
    GraphSummary,
    'elapsedMs' | 'exitCode' | 'interrupted' | 'bytesUp' | 'bytesDown' | 'warnings'
  >,
  { workspace, steps, caller, idOf }: ReportedGraph,
  form: number,
): RunReport {
  const byName = new Map(steps.map((step) => [step.id, step]));
  const place = placeOf(caller);
  const commit = checkedOutCommit(workspace);
  const { repository, branch } = checkedOut(workspace, caller);
  const isJob = place !== undefined && /^https?:\/\//.test(place);
  const whole: RunReport = {
    version: 1,
    id: randomUUID().replaceAll('-', ''),
    assay: VERSION,
    startedAt: new Date(recorded.began).toISOString(),
    elapsedMs: summary.elapsedMs,
    jobs: recorded.jobs,
    exitCode: summary.exitCode,
    isInterrupted: summary.interrupted > 0,
    ...(repository !== undefined && { repository: name(repository) }),
    ...(branch !== undefined && { branch: name(branch) }),
    ...(commit !== undefined && { commit }),
    ...(place !== undefined && (isJob ? { job: name(place) } : { where: name(place) })),
    bytesUp: summary.bytesUp,
    bytesDown: summary.bytesDown,
    warnings: summary.warnings.slice(0, RUN_REPORT.maxWarnings).map(text),
    steps: recorded.ends.slice(0, RUN_REPORT.maxSteps).map((end) => ({
      ...reportedStep(end, recorded, byName),
      ...(form >= STEP_IDS_FORM && { id: idOf(end.step), ...differencesIn(end) }),
      ...(form >= LOGS_FORM && end.outcome === 'failed' && end.log && { log: end.log }),
      ...(form >= RUNS_FORM && end.tries && { tries: triesIn(end.tries) }),
    })),
  };
  return fitting(whole);
}

function reportedStep(
  end: StepEnd,
  recorded: RecordedRun,
  steps: ReadonlyMap<string, DeclaredStep>,
): ReportedStep {
  const times = recorded.of(end.step);
  const declared = steps.get(end.step);
  const { outcome, key, exitCode, elapsedMs, commandMs, status, receipt, notPublished, diverged, replayed } =
    end;
  const cause = outcome === 'miss' || outcome === 'failed' ? end.cause : undefined;
  const findings = times.findings.slice(0, RUN_REPORT.maxFindings);
  return {
    step: name(end.step),
    outcome,
    why: text(reasonOf(end)),
    ...(cause && {
      cause: { kind: cause.kind, ...(cause.name !== undefined && { name: name(cause.name) }) },
    }),
    ...(key !== undefined && { key }),
    exitCode,
    startMs: Math.max(0, times.startedAt - recorded.began),
    elapsedMs: Math.max(0, elapsedMs),
    commandMs: Math.max(0, commandMs),
    waitedMs: times.waitedMs,
    needs: (declared?.dependsOn ?? [])
      .filter((need) => steps.has(need))
      .slice(0, RUN_REPORT.maxNeeds)
      .map(name),
    // Nobody judges what a failed command saw, so it has no status.
    ...(status && (outcome !== 'failed' || replayed) && { status }),
    ...(receipt && { facts: receipt.facts }),
    findings: findings.map(({ kind, path, detail }) => ({
      kind: name(kind),
      path: name(path),
      detail: text(detail),
    })),
    moreFindings: times.findings.length - findings.length,
    bytesUp: times.up,
    bytesDown: times.down,
    ...(notPublished !== undefined && { notKept: text(notPublished) }),
    ...(diverged && { diverged }),
    variables: (declared?.env ?? []).slice(0, RUN_REPORT.maxVariables).map(variableName),
  };
}

function reasonOf({ outcome, reason, cause, replayed, tries }: StepEnd): string {
  if (outcome === 'failed' && tries) return triesText(tries);
  return outcome === 'failed' && !replayed && cause ? 'the command failed' : reason;
}

function differencesIn({ outcome, differences, moreDifferences, seen }: StepEnd): Partial<ReportedStep> {
  if (outcome !== 'miss') return {};
  return {
    ...(differences && { differences }),
    ...(moreDifferences !== undefined && { moreDifferences }),
    ...(seen && { seen }),
  };
}

function triesIn({ exitCodes, verdict }: Tries): ReportedTries {
  return { exitCodes: exitCodes.slice(0, RUN_REPORT.maxTries), verdict };
}

/** A declaration may set the value, too: NAME=VALUE. */
function variableName(declaration: string): string {
  return name(declaration.replace(/=.*$/s, ''));
}

function name(words: string): string {
  return words.slice(0, RUN_REPORT.maxName);
}

function text(words: string): string {
  return words.slice(0, RUN_REPORT.maxText);
}

/** Without findings and differences, then with fewer steps: a server refuses what is too large. */
function fitting(report: RunReport): RunReport {
  const isSmall = (one: RunReport) => Buffer.byteLength(JSON.stringify(one)) <= RUN_REPORT.maxBytes;
  if (isSmall(report)) return report;
  const bare = report.steps.map(({ differences = [], moreDifferences = 0, ...step }) => ({
    ...step,
    findings: [],
    moreFindings: step.findings.length + step.moreFindings,
    variables: [],
    ...(differences.length > 0 && { moreDifferences: differences.length + moreDifferences }),
  }));
  let shorter: RunReport = { ...report, steps: bare };
  while (!isSmall(shorter) && shorter.steps.length > 0)
    shorter = { ...shorter, steps: shorter.steps.slice(0, Math.floor(shorter.steps.length / 2)) };
  return shorter;
}
