// The JSON schema of a RunReport (core/metadata/run-report.ts), with a bound for every text and list.
import { MISS_KINDS, RUN_REPORT, STEP_OUTCOMES } from '../../../core/metadata/run-report.ts';
import { FACT_GROUPS } from '../../../store/actions/difference.ts';

const NAME = { type: 'string', maxLength: RUN_REPORT.maxName };
const TEXT = { type: 'string', maxLength: RUN_REPORT.maxText };
const KEY = { type: 'string', pattern: '^[0-9a-f]{64}$' };
const COUNT = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
/** A month. */
const MILLISECONDS = { type: 'number', minimum: 0, maximum: 31 * 24 * 60 * 60 * 1000 };
const EXIT_CODE = { type: 'integer', minimum: -1, maximum: 65_535 };
/** Of a run, and of a step. */
const RUN_ID = { type: 'string', pattern: '^[0-9a-f]{32}$' };
const FLAG = { type: 'boolean' };

function object(properties: object, ...optional: readonly string[]): object {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', additionalProperties: false, required, properties };
}

function list(items: object, maxItems: number): object {
  return { type: 'array', items, maxItems };
}

const STATE = { type: 'string', maxLength: RUN_REPORT.maxState };
const DIFFERENCE = object(
  {
    kind: { enum: MISS_KINDS },
    name: NAME,
    change: { enum: ['changed', 'added', 'removed'] },
    group: { enum: FACT_GROUPS },
    before: STATE,
    after: STATE,
  },
  'group',
  'before',
  'after',
);

const STEP = object(
  {
    step: NAME,
    id: RUN_ID,
    outcome: { enum: STEP_OUTCOMES },
    why: TEXT,
    cause: object({ kind: { enum: MISS_KINDS }, name: NAME }, 'name'),
    differences: list(DIFFERENCE, RUN_REPORT.maxDifferences),
    moreDifferences: COUNT,
    seen: object({ namespace: NAME, run: RUN_ID, at: COUNT }, 'namespace', 'run'),
    key: KEY,
    log: object({ hash: KEY, size: { type: 'integer', minimum: 1, maximum: RUN_REPORT.maxLogBytes } }),
    exitCode: EXIT_CODE,
    startMs: MILLISECONDS,
    elapsedMs: MILLISECONDS,
    commandMs: MILLISECONDS,
    waitedMs: MILLISECONDS,
    needs: list(NAME, RUN_REPORT.maxNeeds),
    status: { enum: ['declared', 'observed', 'unproven', 'unwatched'] },
    facts: object({ files: COUNT, absent: COUNT, listings: COUNT, libraries: COUNT, machine: COUNT }),
    findings: list(object({ kind: NAME, path: NAME, detail: TEXT }), RUN_REPORT.maxFindings),
    moreFindings: COUNT,
    bytesUp: COUNT,
    bytesDown: COUNT,
    notKept: TEXT,
    diverged: FLAG,
    variables: list(NAME, RUN_REPORT.maxVariables),
  },
  'id',
  'cause',
  'differences',
  'moreDifferences',
  'seen',
  'key',
  'log',
  'status',
  'facts',
  'notKept',
  'diverged',
);

export const REPORT_SCHEMA = object(
  {
    version: { const: 1 },
    id: RUN_ID,
    assay: { type: 'string', maxLength: 64 },
    startedAt: { type: 'string', maxLength: 30, pattern: '^\\d{4}-\\d{2}-\\d{2}T[\\d:.]+Z$' },
    elapsedMs: MILLISECONDS,
    jobs: COUNT,
    exitCode: EXIT_CODE,
    isInterrupted: FLAG,
    repository: NAME,
    branch: NAME,
    commit: NAME,
    job: NAME,
    where: NAME,
    bytesUp: COUNT,
    bytesDown: COUNT,
    warnings: list(TEXT, RUN_REPORT.maxWarnings),
    steps: list(STEP, RUN_REPORT.maxSteps),
  },
  'repository',
  'branch',
  'commit',
  'job',
  'where',
);
