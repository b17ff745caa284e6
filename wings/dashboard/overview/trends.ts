// Trends: what reported runs did week by week, by branch, step and pull request; steps that got slower, and flaky ones.
// Guarantee: it holds what the reader's namespaces hold, and its work and memory have a bound.
import { type NamespaceRange, narrowedTo, parseNamespace } from '../../../core/namespace.ts';
import { documentsIn } from '../../../server/history/documents.ts';
import type { History, HistoryDocument } from '../../../store/history.ts';
import type {
  BranchTrend,
  FlakyStep,
  PullRequests,
  PullRequestTrend,
  RunTotals,
  SlowerStep,
  StepTotals,
  StepTrend,
  TimedCommit,
  Trends,
  TrendWeek,
} from '../api/schemas/trends.ts';
import { DASHBOARD } from '../limits.ts';
import { isOfPullRequests, withoutNumber } from '../pull-requests.ts';
import { type DurationBuckets, durationQuantile } from '../trends/durations.ts';
import { FLAKY_KIND, type StoredFlaky } from '../trends/flaky.ts';
import { STEP_TIMES_KIND, type StoredTimes, slowdownIn, type TimedRun } from '../trends/step-times.ts';
import {
  addCounts,
  type BranchRuns,
  isMainBranch,
  OTHER,
  runsIn,
  STEP_WEEK_KIND,
  type StepCounts,
  type StoredWeek,
  stepsIn,
  WEEK_MS,
  weekOf,
} from '../trends/step-weeks.ts';
import { HeldAnswers } from './held-answers.ts';

export interface TrendsQuery {
  readonly weeks: number;
  readonly repository?: string | undefined;
  readonly branch?: string | undefined;
  readonly step?: string | undefined;
  /** One, or PARENT/pr/… for all pull requests there. */
  readonly namespace?: string | undefined;
}

const LISTED = 50;
const LISTED_PULL_REQUESTS = 20;
const LISTED_STEPS = 20;

/** The answers of one history. */
export class TrendReview {
  readonly #history: History;
  readonly #now: () => number;
  readonly #answers: HeldAnswers<Trends>;

  constructor(history: History, now: () => number = Date.now) {
    this.#history = history;
    this.#now = now;
    this.#answers = new HeldAnswers(now);
  }

