// Runs, one run with its steps, and the answer to a report.
import {
  BOOLEAN,
  type Described,
  extended,
  listOf,
  NUMBER,
  object,
  optionalField,
  STRING,
  unbounded,
} from '../../../../core/metadata/json-schema.ts';
import {
  REPORTED_DIFFERENCE,
  REPORTED_FACTS,
  REPORTED_SEEN,
  REPORTED_TRIES,
} from '../../../../core/metadata/run-report-schema.ts';
import { CAUSE, FINDING, LOG_TEXT, OUTCOME, RUN_ROW, STATUS, TAIL_EVENT } from './parts.ts';

export const RUNS = object({
  /** Newest first. */
  runs: listOf(RUN_ROW),
  /** For the next page: `before`. Absent on the last one. */
  next: optionalField(STRING),
  /** What the newest runs have, to choose from. */
  choices: object({
    repositories: listOf(STRING),
    branches: listOf(STRING),
    tools: listOf(STRING),
    namespaces: listOf(STRING),
  }),
});

export type Runs = Described<typeof RUNS>;

const FAILED_STEP = object({
  step: STRING,
  exitCode: NUMBER,
  why: STRING,
  /** The end of what it printed, in order. Absent if the run sent none. Without text if it is no longer stored. */
  log: optionalField(LOG_TEXT),
  /** There is a log, but the token may not read it: that needs results:read and blobs:read in the run's namespace. */
  isHidden: optionalField(BOOLEAN),
});

export type FailedStep = Described<typeof FAILED_STEP>;

const RUN_STEP = object({
  step: STRING,
  outcome: OUTCOME,
  /** In one line: of a miss, what differs; of a hit, where it was found; of a failure, what is wrong. */
  why: STRING,
  cause: optionalField(CAUSE),
  /** Of a miss, without values; how many more; where the earlier action ran (`at` in milliseconds since 1970). */
  differences: optionalField(listOf(unbounded(REPORTED_DIFFERENCE))),
  moreDifferences: optionalField(NUMBER),
  seen: optionalField(unbounded(REPORTED_SEEN)),
  key: optionalField(STRING),
  /** The server has the action, so /action/KEY shows it. */
  isStored: BOOLEAN,
  exitCode: NUMBER,
  /** Of a command that was run again (--retry): the exit codes of all tries, and what they show. */
  tries: optionalField(unbounded(REPORTED_TRIES)),
  /** From the start of the run. */
  startMs: NUMBER,
  elapsedMs: NUMBER,
  /** The duration of the command when it ran: now, or in the run that a hit comes from. */
  commandMs: NUMBER,
  /** Waited for a free job slot. */
  waitedMs: NUMBER,
  needs: listOf(STRING),
  isCritical: BOOLEAN,
  status: optionalField(STATUS),
  facts: optionalField(unbounded(REPORTED_FACTS)),
  findings: listOf(FINDING),
  /** Beyond those listed. */
  moreFindings: NUMBER,
  bytesUp: NUMBER,
  bytesDown: NUMBER,
  /** Why the result was not kept. */
  notKept: optionalField(STRING),
  diverged: BOOLEAN,
  /** Declared variables by name; values are never sent. */
  variables: listOf(STRING),
});

export type RunStep = Described<typeof RUN_STEP>;

export const RUN_ANSWER = extended(RUN_ROW, {
  jobs: optionalField(NUMBER),
  exitCode: optionalField(NUMBER),
  warnings: listOf(STRING),
  /** In the order of their start. Empty for a grouped run. */
  stepList: listOf(RUN_STEP),
  /** The first steps that failed, at most 5. */
  failures: listOf(FAILED_STEP),
  /** The names of the steps that determined the duration, first to last. */
  criticalPath: listOf(STRING),
  /** The newest earlier run of the same repository and branch with the same steps. */
  previous: optionalField(
    object({
      id: STRING,
      elapsedMs: NUMBER,
    }),
  ),
  /** Of a grouped run: what was looked up, newest first, at most 200. */
  lookups: listOf(TAIL_EVENT),
});

export type Run = Described<typeof RUN_ANSWER>;

export const REPORTED = object({
  id: STRING,
  /** The page of the run on this server. */
  url: STRING,
});

export type Reported = Described<typeof REPORTED>;
