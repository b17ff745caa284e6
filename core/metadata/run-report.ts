// RunReport: what `assay run` tells an Assay server about one run, as the JSON body of POST RUNS_PATH.
// It has names, digests and durations. It has no content, no value of a variable and no command line. The end of a failed
// step's log is a blob beside it, for those who may read blobs.
//
// A server announces that it takes reports with the header RUNS_HEADER in an answer of the path-set protocol:
// only an Assay server has that protocol, and it sends the header only to a token with the right `runs:write`. The
// value of the header is the newest form that the server takes: it refuses a report with fields that it does not know.

export const RUNS_PATH = '/api/v1/runs';
export const RUNS_HEADER = 'assay-runs';
/** The form with `id` and `differences` of a step. */
export const STEP_IDS_FORM = 2;
/** The form with `log` of a failed step. */
export const LOGS_FORM = 3;
/** The form with `tries` of a step. */
export const RUNS_FORM = 4;

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
  /** Of one command: --retry and the first one. */
  maxTries: 21,
} as const;

/**
 * What the tries of a command that was run again show (--retry). With the same facts: `flaky` if the exit codes differ, else
 * `broken`. `changed`: the tries did not have the same facts.
 */
export const TRY_VERDICTS = ['flaky', 'broken', 'changed'] as const;

export interface Tries {
  /** In order; the last one is that of the result. */
  readonly exitCodes: readonly number[];
  readonly verdict: (typeof TRY_VERDICTS)[number];
  /** What differed. */
  readonly changed?: string;
}

/** With the same facts its tries ended with different exit codes. */
export function isFlaky({ tries }: { readonly tries?: Pick<Tries, 'verdict'> }): boolean {
  return tries?.verdict === 'flaky';
}

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

/** What a fact is about. */
export const FACT_GROUPS = ['files', 'absent', 'listings', 'libraries', 'machine'] as const;

export type FactGroup = (typeof FACT_GROUPS)[number];
