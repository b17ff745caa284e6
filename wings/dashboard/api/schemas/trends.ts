// The figures of reported runs, week by week.
import {
  type Described,
  extended,
  listOf,
  NUMBER,
  object,
  optionalField,
  STRING,
} from '../../../../core/metadata/json-schema.ts';

/** Steps by how they ended. */
const STEP_TOTALS = object({
  hits: NUMBER,
  misses: NUMBER,
  failed: NUMBER,
  /** Absent without steps. */
  hitRate: optionalField(NUMBER),
  /** The durations of the commands that hits spared, minus what the hits took. */
  savedMs: NUMBER,
  /** The durations of the commands that ran. */
  ranMs: NUMBER,
});

export type StepTotals = Described<typeof STEP_TOTALS>;

const TREND_WEEK = extended(STEP_TOTALS, {
  from: STRING,
  /** If a step was asked for: those with the step. */
  runs: NUMBER,
  /** Of the branches main, master and trunk; of pull requests; of all others. */
  main: STEP_TOTALS,
  pullRequests: STEP_TOTALS,
  others: STEP_TOTALS,
  /** If a step was asked for: how long its command took when it ran and ended well, to 4 %. */
  medianMs: optionalField(NUMBER),
  p95Ms: optionalField(NUMBER),
});

export type TrendWeek = Described<typeof TREND_WEEK>;

const STEP_TREND = extended(STEP_TOTALS, {
  /** "(other)" adds up the steps that are too many to be counted one by one. */
  step: STRING,
  repository: optionalField(STRING),
  medianMs: optionalField(NUMBER),
  p95Ms: optionalField(NUMBER),
});

export type StepTrend = Described<typeof STEP_TREND>;

/** What some runs did. */
const RUN_TOTALS = extended(STEP_TOTALS, {
  runs: NUMBER,
  lastRunAt: STRING,
  /** Absent if a step was asked for. */
  elapsedMs: optionalField(NUMBER),
  bytesUp: optionalField(NUMBER),
  bytesDown: optionalField(NUMBER),
});

export type RunTotals = Described<typeof RUN_TOTALS>;

const BRANCH_TREND = extended(RUN_TOTALS, {
  /** "(other)" adds up the branches that are too many to be counted one by one. */
  branch: optionalField(STRING),
  repository: optionalField(STRING),
});

export type BranchTrend = Described<typeof BRANCH_TREND>;

const PULL_REQUEST_TREND = extended(RUN_TOTALS, {
  namespace: STRING,
  branch: optionalField(STRING),
});

export type PullRequestTrend = Described<typeof PULL_REQUEST_TREND>;

/** The pull requests of one place. */
const PULL_REQUEST_PLACE = extended(RUN_TOTALS, {
  /** PARENT/pr/… */
  place: STRING,
  repository: optionalField(STRING),
  /** How many. */
  count: NUMBER,
  /** At most 20. */
  newest: listOf(PULL_REQUEST_TREND),
});

export type PullRequests = Described<typeof PULL_REQUEST_PLACE>;

const TIMED_COMMIT = object({
  commit: STRING,
  run: STRING,
  at: STRING,
  commandMs: NUMBER,
});

export type TimedCommit = Described<typeof TIMED_COMMIT>;

const SLOWER_STEP = object({
  step: STRING,
  repository: optionalField(STRING),
  namespace: STRING,
  branch: optionalField(STRING),
  /** The first commit with which it was slower, and the last one before. It did not run between them. */
  first: TIMED_COMMIT,
  last: TIMED_COMMIT,
  /** The medians before and since, and of how many runs. */
  beforeMs: NUMBER,
  afterMs: NUMBER,
  runsBefore: NUMBER,
  runsAfter: NUMBER,
});

export type SlowerStep = Described<typeof SLOWER_STEP>;

const FLAKY_STEP = object({
  step: STRING,
  repository: optionalField(STRING),
  /** Of pull requests: PARENT/pr/… */
  namespace: STRING,
  /** How often a run ended in another way than an earlier one with its key, or a later try of it than the one before. */
  times: NUMBER,
  /** The newest of them. */
  key: STRING,
  passed: object({
    run: STRING,
    at: STRING,
  }),
  failed: object({
    run: STRING,
    at: STRING,
    exitCode: NUMBER,
  }),
});

export type FlakyStep = Described<typeof FLAKY_STEP>;

/** What reported runs did, week by week. Runs of other tools tell no steps, so they are not counted. */
export const TRENDS = object({
  /** The begin of the first week. A week begins on Monday, 0:00 UTC. */
  from: STRING,
  to: STRING,
  /** When it was read. Absent while it is read for the first time. */
  readAt: optionalField(STRING),
  /** Oldest first, without gaps; the last one goes on. */
  weeks: listOf(TREND_WEEK),
  /** Those whose commands took most time, at most 50. */
  steps: listOf(STEP_TREND),
  moreSteps: NUMBER,
  /** Without those of pull requests, the newest first, at most 50. */
  branches: listOf(BRANCH_TREND),
  moreBranches: NUMBER,
  /** By the place of their namespaces, the newest first, at most 20. */
  pullRequests: listOf(PULL_REQUEST_PLACE),
  /** Steps that are slower since a commit, by the time that it has cost, at most 20. */
  slower: listOf(SLOWER_STEP),
  /** Steps that failed and passed with the same key, the newest first, at most 20. */
  flaky: listOf(FLAKY_STEP),
  /** If a step was asked for: when its command ran on the main branch, the newest first, at most 60. */
  times: optionalField(listOf(TIMED_COMMIT)),
  choices: object({
    repositories: listOf(STRING),
    branches: listOf(STRING),
  }),
});

export type Trends = Described<typeof TRENDS>;
