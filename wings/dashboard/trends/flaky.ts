// Steps that failed and passed with the same key. A later run under that key shows it, or a later try in the same run
// (--retry).
// Guarantee: nothing that anybody compared differed between the two runs or tries.
//
// Not guaranteed: a failed command leaves no facts after its run. A step looks flaky if an undeclared file that it reads
// changed before a later run. Tries in one run are compared by their facts.
import { isFlaky, type MissKind } from '../../../core/metadata/run-report.ts';
import type { ReportedStep, RunReport } from '../../../core/metadata/run-report-schema.ts';
import type { StepId } from '../../../core/metadata/step-id.ts';
import type { Namespace } from '../../../core/namespace.ts';
import { contentOf, documentOf } from '../../../server/history/documents.ts';
import { type EarlierAction, earlierOfStep } from '../../../server/history/step-documents.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import { DASHBOARD } from '../limits.ts';
import { idOf } from '../stored-step.ts';

export const FLAKY_KIND = 'flaky';

/** Two runs under one key. */
interface FlakyPair {
  readonly key: string;
  readonly passed: { readonly run: string; readonly at: string };
  readonly failed: { readonly run: string; readonly at: string; readonly exitCode: number };
}

export interface StoredFlaky {
  readonly step: string;
  readonly repository?: string;
  readonly times: number;
  /** The newest of them. */
  readonly newest: FlakyPair;
}

/** Why a command ran again under a key that had passed. By any other cause, something differed or nobody knows. */
const SAME_FACTS: readonly (MissKind | undefined)[] = ['failed-before', 'not-kept', 'forced', 'not-cached'];

/** The documents with what a run shows. Call it before the run is stored, for one run after another. */
export async function flakyWith(
  report: RunReport,
  { namespace, at }: { readonly namespace: Namespace; readonly at: number },
  history: History,
): Promise<HistoryDocument[]> {
  const { repository } = report;
  const ran = report.steps.filter((step) => {
    const { outcome, cause, key } = step;
    const didRun = outcome === 'miss' || outcome === 'failed';
    return didRun && key !== undefined && (passedOnRetry(step) || SAME_FACTS.includes(cause?.kind));
  });
  const startedAt = new Date(at).toISOString();
  const documents = await Promise.all(
    ran.slice(0, DASHBOARD.explainedMisses).map(async (step) => {
      const id = idOf(repository, step);
      const now = { run: report.id, at: startedAt, exitCode: step.exitCode };
      const newest = passedOnRetry(step)
        ? ofTries(step, now)
        : await ofRuns(step, now, id, namespace, history);
      if (!newest) return [];
      const stored = await history.get(FLAKY_KIND, id, [namespace]);
      const times = (stored && contentOf<StoredFlaky>(stored)?.times) ?? 0;
      const place = repository === undefined ? {} : { repository };
      const value: StoredFlaky = { step: step.step, ...place, times: times + 1, newest };
      return documentOf({ kind: FLAKY_KIND, namespace, id, at: Math.max(at, stored?.at ?? 0) }, value);
    }),
  );
  return documents.flat();
}

/** The tries of one run. */
function passedOnRetry(step: ReportedStep): boolean {
  return isFlaky(step) && step.exitCode === 0;
}

function ofTries({ key = '', tries }: ReportedStep, { run, at }: RunNow): FlakyPair {
  const exitCode = tries?.exitCodes.findLast((code) => code !== 0) ?? 1;
  return { key, passed: { run, at }, failed: { run, at, exitCode } };
}

async function ofRuns(
  step: ReportedStep,
  now: RunNow,
  id: StepId,
  namespace: Namespace,
  history: History,
): Promise<FlakyPair | undefined> {
  const before = (await earlierOfStep(history, id, [namespace])).find(
    (one) => one.key === step.key && failed(one) !== failed(step),
  );
  return before && pairOf(step, now, before);
}

interface RunNow {
  readonly run: string;
  readonly at: string;
  readonly exitCode: number;
}

function failed({ exitCode = 0 }: Pick<EarlierAction, 'exitCode'>): boolean {
  return exitCode !== 0;
}

function pairOf(
  { key = '' }: ReportedStep,
  now: RunNow,
  { run, at, exitCode = 0 }: EarlierAction,
): FlakyPair {
  const before = { run, at, exitCode };
  const [bad, good] = failed(now) ? [now, before] : [before, now];
  return { key, passed: { run: good.run, at: good.at }, failed: bad };
}
