// The answers behind the page Now: health, sums, warnings, the tail of events, and figures over time.
import {
  BOOLEAN,
  type Described,
  extended,
  listOf,
  NUMBER,
  object,
  oneOf,
  optionalField,
  STRING,
} from '../../../../core/metadata/json-schema.ts';
import { RUN_ROW, TAIL_EVENT } from './parts.ts';

/** Action leases: how many were granted, and how many waits for one brought the result or were given up. */
const LEASE_TOTALS = object({
  granted: NUMBER,
  waited: NUMBER,
  hedged: NUMBER,
  /** Holders that died, and were replaced. */
  expired: NUMBER,
  /** The durations of the actions whose results were waited for. */
  savedMs: NUMBER,
});

export type LeaseTotals = Described<typeof LEASE_TOTALS>;

const TOTALS = object({
  /** Lookups of results by all tools; blobs are not counted. */
  hits: NUMBER,
  misses: NUMBER,
  /** Absent without lookups. */
  hitRate: optionalField(NUMBER),
  /** Of the runs that reported: the sum of their commands' durations, minus what their hits took. */
  savedMs: NUMBER,
  runs: NUMBER,
  /** Absent without the right `server:stats`. */
  bytesReceived: optionalField(NUMBER),
  bytesSent: optionalField(NUMBER),
  requests: NUMBER,
  errors: NUMBER,
  /** Absent without any. */
  leases: optionalField(LEASE_TOTALS),
});

export type Totals = Described<typeof TOTALS>;

const WARNING = object({
  /** The warning says what is wrong in one sentence. */
  text: STRING,
  whatToDo: STRING,
});

export type Warning = Described<typeof WARNING>;

export const TAIL = object({
  /** Newest first. */
  events: listOf(TAIL_EVENT),
  /** For the next request: `after`. */
  position: STRING,
});

export type Tail = Described<typeof TAIL>;

const FIGURE_POINT = extended(TOTALS, {
  at: STRING,
  /** The time within which half, and 99 of 100 requests were answered. Absent without requests. */
  medianMs: optionalField(NUMBER),
  p99Ms: optionalField(NUMBER),
});

export type FigurePoint = Described<typeof FIGURE_POINT>;

export const FIGURES = object({
  /** The width of a point: a minute for up to 3 hours of the last day, 10 minutes for more of it, else an hour. */
  stepMs: NUMBER,
  /** Oldest first, without gaps. */
  points: listOf(FIGURE_POINT),
});

export type Figures = Described<typeof FIGURES>;

export const NOW = object({
  at: STRING,
  version: STRING,
  health: object({
    status: oneOf(['good', 'warning', 'fault']),
    sentence: STRING,
  }),
  /** False if the token sees only some namespaces. */
  isWhole: BOOLEAN,
  /** Since midnight UTC, in whole hours. */
  today: TOTALS,
  /** The same hours of the same weekday, one week before. */
  weekBefore: TOTALS,
  warnings: listOf(WARNING),
  /** Newest first. */
  tail: TAIL,
  /** The last 24 hours, oldest first. */
  figures: FIGURES,
  newestRuns: listOf(RUN_ROW),
});

export type Now = Described<typeof NOW>;
