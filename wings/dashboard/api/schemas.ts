// The shape of every answer of /api/v1, for OpenAPI. The compiler compares each shape with its type in types.ts: a
// field that is missing here, or that no answer has, is an error.
import type { TokenInfo } from '../../../core/metadata/token-info.ts';
import type {
  Action,
  ActionDifference,
  ActionFinding,
  ActionResultDetails,
  DivergenceRow,
  Figures,
  FileRow,
  Hermeticity,
  LogText,
  MissCause,
  Misses,
  Now,
  Reported,
  Run,
  RunRow,
  RunStep,
  Runs,
  RunTotals,
  Setup,
  StepTotals,
  Storage,
  Tail,
  TailEvent,
  TimedCommit,
  Totals,
  Trends,
} from './types.ts';

/** A list is the shape of its elements in brackets. The name of a field that may be absent ends with "?". */
export type AnswerShape =
  | 'string'
  | 'number'
  | 'boolean'
  | readonly [AnswerShape]
  | { readonly [name: string]: AnswerShape };

type ShapeOf<T> = [T] extends [string]
  ? 'string'
  : [T] extends [number]
    ? 'number'
    : [T] extends [boolean]
      ? 'boolean'
      : T extends readonly (infer Element)[]
        ? readonly [ShapeOf<Element>]
        : { readonly [Name in keyof T & string as Named<T, Name>]-?: ShapeOf<NonNullable<T[Name]>> };

type Named<T, Name extends keyof T & string> = Record<never, never> extends Pick<T, Name> ? `${Name}?` : Name;

/** JSON Schema. */
export function schemaOf(shape: AnswerShape): object {
  if (typeof shape === 'string') return { type: shape };
  if (isList(shape)) return { type: 'array', items: schemaOf(shape[0]) };
  const fields = Object.entries(shape);
  return {
    type: 'object',
    required: fields.map(([name]) => name).filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(fields.map(([name, field]) => [name.replace(/\?$/, ''), schemaOf(field)])),
  };
}

function isList(shape: AnswerShape): shape is readonly [AnswerShape] {
  return Array.isArray(shape);
}

const TOTALS: ShapeOf<Totals> = {
  hits: 'number',
  misses: 'number',
  'hitRate?': 'number',
  savedMs: 'number',
  runs: 'number',
  'bytesReceived?': 'number',
  'bytesSent?': 'number',
  requests: 'number',
  errors: 'number',
  'leases?': { granted: 'number', waited: 'number', hedged: 'number', expired: 'number', savedMs: 'number' },
};

const EVENT: ShapeOf<TailEvent> = {
  at: 'string',
  tool: 'string',
  what: 'string',
  namespace: 'string',
  identity: 'string',
  key: 'string',
  'run?': 'string',
};

export const TAIL: ShapeOf<Tail> = { events: [EVENT], position: 'string' };

export const FIGURES: ShapeOf<Figures> = {
  stepMs: 'number',
  points: [{ ...TOTALS, at: 'string', 'medianMs?': 'number', 'p99Ms?': 'number' }],
};

const ROW: ShapeOf<RunRow> = {
  id: 'string',
  source: 'string',
  tool: 'string',
  'toolVersion?': 'string',
  namespace: 'string',
  identity: 'string',
  startedAt: 'string',
  elapsedMs: 'number',
  outcome: 'string',
  'ran?': ['string'],
  'repository?': 'string',
  'branch?': 'string',
  'commit?': 'string',
  'job?': 'string',
  'where?': 'string',
  steps: 'number',
  hits: 'number',
  misses: 'number',
  failed: 'number',
  savedMs: 'number',
  bytesUp: 'number',
  bytesDown: 'number',
};

export const NOW: ShapeOf<Now> = {
  at: 'string',
  version: 'string',
  health: { status: 'string', sentence: 'string' },
  isWhole: 'boolean',
  today: TOTALS,
  weekBefore: TOTALS,
  warnings: [{ text: 'string', whatToDo: 'string' }],
  tail: TAIL,
  figures: FIGURES,
  newestRuns: [ROW],
};

export const RUNS: ShapeOf<Runs> = {
  runs: [ROW],
  'next?': 'string',
  choices: { repositories: ['string'], branches: ['string'], tools: ['string'], namespaces: ['string'] },
};

const FINDING: ShapeOf<ActionFinding> = { kind: 'string', path: 'string', detail: 'string' };
const CAUSE: ShapeOf<MissCause> = { kind: 'string', 'name?': 'string' };

