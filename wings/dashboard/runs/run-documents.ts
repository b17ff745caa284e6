// What is kept of a run, as documents of the history:
//
//   run          one row of the list of runs
//   run-details  its steps
//   miss-day     the causes of misses, added up by day (miss-days.ts)
//   step-week    what its steps did, added up by week (../trends/)
//   step-times, flaky
//                the newest durations of a step, and its runs that ended in two ways (../trends/)
//   step, step-unkept
//                the newest state of each step, and its actions that left no result (server/history/step-documents.ts)
//
// A run is filed under the namespace that its token writes to. Who may read that namespace may read its runs.

import { hash } from 'node:crypto';
import type { ReportedStep, RunReport } from '../../../core/metadata/run-report-schema.ts';
import type { StepId } from '../../../core/metadata/step-id.ts';
import { type Namespace, writtenFrom } from '../../../core/namespace.ts';
import { type DocumentName, documentOf } from '../../../server/history/documents.ts';
import {
  type EarlierAction,
  STEP_KIND,
  type StoredUnkept,
  UNKEPT_KIND,
} from '../../../server/history/step-documents.ts';
import type { HistoryDocument } from '../../../store/history.ts';
import type { RunRow } from '../api/schemas/parts.ts';
import { DASHBOARD } from '../limits.ts';
import { idOf, type StoredStep, withUnkept } from '../stored-step.ts';
import type { RunMisses } from './miss-days.ts';

export interface StoredRow extends RunRow {
  /** For searches, at most DASHBOARD.runNames. */
  readonly names: readonly string[];
  /** The same for runs with the same steps. */
  readonly likeness: string;
  /** When the report arrived, in milliseconds since 1970. A grouped run has none. */
  readonly receivedAt?: number;
  /** Of a grouped run: what each process counted. */
  readonly parts?: Readonly<Record<string, RunPart>>;
}

export interface RunPart {
  readonly hits: number;
  readonly misses: number;
  readonly savedMs: number;
  /** Of its last request, in milliseconds since 1970. */
  readonly end: number;
}

export interface StoredDetails {
  readonly jobs?: number;
  readonly exitCode?: number;
  readonly warnings: readonly string[];
  readonly steps: readonly ReportedStep[];
}

export interface ReportSender {
  /** Where the token writes what it named, as the store has it. */
  readonly namespace: Namespace;
  readonly identity: string;
}

