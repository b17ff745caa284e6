// The bounds of the dashboard: what it keeps in memory, reads and shows.
import { KIB, MIB, MINUTE, SECOND } from '../../core/units.ts';

/** What the dashboard keeps and shows. */
export const DASHBOARD = {
  /** How often its counters are written, and idle groups of requests become runs. */
  flushMs: 10 * SECOND,
  /** When an idle group of requests becomes a run. */
  groupIdleMs: 60 * SECOND,
  /** How often a process says that it runs. */
  announceMs: 1 * MINUTE,
  /** Groups of requests at once, and the lookups that each of them keeps. */
  maxGroups: 500,
  groupLookups: 200,
  /** Namespaces that are counted each for itself; the rest is counted together. */
  maxNamespaces: 200,
  /** Events of the live tail. */
  tailEvents: 200,
  /** Runs on a page, by default and at most. */
  listedRuns: 50,
  maxListedRuns: 200,
  /** Runs that one answer searches for those that were asked for. */
  searchedRuns: 2000,
  /** Causes of misses, steps, findings and divergences on a page. */
  listedCauses: 50,
  listedSteps: 1000,
  listedFindings: 200,
  listedDivergences: 50,
  /** The longest period that misses are counted for, and that trends have. */
  maxDays: 90,
  maxWeeks: 12,
  /** Names of one kind that a reader of trends adds up one by one, and documents of steps that it reads. */
  trendNames: 10_000,
  trendSteps: 5000,
  /** Misses of one report that the server explains, and the blobs that it reads for each. */
  explainedMisses: 200,
  comparedBlobs: 2000,
  comparedBlobBytes: 16 * MIB,
  /** Reports that are explained at once, and in the queue. Others stay as they were reported. */
  maxExplanations: 1,
  maxQueuedExplanations: 64,
  /** Inputs and outputs of an action, and the end of its log. */
  listedFiles: 10_000,
  shownLogBytes: 64 * KIB,
  /** Failed steps of a run whose logs its page shows. */
  shownFailures: 5,
  /** A walk through the store for the storage page: how long its counts are used. */
  countedMs: 5 * MINUTE,
  /** A token that ends within this time is about to expire. */
  expiresSoonMs: 14 * 24 * 60 * MINUTE,
  /** Earlier actions of a step without a kept result, in one document. */
  earlierActions: 8,
  /** Denied writes that wait to be stored. Others are lost. */
  waitingDenied: 20,
  /** Minutes of figures that stay in memory while the history cannot be written. */
  unstoredMinutes: 240,
  /** Nodes of a fleet whose lookups one group counts. */
  groupNodes: 100,
  /** How long a page waits for a long reading. The answer is then used for answerRest times as long as it took. */
  answerWaitMs: 300,
  answerRest: 20,
  /** Such answers in memory: to readers with different rights, and to different questions. */
  heldAnswers: 50,
  /** How long a page waits for the first survey of the store, which has no earlier answer. */
  surveyWaitMs: 150,
  /** A survey is used for at least so many times as long as it took. */
  surveyRest: 10,
  /** One turn of a survey. Then requests are served, and the survey rests for so many times as long. */
  surveyTurnMs: 5,
  surveyPauseFactor: 3,
  /** Namespaces of a survey, and writers of each while it is made; then only the busiest stay. */
  surveyNames: 1000,
  surveyWriters: 10,
  /** Causes of misses of one day, and what stays when there are more: so not each new cause drops another one. */
  dayCauses: 400,
  dayCausesKept: 300,
  /** The same for the steps of one cause. */
  causeSteps: 40,
  causeStepsKept: 20,
  /** Days of misses, and weeks of steps, in memory. */
  daysInMemory: 200,
  weeksInMemory: 100,
  /** Rows of one week, and what stays when there are more: so not each new row makes another one of two. */
  weekRows: 1000,
  weekRowsKept: 750,
  /** Rows that one run adds to a week; a run of the main branch adds twice as many. */
  weekRunRows: 300,
  /** Names that are counted as others from now on. One that is forgotten comes again with the rest of its counts. */
  foldedNames: 10_000,
  /** Runs of a step whose times are compared. */
  stepTimes: 60,
  /** Names of steps that the row of a run keeps. */
  runNames: 100,
  /** Runs that are searched for steps with the same key, and namespaces for the result if the reader names none. */
  actionRuns: 200,
  actionNamespaces: 5,
  /** The longest text that a filter can have. */
  filterLength: 600,
} as const;
