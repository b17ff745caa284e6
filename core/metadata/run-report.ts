// RunReport: what `assay run` tells an Assay server about one run, as the JSON body of POST RUNS_PATH.
// It has names, digests and durations. It has no content, no value of a variable and no command line. The end of a failed
// step's log is a blob beside it, for those who may read blobs.
//
// A server announces that it takes reports with the header RUNS_HEADER in an answer of the path-set protocol:
// only an Assay server has that protocol, and it sends the header only to a token with the right `runs:write`. The
// value of the header is the newest form that the server takes: it refuses a report with fields that it does not know.
import type { Digest } from '../digest.ts';
import type { EvidenceStatus } from '../evidence.ts';

export const RUNS_PATH = '/api/v1/runs';
export const RUNS_HEADER = 'assay-runs';
/** The form with `id` and `differences` of a step. */
export const STEP_IDS_FORM = 2;
/** The form with `log` of a failed step. */
export const RUNS_FORM = 3;

/** The newest form that the header announces; 0 without one. */
export function reportForm(header: unknown): number {
  if (header === undefined) return 0;
  const form = Number(header);
  return Number.isInteger(form) && form > 0 ? form : 1;
}

export const RUN_REPORT = {
  /** The whole body. */
  maxBytes: 1024 * 1024,
  maxSteps: 5000,
  /** For each step. */
  maxNeeds: 200,
  maxFindings: 20,
  maxVariables: 200,
  maxWarnings: 50,
  /** Names of steps, branches, files and variables; longer ones are cut. */
  maxName: 500,
  /** Sentences. */
  maxText: 1000,
  /** For each step, and the state of a fact. */
  maxDifferences: 100,
  maxState: 200,
  /** The end of a failed step's log, and the steps of a run whose logs are sent. */
  maxLogBytes: 64 * 1024,
  maxLogs: 20,
} as const;

/** `failed`: with a code other than 0, or it could not start. `interrupted`: the same after an interrupt. `skipped`: not started. */
export const STEP_OUTCOMES = ['hit-local', 'hit-remote', 'miss', 'failed', 'interrupted', 'skipped'] as const;

export type StepOutcome = (typeof STEP_OUTCOMES)[number];

/**
 * What a miss comes from, so that misses with the same cause can be counted together. The difference to the
 * closest earlier action: `input`, `variable`, `tool`, `platform`, `command`, `outputs`, `version`. `fact`: an
 * undeclared file or a property of the machine differs. `refused`: a result was found and not accepted.
 * `not-kept`: the same action ran before, and its result was not stored. `failed-before`: it failed.
 */
export const MISS_KINDS = [
  'input',
  'variable',
  'tool',
  'platform',
  'command',
  'outputs',
  'version',
  'fact',
  'refused',
  'not-kept',
  'failed-before',
  'forced',
  'not-cached',
  'first-run',
  'unknown',
] as const;

export type MissKind = (typeof MISS_KINDS)[number];

export interface MissCause {
  readonly kind: MissKind;
  /** The path of the input, or the name of the variable, the tool, the property or the output. */
  readonly name?: string;
}

export interface ReportedFinding {
  readonly kind: string;
  readonly path: string;
  readonly detail: string;
}

export interface ReportedFacts {
  readonly files: number;
  readonly absent: number;
  readonly listings: number;
  readonly libraries: number;
  readonly machine: number;
}

/** What differs from the earlier action, without values. The kinds are those of a cause. */
export interface ReportedDifference {
  readonly kind: MissKind;
  /** "" for the command line and the key's format. */
  readonly name: string;
  readonly change: 'changed' | 'added' | 'removed';
  /** Of a fact: its kind, and its states then and now. */
  readonly group?: keyof ReportedFacts;
  readonly before?: string;
  readonly after?: string;
}

/** Where the earlier action ran: at a server with its namespace and run, else on the reporting machine. */
export interface ReportedSeen {
  readonly namespace?: string;
  readonly run?: string;
  readonly at: number;
}

export interface ReportedStep {
  readonly step: string;
  /** Its id (step-id.ts). Not in the first form. */
  readonly id?: string;
  readonly outcome: StepOutcome;
  /** In one line. */
  readonly why: string;
  readonly cause?: MissCause;
  /** Of a miss, at most maxDifferences, and where the earlier action ran. Not in the first form. */
  readonly differences?: readonly ReportedDifference[];
  readonly moreDifferences?: number;
  readonly seen?: ReportedSeen;
  readonly key?: string;
  readonly exitCode: number;
  /** The blob with the end of what a failed step printed, at most maxLogBytes. Not in the first two forms. */
  readonly log?: Digest;
  /** From the start of the run. */
  readonly startMs: number;
  readonly elapsedMs: number;
  readonly commandMs: number;
  /** For a job slot. */
  readonly waitedMs: number;
  readonly needs: readonly string[];
  readonly status?: EvidenceStatus;
  readonly facts?: ReportedFacts;
  readonly findings: readonly ReportedFinding[];
  readonly moreFindings: number;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly notKept?: string;
  readonly diverged?: boolean;
  /** Names alone. */
  readonly variables: readonly string[];
}

export interface RunReport {
  readonly version: 1;
  /** The client makes it: 32 hex digits. */
  readonly id: string;
  readonly assay: string;
  /** ISO 8601 in UTC. */
  readonly startedAt: string;
  readonly elapsedMs: number;
  readonly jobs: number;
  readonly exitCode: number;
  readonly isInterrupted: boolean;
  readonly repository?: string;
  readonly branch?: string;
  readonly commit?: string;
  /** The address of the CI job. */
  readonly job?: string;
  /** The name of the machine, without a CI job. */
  readonly where?: string;
  readonly bytesUp: number;
  readonly bytesDown: number;
  readonly warnings: readonly string[];
  readonly steps: readonly ReportedStep[];
}