export function reportRow(report: RunReport, { namespace, identity }: ReportSender, now: number): StoredRow {
  const { id, assay, elapsedMs, exitCode, isInterrupted, steps, bytesUp, bytesDown } = report;
  const { repository, branch, commit, job, where } = report;
  const names = steps.map(({ step }) => step);
  const count = (...outcomes: readonly string[]) =>
    steps.filter(({ outcome }) => outcomes.includes(outcome)).length;
  return {
    id,
    source: 'reported',
    tool: 'assay',
    toolVersion: assay,
    namespace: shown(namespace),
    identity,
    startedAt: new Date(beginOf(report, now)).toISOString(),
    elapsedMs: Math.round(elapsedMs),
    outcome: isInterrupted ? 'interrupted' : exitCode === 0 ? 'passed' : 'failed',
    ...(repository !== undefined && { repository }),
    ...(branch !== undefined && { branch }),
    ...(commit !== undefined && { commit }),
    ...(job !== undefined && /^https?:\/\//.test(job) && { job }),
    ...(where !== undefined && { where }),
    steps: steps.length,
    hits: count('hit-local', 'hit-remote'),
    misses: count('miss'),
    failed: count('failed'),
    savedMs: savedBy(steps),
    bytesUp,
    bytesDown,
    receivedAt: now,
    names: names.slice(0, DASHBOARD.runNames),
    likeness: hash('sha256', JSON.stringify(names.toSorted())).slice(0, 16),
  };
}

/** As GraphSummary.savedMs counts it. */
function savedBy(steps: readonly ReportedStep[]): number {
  const hits = steps.filter(({ outcome }) => outcome.startsWith('hit-'));
  return Math.round(
    hits.reduce((sum, { commandMs, elapsedMs }) => sum + Math.max(0, commandMs - elapsedMs), 0),
  );
}

/** A run of a clock that is ahead began when its report arrived. */
function beginOf({ startedAt }: RunReport, now: number): number {
  return Math.min(Math.max(0, Date.parse(startedAt)), now);
}

export function documentNameOf(
  report: RunReport,
  sender: ReportSender,
  now: number,
): Omit<DocumentName, 'kind'> {
  return { namespace: writtenFrom(sender.namespace), id: report.id, at: beginOf(report, now) };
}

/** What is stored of some steps, by their id. */
export interface KnownSteps {
  /** What was found when its command ran. A hit runs no command, so it finds nothing. */
  readonly findings: ReadonlyMap<StepId, Pick<StoredStep, 'findings' | 'list'>>;
  readonly unkept: ReadonlyMap<StepId, StoredUnkept>;
}

/** Without the causes of misses, which are added up by day. */
export function documentsOf(
  report: RunReport,
  sender: ReportSender,
  now: number,
  known: KnownSteps,
): HistoryDocument[] {
  const row = reportRow(report, sender, now);
  const name = documentNameOf(report, sender, now);
  return [
    documentOf({ ...name, kind: 'run' }, row),
    detailsDocument(report, name),
    ...report.steps.flatMap((step) => newestStep(step, row, name, known)),
  ];
}

export function detailsDocument(
  { jobs, exitCode, warnings, steps }: RunReport,
  name: Omit<DocumentName, 'kind'>,
): HistoryDocument {
  const details: StoredDetails = { jobs, exitCode, warnings, steps };
  return documentOf({ ...name, kind: 'run-details' }, details);
}

/** What a run adds to the causes of misses. */
export function missesOf(
  { steps, repository }: RunReport,
  { id: run, namespace, at }: Omit<DocumentName, 'kind'>,
): RunMisses {
  const misses = steps
    .filter(({ outcome }) => outcome === 'miss')
    .map(({ step, cause = { kind: 'unknown' }, commandMs }) => ({
      step,
      repository,
      cause,
      commandMs: Math.round(commandMs),
    }));
  return { run, namespace, at, misses };
}

/** Only a step whose command ran once, here or in the run that a hit comes from, has a status. One that failed has none. */
function newestStep(
  reported: ReportedStep,
  { repository, namespace, id: run, startedAt }: StoredRow,
  name: { readonly namespace: Namespace; readonly at: number },
  { findings: known, unkept }: KnownSteps,
): HistoryDocument[] {
  const { step, status, key, exitCode, notKept, findings, moreFindings, commandMs } = reported;
  const id = idOf(repository, reported);
  const action: EarlierAction = {
    ...{ namespace, run, at: startedAt },
    ...(key !== undefined && { key }),
    ...(exitCode !== 0 && { exitCode }),
    ...(notKept !== undefined && { notKept }),
    ...(commandMs > 0 && { ranMs: Math.round(commandMs) }),
  };
  const documents: HistoryDocument[] = [];
  if (leftNothing(reported)) {
    const earlier = unkept.get(id) ?? { actions: [] };
    documents.push(documentOf({ ...name, kind: UNKEPT_KIND, id }, withUnkept(earlier, action)));
  }
  if (!status) return documents;
  const value: StoredStep = {
    step,
    ...(repository !== undefined && { repository }),
    status,
    ...action,
    ...(known.get(id) ?? { findings: findings.length + moreFindings, list: findings }),
  };
  return [...documents, documentOf({ ...name, kind: STEP_KIND, id }, value)];
}

/** Its command ran, and the next run of the same action is a miss again. */
export function leftNothing({ key, exitCode, notKept }: ReportedStep): boolean {
  return key !== undefined && (notKept !== undefined || exitCode !== 0);
}

/** Without the mark between the namespace of the token and the one of its request. */
export function shown(namespace: Namespace): string {
  return namespace.replaceAll('/=/', '/');
}
