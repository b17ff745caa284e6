// The newest durations of each step on the main branch of its repository, each with its commit, and the commit from
// which on the step was slower (docs/decisions/0510).
// Guarantee: a commit is named only if the step took clearly longer in nearly all runs from it on than in those before.
//
// Not guaranteed: runs do not name their machines. Slower machines from one commit on look like a slower commit.
import type { RunReport } from '../../../core/metadata/run-report-schema.ts';
import { contentOf, documentOf } from '../../../server/history/documents.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import { DASHBOARD } from '../limits.ts';
import { isOfPullRequests } from '../pull-requests.ts';
import { idOf } from '../stored-step.ts';
import { isMainBranch, type RunSteps } from './step-weeks.ts';

export const STEP_TIMES_KIND = 'step-times';

/** A command that ended well. */
export interface TimedRun {
  readonly at: number;
  readonly ms: number;
  readonly commit: string;
  readonly run: string;
}

export interface StoredTimes {
  readonly step: string;
  readonly repository?: string;
  readonly branch?: string;
  /** The oldest first, at most DASHBOARD.stepTimes. */
  readonly times: readonly TimedRun[];
}

/** The documents with what a run adds. Call it for one run after another: each reads what the one before has stored. */
export async function timesWith(
  report: RunReport,
  { namespace, at }: Pick<RunSteps, 'namespace' | 'at'>,
  history: History,
): Promise<HistoryDocument[]> {
  const { commit, repository, branch, id: run } = report;
  if (commit === undefined || isOfPullRequests(namespace) || !isMainBranch(branch)) return [];
  const ran = report.steps.filter(({ outcome, exitCode }) => outcome === 'miss' && exitCode === 0);
  return Promise.all(
    ran.slice(0, DASHBOARD.explainedMisses).map(async (reported) => {
      const id = idOf(repository, reported);
      const stored = await history.get(STEP_TIMES_KIND, id, [namespace]);
      const earlier = (stored && contentOf<StoredTimes>(stored)?.times) ?? [];
      const added = { at, ms: Math.round(reported.commandMs), commit, run };
      const times = [...earlier, added].sort((a, b) => a.at - b.at).slice(-DASHBOARD.stepTimes);
      const name = { kind: STEP_TIMES_KIND, namespace, id, at: Math.max(at, stored?.at ?? 0) };
      const place = {
        ...(repository !== undefined && { repository }),
        ...(branch !== undefined && { branch }),
      };
      return documentOf(name, { step: reported.step, ...place, times } satisfies StoredTimes);
    }),
  );
}

/** From `first` on, the step was slower than until `last`. */
interface Slowdown {
  readonly last: TimedRun;
  readonly first: TimedRun;
  /** The medians, and of how many runs. */
  readonly beforeMs: number;
  readonly afterMs: number;
  readonly runsBefore: number;
  readonly runsAfter: number;
}

/** On each side. */
const LEAST_RUNS = 3;
/** What people notice. */
const LEAST_RATIO = 1.25;
const LEAST_MS = 100;
/** Of the difference between the means of the logarithms, in standard errors. Many commits are tried. */
const LEAST_ERRORS = 4;
/** Durations that are equal to the millisecond have no variance. */
const LEAST_DEVIATION = 0.02;

/** The most telling change of all, if it is one for the worse. Undefined if the step is not clearly slower. */
export function slowdownIn(times: readonly TimedRun[]): Slowdown | undefined {
  const sums = sumsOf(times);
  const seen = new Set<string>();
  let best: { readonly at: number; readonly errors: number } | undefined;
  for (const [at, { commit }] of times.entries()) {
    /* A commit that also ran before made nothing slower. */
    const isNew = !seen.has(commit);
    seen.add(commit);
    if (!isNew || at < LEAST_RUNS || at > times.length - LEAST_RUNS) continue;
    const errors = difference(sums, at);
    if (Math.abs(errors) > Math.abs(best?.errors ?? 0)) best = { at, errors };
  }
  if (!best || best.errors < LEAST_ERRORS) return undefined;
  const [before, after] = [times.slice(0, best.at), times.slice(best.at)];
  const [last, first] = [before.at(-1), after[0]];
  const [beforeMs, afterMs] = [quantileOf(before, 0.5), quantileOf(after, 0.5)];
  const isClear =
    afterMs >= LEAST_RATIO * beforeMs &&
    afterMs - beforeMs >= LEAST_MS &&
    quantileOf(after, 0.1) > quantileOf(before, 0.75);
  if (!isClear || !last || !first) return undefined;
  return { last, first, beforeMs, afterMs, runsBefore: before.length, runsAfter: after.length };
}

/** Of the logarithms, and of their squares, of the first runs: none, one, two, … */
interface RunningSums {
  readonly values: readonly number[];
  readonly squares: readonly number[];
}

function sumsOf(times: readonly TimedRun[]): RunningSums {
  const [values, squares] = [[0], [0]];
  for (const { ms } of times) {
    const value = Math.log(Math.max(1, ms));
    values.push((values.at(-1) ?? 0) + value);
    squares.push((squares.at(-1) ?? 0) + value ** 2);
  }
  return { values, squares };
}

/** Between the means before and from this run on, in standard errors. */
function difference({ values, squares }: RunningSums, at: number): number {
  const all = values.length - 1;
  const [sumBefore, sumAfter] = [values[at] ?? 0, (values[all] ?? 0) - (values[at] ?? 0)];
  const deviation = (squares[all] ?? 0) - sumBefore ** 2 / at - sumAfter ** 2 / (all - at);
  const variance = Math.max(LEAST_DEVIATION ** 2, deviation / (all - 2));
  return (sumAfter / (all - at) - sumBefore / at) / Math.sqrt(variance * (1 / at + 1 / (all - at)));
}

function quantileOf(times: readonly TimedRun[], share: number): number {
  const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
}