const STEP: ShapeOf<RunStep> = {
  step: 'string',
  outcome: 'string',
  why: 'string',
  'cause?': CAUSE,
  'differences?': [
    {
      kind: 'string',
      name: 'string',
      change: 'string',
      'group?': 'string',
      'before?': 'string',
      'after?': 'string',
    },
  ],
  'moreDifferences?': 'number',
  'seen?': { 'namespace?': 'string', 'run?': 'string', at: 'number' },
  'key?': 'string',
  isStored: 'boolean',
  exitCode: 'number',
  startMs: 'number',
  elapsedMs: 'number',
  commandMs: 'number',
  waitedMs: 'number',
  needs: ['string'],
  isCritical: 'boolean',
  'status?': 'string',
  'facts?': { files: 'number', absent: 'number', listings: 'number', libraries: 'number', machine: 'number' },
  findings: [FINDING],
  moreFindings: 'number',
  bytesUp: 'number',
  bytesDown: 'number',
  'notKept?': 'string',
  diverged: 'boolean',
  variables: ['string'],
};

const LOG: ShapeOf<LogText> = { bytes: 'number', 'text?': 'string', isCut: 'boolean' };

export const RUN_SHAPE: ShapeOf<Run> = {
  ...ROW,
  'jobs?': 'number',
  'exitCode?': 'number',
  warnings: ['string'],
  stepList: [STEP],
  failures: [{ step: 'string', exitCode: 'number', why: 'string', 'log?': LOG, 'isHidden?': 'boolean' }],
  criticalPath: ['string'],
  'previous?': { id: 'string', elapsedMs: 'number' },
  lookups: [EVENT],
};

export const TOKEN: ShapeOf<TokenInfo> = {
  name: 'string',
  namespace: 'string',
  reads: ['string'],
  rights: ['string'],
  'expiresAt?': 'string',
};

export const REPORTED: ShapeOf<Reported> = { id: 'string', url: 'string' };

/** Of an answer about some days. */
const PERIOD = { from: 'string', to: 'string' } as const;

export const MISSES: ShapeOf<Misses> = {
  ...PERIOD,
  'readAt?': 'string',
  runs: 'number',
  misses: 'number',
  lostMs: 'number',
  causes: [
    {
      cause: CAUSE,
      text: 'string',
      count: 'number',
      lostMs: 'number',
      share: 'number',
      steps: [{ step: 'string', 'repository?': 'string', count: 'number', lostMs: 'number' }],
      whatToDo: 'string',
      example: { run: 'string', step: 'string', at: 'string' },
    },
  ],
  moreCauses: 'number',
};

const STEP_TOTALS: ShapeOf<StepTotals> = {
  hits: 'number',
  misses: 'number',
  failed: 'number',
  'hitRate?': 'number',
  savedMs: 'number',
  ranMs: 'number',
};

const RUN_TOTALS: ShapeOf<RunTotals> = {
  ...STEP_TOTALS,
  runs: 'number',
  lastRunAt: 'string',
  'elapsedMs?': 'number',
  'bytesUp?': 'number',
  'bytesDown?': 'number',
};

const TIMED: ShapeOf<TimedCommit> = { commit: 'string', run: 'string', at: 'string', commandMs: 'number' };
const QUANTILES = { 'medianMs?': 'number', 'p95Ms?': 'number' } as const;

export const TRENDS: ShapeOf<Trends> = {
  ...PERIOD,
  'readAt?': 'string',
  weeks: [
    {
      ...{ ...STEP_TOTALS, ...QUANTILES },
      from: 'string',
      runs: 'number',
      main: STEP_TOTALS,
      pullRequests: STEP_TOTALS,
      others: STEP_TOTALS,
    },
  ],
  steps: [{ ...STEP_TOTALS, ...QUANTILES, step: 'string', 'repository?': 'string' }],
  moreSteps: 'number',
  branches: [{ ...RUN_TOTALS, 'branch?': 'string', 'repository?': 'string' }],
  moreBranches: 'number',
  pullRequests: [
    {
      ...RUN_TOTALS,
      place: 'string',
      'repository?': 'string',
      count: 'number',
      newest: [{ ...RUN_TOTALS, namespace: 'string', 'branch?': 'string' }],
    },
  ],
  slower: [
    {
      ...{ step: 'string', 'repository?': 'string', namespace: 'string', 'branch?': 'string' },
      ...{ first: TIMED, last: TIMED },
      ...{ beforeMs: 'number', afterMs: 'number', runsBefore: 'number', runsAfter: 'number' },
    },
  ],
  flaky: [
    {
      ...{ step: 'string', 'repository?': 'string', namespace: 'string', times: 'number', key: 'string' },
      passed: { run: 'string', at: 'string' },
      failed: { run: 'string', at: 'string', exitCode: 'number' },
    },
  ],
  'times?': [TIMED],
  choices: { repositories: ['string'], branches: ['string'] },
};

