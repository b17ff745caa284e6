// The parts that several answers of /api/v1 have in common.
import { EVIDENCE_STATUSES } from '../../../../core/evidence.ts';
import {
  BOOLEAN,
  type Described,
  listOf,
  NUMBER,
  object,
  oneOf,
  optionalField,
  STRING,
  unbounded,
} from '../../../../core/metadata/json-schema.ts';
import { STEP_OUTCOMES } from '../../../../core/metadata/run-report.ts';
import { MISS_CAUSE, REPORTED_FINDING } from '../../../../core/metadata/run-report-schema.ts';

export const OUTCOME = oneOf(STEP_OUTCOMES);
export const STATUS = oneOf(EVIDENCE_STATUSES);

/* As a report has them (core/metadata/run-report-schema.ts). */
export const CAUSE = unbounded(MISS_CAUSE);
export const FINDING = unbounded(REPORTED_FINDING);

export const LOG_TEXT = object({
  bytes: NUMBER,
  /** The last 64 KiB, if the server has it. */
  text: optionalField(STRING),
  isCut: BOOLEAN,
});

export type LogText = Described<typeof LOG_TEXT>;

/** One lookup or one write of a result. */
export const TAIL_EVENT = object({
  at: STRING,
  tool: STRING,
  what: oneOf(['hit', 'miss', 'stored', 'denied']),
  namespace: STRING,
  identity: STRING,
  /** Of the result. An opaque key of a tool is hashed. */
  key: STRING,
  /** Of the tool's own invocation, if it sends one: the id of a run. */
  run: optionalField(STRING),
});

export type TailEvent = Described<typeof TAIL_EVENT>;

/** `reported`: a client of Assay reported it. `grouped`: the requests of another tool that belong together. */
const RUN_SOURCE = oneOf(['reported', 'grouped']);

/** `running`: requests of it still come in. `unknown`: the tool does not tell how it ended. */
const RUN_OUTCOME = oneOf(['passed', 'failed', 'interrupted', 'running', 'unknown']);

export type RunOutcome = Described<typeof RUN_OUTCOME>;

export const RUN_ROW = object({
  id: STRING,
  source: RUN_SOURCE,
  /** "assay", "bazel", "turbo", … and its version, as far as the tool tells it. */
  tool: STRING,
  toolVersion: optionalField(STRING),
  namespace: STRING,
  /** The name of the token that sent it. */
  identity: STRING,
  startedAt: STRING,
  elapsedMs: NUMBER,
  outcome: RUN_OUTCOME,
  /** What ran: the names of some steps. Absent for a grouped run. */
  ran: optionalField(listOf(STRING)),
  repository: optionalField(STRING),
  branch: optionalField(STRING),
  commit: optionalField(STRING),
  /** The address of the CI job; only http and https. */
  job: optionalField(STRING),
  /** The machine, if there is no CI job. */
  where: optionalField(STRING),
  steps: NUMBER,
  hits: NUMBER,
  misses: NUMBER,
  failed: NUMBER,
  savedMs: NUMBER,
  bytesUp: NUMBER,
  bytesDown: NUMBER,
});

export type RunRow = Described<typeof RUN_ROW>;

export const DIVERGENCE_ROW = object({
  key: STRING,
  namespace: STRING,
  first: optionalField(
    object({
      name: STRING,
      protocol: STRING,
      at: STRING,
    }),
  ),
  second: optionalField(
    object({
      name: STRING,
      protocol: STRING,
      at: STRING,
    }),
  ),
  /** As a sentence, with the first differing byte where there is one. */
  text: STRING,
  path: optionalField(STRING),
  byte: optionalField(NUMBER),
  /** As hex, from that byte on, at most 16. Empty for a content that ends there. */
  bytes: optionalField(
    object({
      first: STRING,
      second: STRING,
    }),
  ),
  /** The server has the action of this key. It does not for a result that depends on undeclared files. */
  isStored: BOOLEAN,
  /** A check of the first result (`--check-hits`) made the second: `different` is a stale hit. */
  checked: optionalField(oneOf(['different', 'unstable'])),
  whatToDo: STRING,
});

export type DivergenceRow = Described<typeof DIVERGENCE_ROW>;