  async read(readable: NamespaceRange, query: TrendsQuery, waitMs?: number): Promise<Trends> {
    const find = (at: number) => readTrends(this.#history, readable, query, at);
    const found = await this.#answers.read([readable, query], find, waitMs);
    return found ?? new TrendSums(query, this.#now()).answer();
  }
}

export function trendsAnswer(
  review: TrendReview,
  readable: NamespaceRange,
  query: TrendsQuery,
): Promise<Trends> {
  const { namespace } = query;
  const isPlace = namespace === undefined || namespace.endsWith('/…');
  return review.read(isPlace ? readable : narrowedTo(parseNamespace(namespace), readable), query);
}

async function readTrends(
  history: History,
  namespaces: NamespaceRange,
  query: TrendsQuery,
  at: number,
): Promise<Trends> {
  const sums = new TrendSums(query, at);
  /* A run may begin in the millisecond in which somebody looks. */
  const period = { namespaces, from: sums.from, to: at + 1 };
  for await (const { name, value } of documentsIn<StoredWeek>(history, { ...period, kind: STEP_WEEK_KIND }))
    sums.addWeek(name, value);
  let read = 0;
  for await (const { name, value } of documentsIn<StoredTimes>(history, {
    ...period,
    kind: STEP_TIMES_KIND,
  })) {
    sums.addTimes(name, value);
    if (++read >= DASHBOARD.trendSteps) break;
  }
  read = 0;
  for await (const { name, value } of documentsIn<StoredFlaky>(history, { ...period, kind: FLAKY_KIND })) {
    sums.addFlaky(name, value);
    if (++read >= DASHBOARD.trendSteps) break;
  }
  return { ...sums.answer(), readAt: new Date(at).toISOString() };
}

type Counts = Omit<StepCounts, 'repository' | 'branch' | 'step'>;
type RunSum = Omit<BranchRuns, 'repository' | 'branch'>;

/** Steps and runs that are counted together. */
interface Sum {
  readonly counts: Counts;
  readonly runs: RunSum;
}

interface Named extends Sum {
  readonly repository: string;
  /** Of a branch, a step, or the branch of a pull request. */
  readonly name: string;
}

function newSum(): Sum {
  return {
    counts: { hits: 0, misses: 0, failed: 0, savedMs: 0, ranMs: 0, durations: new Map() },
    runs: { runs: 0, elapsedMs: 0, bytesUp: 0, bytesDown: 0, lastAt: 0 },
  };
}

const GROUPS = ['main', 'pullRequests', 'others'] as const;
type Group = (typeof GROUPS)[number];
type Week = Readonly<Record<Group, Sum>>;

class TrendSums {
  readonly from: number;
  readonly #to: number;
  readonly #query: TrendsQuery;
  readonly #weeks: readonly Week[];
  readonly #steps = new Map<string, Named>();
  readonly #branches = new Map<string, Named>();
  /** By their namespaces. */
  readonly #pullRequests = new Map<string, Named>();
  readonly #repositories = new Set<string>();
  readonly #branchNames = new Set<string>();
  readonly #slower: SlowerStep[] = [];
  readonly #flaky = new Map<string, FlakyStep>();
  #times: { readonly at: number; readonly times: readonly TimedRun[] } | undefined;

  constructor(query: TrendsQuery, at: number) {
    this.#query = query;
    this.#to = at;
    this.from = weekOf(at) - (query.weeks - 1) * WEEK_MS;
    this.#weeks = Array.from({ length: query.weeks }, () => ({
      ...{ main: newSum(), pullRequests: newSum(), others: newSum() },
    }));
  }

  addWeek({ namespace, at }: HistoryDocument, stored: Partial<StoredWeek>): void {
    const week = this.#weeks[Math.floor((at - this.from) / WEEK_MS)];
    if (!week || !this.#isPlaceWanted(namespace)) return;
    const isPullRequest = isOfPullRequests(namespace);
    const groupOf = (branch: string) =>
      isPullRequest ? 'pullRequests' : isMainBranch(branch) ? 'main' : 'others';
    const { step: askedStep } = this.#query;
    for (const one of runsIn(stored)) {
      const { repository, branch } = one;
      addName(this.#repositories, repository);
      if (!isPullRequest) addName(this.#branchNames, branch);
      if (!this.#isWanted(repository, branch) || askedStep !== undefined) continue;
      addRuns(week[groupOf(branch)].runs, one);
      addRuns(this.#ownerOf(namespace, isPullRequest, repository, branch).runs, one);
    }
    const isWanted = (repository: string, branch: string, step: string) =>
      this.#isWanted(repository, branch) && (askedStep === undefined || askedStep === step);
    for (const one of stepsIn(stored, isWanted)) {
      const { repository, branch, step } = one;
      const owner = this.#ownerOf(namespace, isPullRequest, repository, branch);
      for (const sum of [week[groupOf(branch)], owner, namedIn(this.#steps, repository, step)]) {
        addCounts(sum.counts, one);
        if (askedStep === undefined) continue;
        sum.runs.runs += one.hits + one.misses + one.failed;
        sum.runs.lastAt = Math.max(sum.runs.lastAt, at);
      }
    }
  }

  #ownerOf(namespace: string, isPullRequest: boolean, repository: string, branch: string): Named {
    if (!isPullRequest) return namedIn(this.#branches, repository, branch);
    const known = this.#pullRequests.get(namespace);
    if (known) return known;
    const isFull = this.#pullRequests.size >= DASHBOARD.trendNames;
    const owner = isFull ? `${withoutNumber(namespace).slice(0, -1)}${OTHER}` : namespace;
    const added = this.#pullRequests.get(owner) ?? { repository, name: branch, ...newSum() };
    this.#pullRequests.set(owner, added);
    return added;
  }

  #isWanted(repository: string, branch: string | undefined): boolean {
    const { repository: askedRepository = repository, branch: askedBranch = branch } = this.#query;
    return repository === askedRepository && branch === askedBranch;
  }

  #isPlaceWanted(namespace: string): boolean {
    const { namespace: asked } = this.#query;
    return asked === undefined || asked === namespace || asked === withoutNumber(namespace);
  }

  addTimes({ namespace, at }: HistoryDocument, stored: StoredTimes): void {
    const { step, repository, branch, times } = stored;
    const { step: asked } = this.#query;
    if (!this.#isPlaceWanted(namespace) || !this.#isWanted(repository ?? '', branch)) return;
    if (asked !== undefined && asked !== step) return;
    if (asked !== undefined && at > (this.#times?.at ?? 0)) this.#times = { at, times };
    const found = slowdownIn(times);
    if (!found || found.first.at < this.from) return;
    const { first, last, ...rest } = found;
    const place = {
      ...(repository !== undefined && { repository }),
      ...(branch !== undefined && { branch }),
    };
    this.#slower.push({ step, ...place, namespace, first: timed(first), last: timed(last), ...rest });
  }

  addFlaky({ namespace }: HistoryDocument, { step, repository, times, newest }: StoredFlaky): void {
    const { step: asked } = this.#query;
    if (!this.#isPlaceWanted(namespace) || !this.#isWanted(repository ?? '', this.#query.branch)) return;
    if (asked !== undefined && asked !== step) return;
    const place = withoutNumber(namespace);
    const name = JSON.stringify([place, repository, step]);
    const known = this.#flaky.get(name);
    const shown = { step, ...(repository !== undefined && { repository }), namespace: place };
    /* The documents come newest first. */
    this.#flaky.set(name, known ? { ...known, times: known.times + times } : { ...shown, times, ...newest });
  }

  answer(): Trends {
    const hasStep = this.#query.step !== undefined;
    const steps = [...this.#steps.values()].sort((a, b) => b.counts.ranMs - a.counts.ranMs);
    const branches = [...this.#branches.values()].sort((a, b) => b.runs.lastAt - a.runs.lastAt);
    const cost = (one: SlowerStep) => (one.afterMs - one.beforeMs) * one.runsAfter;
    return {
      from: new Date(this.from).toISOString(),
      to: new Date(this.#to).toISOString(),
      weeks: this.#weeks.map((week, index) => weekRow(this.from + index * WEEK_MS, week, hasStep)),
      steps: steps.slice(0, LISTED).map(stepRow),
      moreSteps: Math.max(0, steps.length - LISTED),
      branches: branches.slice(0, LISTED).map((one) => branchRow(one, hasStep)),
      moreBranches: Math.max(0, branches.length - LISTED),
      pullRequests: placesOf(this.#pullRequests, hasStep),
      slower: this.#slower.sort((a, b) => cost(b) - cost(a)).slice(0, LISTED_STEPS),
      flaky: [...this.#flaky.values()].slice(0, LISTED_STEPS),
      ...(this.#times && { times: this.#times.times.map(timed).reverse() }),
      choices: { repositories: listed(this.#repositories), branches: listed(this.#branchNames) },
    };
  }
}

function namedIn(sums: Map<string, Named>, repository: string, name: string): Named {
  const own = JSON.stringify([repository, name]);
  const isFull = sums.size >= DASHBOARD.trendNames && !sums.has(own);
  const key = isFull ? OTHER : own;
  const place = isFull ? { repository: '', name: OTHER } : { repository, name };
  const sum = sums.get(key) ?? { ...place, ...newSum() };
  sums.set(key, sum);
  return sum;
}

function addName(names: Set<string>, name: string): void {
  if (name !== '' && name !== OTHER && names.size < DASHBOARD.trendNames) names.add(name);
}

function listed(names: ReadonlySet<string>): string[] {
  return [...names].sort().slice(0, DASHBOARD.maxListedRuns);
}

function addRuns(into: RunSum, one: RunSum): void {
  into.runs += one.runs;
  into.elapsedMs += one.elapsedMs;
  into.bytesUp += one.bytesUp;
  into.bytesDown += one.bytesDown;
  into.lastAt = Math.max(into.lastAt, one.lastAt);
}

function addSum(into: Sum, one: Sum): void {
  addCounts(into.counts, { ...one.counts, repository: '', branch: '', step: '' });
  addRuns(into.runs, one.runs);
}

function weekRow(from: number, week: Week, hasStep: boolean): TrendWeek {
  const all = newSum();
  for (const group of GROUPS) addSum(all, week[group]);
  return {
    from: new Date(from).toISOString(),
    runs: all.runs.runs,
    ...totalsOf(all),
    main: totalsOf(week.main),
    pullRequests: totalsOf(week.pullRequests),
    others: totalsOf(week.others),
    ...(hasStep && quantilesOf(all.counts.durations)),
  };
}

function stepRow({ repository, name: step, ...sum }: Named): StepTrend {
  const place = repository === '' ? {} : { repository };
  return { step, ...place, ...totalsOf(sum), ...quantilesOf(sum.counts.durations) };
}

function branchRow({ repository, name: branch, ...sum }: Named, hasStep: boolean): BranchTrend {
  return {
    ...(branch !== '' && { branch }),
    ...(repository !== '' && { repository }),
    ...runTotalsOf(sum, hasStep),
  };
}

function placesOf(pullRequests: ReadonlyMap<string, Named>, hasStep: boolean): PullRequests[] {
  const newestFirst = [...pullRequests].sort(([, a], [, b]) => b.runs.lastAt - a.runs.lastAt);
  const places = Map.groupBy(newestFirst, ([namespace]) => withoutNumber(namespace));
  return [...places].slice(0, LISTED_PULL_REQUESTS).map(([place, all]) => {
    const sum = newSum();
    for (const [, one] of all) addSum(sum, one);
    const repository = all.find(([, one]) => one.repository !== '')?.[1].repository;
    const newest = all.slice(0, LISTED_PULL_REQUESTS).map(([namespace, one]): PullRequestTrend => {
      const { name: branch } = one;
      return { namespace, ...(branch !== '' && { branch }), ...runTotalsOf(one, hasStep) };
    });
    const where = repository === undefined ? { place } : { place, repository };
    return { ...where, count: all.length, ...runTotalsOf(sum, hasStep), newest };
  });
}

function totalsOf({ counts: { hits, misses, failed, savedMs, ranMs } }: Sum): StepTotals {
  const all = hits + misses + failed;
  return { hits, misses, failed, ...(all > 0 && { hitRate: hits / all }), savedMs, ranMs };
}

function runTotalsOf(sum: Sum, hasStep: boolean): RunTotals {
  const { runs, lastAt, elapsedMs, bytesUp, bytesDown } = sum.runs;
  return {
    ...totalsOf(sum),
    runs,
    lastRunAt: new Date(lastAt).toISOString(),
    ...(!hasStep && { elapsedMs, bytesUp, bytesDown }),
  };
}

function quantilesOf(durations: DurationBuckets): Pick<StepTrend, 'medianMs' | 'p95Ms'> {
  const [medianMs, p95Ms] = [durationQuantile(durations, 0.5), durationQuantile(durations, 0.95)];
  return medianMs === undefined || p95Ms === undefined ? {} : { medianMs, p95Ms };
}

function timed({ commit, run, at, ms }: TimedRun): TimedCommit {
  return { commit, run, at: new Date(at).toISOString(), commandMs: ms };
}