/** Where a step ran. */
const SEEN = { step: 'string', 'repository?': 'string', at: 'string', run: 'string' } as const;

const WRITER = { name: 'string', protocol: 'string', at: 'string' } as const;

const DIVERGENCE: ShapeOf<DivergenceRow> = {
  key: 'string',
  namespace: 'string',
  'first?': WRITER,
  'second?': WRITER,
  text: 'string',
  'path?': 'string',
  'byte?': 'number',
  'bytes?': { first: 'string', second: 'string' },
  isStored: 'boolean',
  'checked?': 'string',
  whatToDo: 'string',
};

export const HERMETICITY_SHAPE: ShapeOf<Hermeticity> = {
  ...PERIOD,
  'stepsReadAt?': 'string',
  counts: { declared: 'number', observed: 'number', unproven: 'number', unwatched: 'number' },
  steps: [{ ...SEEN, namespace: 'string', status: 'string', 'key?': 'string', findings: 'number' }],
  moreSteps: 'number',
  findings: [{ ...SEEN, ...FINDING, 'lineToWrite?': 'string' }],
  divergences: [DIVERGENCE],
  moreDivergences: 'boolean',
  'divergencesReadAt?': 'string',
};

const USAGE = { name: 'string', results: 'number', bytes: 'number' } as const;

export const STORAGE: ShapeOf<Storage> = {
  'store?': {
    usedBytes: 'number',
    'limitBytes?': 'number',
    evictedBytes: 'number',
    'evictedUnusedMs?': 'number',
  },
  accounts: [{ name: 'string', bytes: 'number', 'quotaBytes?': 'number', 'floorBytes?': 'number' }],
  'countedAt?': 'string',
  teams: [USAGE],
  tools: [USAGE],
  namespaces: [
    {
      namespace: 'string',
      'grouped?': 'number',
      results: 'number',
      writers: ['string'],
      'lastWriteAt?': 'string',
    },
  ],
  deniedWrites: [{ at: 'string', identity: 'string', tool: 'string', why: 'string' }],
  tokens: [
    {
      name: 'string',
      namespace: 'string',
      rights: ['string'],
      'expiresAt?': 'string',
      expiresSoon: 'boolean',
    },
  ],
  nodes: [{ name: 'string', lastSeenAt: 'string', isThisOne: 'boolean' }],
};

export const SETUP: ShapeOf<Setup> = {
  address: 'string',
  needsToken: 'boolean',
  tools: [
    {
      name: 'string',
      snippet: 'string',
      'lastRequestAt?': 'string',
      'countsAs?': 'string',
      lookupsToday: 'number',
    },
  ],
};

const FILE: ShapeOf<FileRow> = {
  path: 'string',
  'size?': 'number',
  'hash?': 'string',
  'target?': 'string',
};

const RESULT: ShapeOf<ActionResultDetails> = {
  exitCode: 'number',
  'commandMs?': 'number',
  outputs: [FILE],
  moreOutputs: 'number',
  stdout: LOG,
  stderr: LOG,
  status: 'string',
  facts: [{ what: 'string', state: 'string', why: 'string' }],
  findings: [FINDING],
  receipt: { 'at?': 'string', 'where?': 'string', 'commit?': 'string', 'assay?': 'string' },
  'divergence?': DIVERGENCE,
  'writer?': WRITER,
};

const PAIR = { name: 'string', value: 'string' } as const;

export const ACTION: ShapeOf<Action> = {
  key: 'string',
  namespace: 'string',
  command: ['string'],
  workingDirectory: 'string',
  variables: ['string'],
  platform: [PAIR],
  tools: [PAIR],
  inputs: [FILE],
  moreInputs: 'number',
  declaredOutputs: ['string'],
  'result?': RESULT,
  runs: [{ run: 'string', step: 'string', at: 'string', outcome: 'string' }],
  others: [{ key: 'string', at: 'string', step: 'string' }],
};

export const DIFFERENCE: ShapeOf<ActionDifference> = {
  from: 'string',
  to: 'string',
  differences: [{ text: 'string', cause: CAUSE }],
};
