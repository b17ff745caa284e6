// The newest durations of each step on the main branch of its repository, each with its commit, and the commit from
// which on the step was slower.
// Guarantee: a commit is named only if the step took clearly longer in nearly all runs from it on than in those before.
//
// What is not known: the machines. Slower machines from one commit on look like a slower commit.
import type { RunReport } from '../../../core/metadata/run-report.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import { DASHBOARD } from '../../limits.ts';
import { contentOf, documentOf } from '../documents.ts';
import { isOfPullRequests } from '../pull-requests.ts';
import { idOf } from '../step-documents.ts';
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
  /** The oldest first, at most MAX_TIMES. */
  readonly times: readonly TimedRun[];
}

const MAX_TIMES = 60;

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
      const times = [...earlier, added].sort((a, b) => a.at - b.at).slice(-MAX_TIMES);
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
export interface Slowdown {
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
  let best: { readonly at: number; readonly errors: number } | undefined;
  for (let at = LEAST_RUNS; at <= times.length - LEAST_RUNS; at++) {
    const commit = times[at]?.commit;
    /* A commit that also ran before made nothing slower. */
    if (times.slice(0, at).some((one) => one.commit === commit)) continue;
    const errors = difference(times.slice(0, at), times.slice(at));
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

function difference(before: readonly TimedRun[], after: readonly TimedRun[]): number {
  const [a, b] = [logarithms(before), logarithms(after)];
  const squares = a.squares + b.squares;
  const variance = Math.max(LEAST_DEVIATION ** 2, squares / (before.length + after.length - 2));
  return (b.mean - a.mean) / Math.sqrt(variance * (1 / before.length + 1 / after.length));
}

function logarithms(times: readonly TimedRun[]): { readonly mean: number; readonly squares: number } {
  const all = times.map(({ ms }) => Math.log(Math.max(1, ms)));
  const mean = all.reduce((sum, one) => sum + one, 0) / all.length;
  return { mean, squares: all.reduce((sum, one) => sum + (one - mean) ** 2, 0) };
}

function quantileOf(times: readonly TimedRun[], share: number): number {
  const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
}
