// RunReport as a JSON schema, with a bound for every text and list. The types of a report come from it.
// It has names, digests and durations. It has no content, no value of a variable and no command line.
//
// A server loads the schema and checks each report with it. A client takes only the types.
import type { Hash } from '../digest.ts';
import { EVIDENCE_STATUSES } from '../evidence.ts';
import {
  BOOLEAN,
  boundedText,
  closed,
  type Described,
  type JsonSchema,
  listOf,
  oneOf,
  optionalField,
} from './json-schema.ts';
import { FACT_GROUPS, MISS_KINDS, RUN_REPORT, STEP_OUTCOMES, TRY_VERDICTS } from './run-report.ts';

const NAME = boundedText(RUN_REPORT.maxName);
const LINE = boundedText(RUN_REPORT.maxText);
const KEY: JsonSchema<string> = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const HASH: JsonSchema<Hash> = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const COUNT: JsonSchema<number> = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
/** A month. */
const MILLISECONDS: JsonSchema<number> = { type: 'number', minimum: 0, maximum: 31 * 24 * 60 * 60 * 1000 };
const EXIT_CODE: JsonSchema<number> = { type: 'integer', minimum: -1, maximum: 65_535 };
/** Of a run, and of a step. */
const ID: JsonSchema<string> = { type: 'string', pattern: '^[0-9a-f]{32}$' };
const STATE = boundedText(RUN_REPORT.maxState);
const LOG_BYTES: JsonSchema<number> = { type: 'integer', minimum: 1, maximum: RUN_REPORT.maxLogBytes };

export const MISS_CAUSE = closed({
  kind: oneOf(MISS_KINDS),
  /** The path of the input, or the name of the variable, the tool, the property or the output. */
  name: optionalField(NAME),
});

/** Something undeclared that the command did. */
export const REPORTED_FINDING = closed({ kind: NAME, path: NAME, detail: LINE });

/** What the result depends on beyond its declaration, counted by kind. */
export const REPORTED_FACTS = closed({
  files: COUNT,
  absent: COUNT,
  listings: COUNT,
  libraries: COUNT,
  machine: COUNT,
});

/** What differs from the earlier action, without values. The kinds are those of a cause. */
export const REPORTED_DIFFERENCE = closed({
  kind: oneOf(MISS_KINDS),
  /** "" for the command line and the key's format. */
  name: NAME,
  change: oneOf(['changed', 'added', 'removed']),
  /** Of a fact: its kind, and its states then and now. */
  group: optionalField(oneOf(FACT_GROUPS)),
  before: optionalField(STATE),
  after: optionalField(STATE),
});

/** Where the earlier action ran: at a server with its namespace and run, else on the reporting machine. */
export const REPORTED_SEEN = closed({
  namespace: optionalField(NAME),
  run: optionalField(ID),
  /** In milliseconds since 1970. */
  at: COUNT,
});

/** Of a command that was run again (--retry): the exit codes in order, and what they show. */
export const REPORTED_TRIES = closed({
  exitCodes: listOf(EXIT_CODE, RUN_REPORT.maxTries),
  verdict: oneOf(TRY_VERDICTS),
});

const STEP = closed({
  step: NAME,
  /** Its id (step-id.ts). Not in the first form. */
  id: optionalField(ID),
  outcome: oneOf(STEP_OUTCOMES),
  /** In one line. */
  why: LINE,
  cause: optionalField(MISS_CAUSE),
  /** Of a miss, and where the earlier action ran. Not in the first form. */
  differences: optionalField(listOf(REPORTED_DIFFERENCE, RUN_REPORT.maxDifferences)),
  moreDifferences: optionalField(COUNT),
  seen: optionalField(REPORTED_SEEN),
  key: optionalField(KEY),
  exitCode: EXIT_CODE,
  /** Not in the first three forms. */
  tries: optionalField(REPORTED_TRIES),
  /** The blob with the end of what a failed step printed. Not in the first two forms. */
  log: optionalField(closed({ hash: HASH, size: LOG_BYTES })),
  /** From the start of the run. */
  startMs: MILLISECONDS,
  elapsedMs: MILLISECONDS,
  commandMs: MILLISECONDS,
  /** For a job slot. */
  waitedMs: MILLISECONDS,
  needs: listOf(NAME, RUN_REPORT.maxNeeds),
  status: optionalField(oneOf(EVIDENCE_STATUSES)),
  facts: optionalField(REPORTED_FACTS),
  findings: listOf(REPORTED_FINDING, RUN_REPORT.maxFindings),
  moreFindings: COUNT,
  bytesUp: COUNT,
  bytesDown: COUNT,
  notKept: optionalField(LINE),
  diverged: optionalField(BOOLEAN),
  /** Names alone. */
  variables: listOf(NAME, RUN_REPORT.maxVariables),
});

const FORM: JsonSchema<1> = { const: 1 };

export const REPORT_SCHEMA = closed({
  version: FORM,
  /** The client makes it: 32 hex digits. */
  id: ID,
  assay: boundedText(64),
  /** ISO 8601 in UTC. */
  startedAt: { ...boundedText(30), pattern: '^\\d{4}-\\d{2}-\\d{2}T[\\d:.]+Z$' },
  elapsedMs: MILLISECONDS,
  jobs: COUNT,
  exitCode: EXIT_CODE,
  isInterrupted: BOOLEAN,
  repository: optionalField(NAME),
  branch: optionalField(NAME),
  commit: optionalField(NAME),
  /** The address of the CI job. */
  job: optionalField(NAME),
  /** The name of the machine, without a CI job. */
  where: optionalField(NAME),
  bytesUp: COUNT,
  bytesDown: COUNT,
  warnings: listOf(LINE, RUN_REPORT.maxWarnings),
  steps: listOf(STEP, RUN_REPORT.maxSteps),
});

export type MissCause = Described<typeof MISS_CAUSE>;
export type ReportedFinding = Described<typeof REPORTED_FINDING>;
export type ReportedFacts = Described<typeof REPORTED_FACTS>;
export type ReportedDifference = Described<typeof REPORTED_DIFFERENCE>;
export type ReportedTries = Described<typeof REPORTED_TRIES>;
export type ReportedStep = Described<typeof STEP>;
export type RunReport = Described<typeof REPORT_SCHEMA>;
