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
} as const;
