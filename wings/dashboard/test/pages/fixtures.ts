// Answers of the API as a busy week gives them, with names that try to become markup, script or another
// reading direction. `NASTY` is in every text that a client chooses.

import { TOOLS } from '../../../../server/request/tools.ts';
import type { Action, ActionDifference } from '../../api/schemas/action.ts';
import type { Hermeticity } from '../../api/schemas/hermeticity.ts';
import type { Misses } from '../../api/schemas/misses.ts';
import type { Figures, Now, Totals } from '../../api/schemas/now.ts';
import type { RunRow, TailEvent } from '../../api/schemas/parts.ts';
import type { Run, RunStep, Runs } from '../../api/schemas/runs.ts';
import type { Setup } from '../../api/schemas/setup.ts';
import type { Storage } from '../../api/schemas/storage.ts';
import type { StepTotals, Trends } from '../../api/schemas/trends.ts';

export const AT = Date.parse('2026-11-17T15:00:00Z');

/** Markup, a way out of an attribute, a right-to-left override, a control character, a lone surrogate. */
export const NASTY = `<img src=x onerror=alert(1)>"'><script>alert(2)</script>\u202egnp.exe\u0007\u0000\ud800`;

const KEY = 'c3ab8ff13720e8ad9047dd39466b3c8974e592c2fa383d4a3960714caef0c4f2';
const OTHER_KEY = '5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8';

function ago(minutes: number): string {
  return new Date(AT - minutes * 60_000).toISOString();
}

const TOTALS: Totals = {
  hits: 18_342,
  misses: 2_511,
  hitRate: 18_342 / 20_853,
  savedMs: 14.4 * 3_600_000,
  runs: 212,
  bytesReceived: 3.1e9,
  bytesSent: 41.7e9,
  requests: 96_120,
  errors: 3,
  leases: { granted: 140, waited: 61, hedged: 2, expired: 1, savedMs: 5.2 * 3_600_000 },
};

function rowOf(id: string, more: Partial<RunRow>): RunRow {
  return {
    id,
    source: 'reported',
    tool: 'assay',
    toolVersion: '0.2.0',
    namespace: 'acme/web/main',
    identity: 'ci-main',
    startedAt: ago(4),
    elapsedMs: 83_400,
    outcome: 'passed',
    repository: 'acme/web',
    branch: 'main',
    commit: '9f2c41d07be1a5d3c0ffee00b4b3d1e5a7c90f12',
    job: 'https://ci.example/jobs/4711',
    steps: 24,
    hits: 21,
    misses: 3,
    failed: 0,
    savedMs: 412_000,
    bytesUp: 2_400_000,
    bytesDown: 88_000_000,
    ...more,
  };
}

const ROWS: readonly RunRow[] = [
  rowOf('r-1', {}),
  rowOf('r-2', { outcome: 'failed', failed: 1, misses: 2, branch: 'fix/login', startedAt: ago(11) }),
  rowOf('r-3', {
    tool: 'bazel',
    toolVersion: '7.4.1',
    source: 'grouped',
    outcome: 'unknown',
    repository: 'acme/engine',
    hits: 1204,
    misses: 18,
    steps: 1222,
    startedAt: ago(26),
  }),
  rowOf('r-4', { outcome: 'running', branch: NASTY, repository: NASTY, identity: NASTY, startedAt: ago(1) }),
  rowOf('r-5', { outcome: 'interrupted', startedAt: ago(60 * 30), hits: 2, misses: 0 }),
];

const EVENTS: readonly TailEvent[] = [
  {
    at: ago(0),
    tool: 'ccache',
    what: 'hit',
    namespace: 'engine',
    identity: 'ci-main',
    key: 'a41f0022deadbeef',
  },
  {
    at: ago(0),
    tool: 'assay',
    what: 'miss',
    namespace: 'acme/web/main',
    identity: 'ci-main',
    key: KEY,
    run: 'r-1',
  },
  { at: ago(1), tool: 'turbo', what: 'stored', namespace: '', identity: 'laptop-ana', key: NASTY },
  { at: ago(2), tool: NASTY, what: 'denied', namespace: NASTY, identity: NASTY, key: '9d2f' },
];

/** A day of minutes: quiet at night, busy from 7 to 19 o'clock. */
function figures(): Figures {
  const points = Array.from({ length: 24 * 60 }, (_, index) => {
    const at = AT - (24 * 60 - index) * 60_000;
    const hour = new Date(at).getUTCHours() + new Date(at).getUTCMinutes() / 60;
    const busy = Math.max(0, Math.sin(((hour - 6) / 13) * Math.PI)) * 28 + 1;
    const hits = Math.round(busy * (0.82 + 0.12 * Math.sin(index / 90)));
    const misses = Math.round(busy * 0.13 + (index % 97 === 0 ? 6 : 0));
    return { ...TOTALS, at: new Date(at).toISOString(), hits, misses, medianMs: 2, p99Ms: 31 };
  });
  return { stepMs: 60_000, points };
}

export const NOW: Now = {
  at: new Date(AT).toISOString(),
  version: '0.2.0',
  health: { status: 'warning', sentence: 'All requests are answered, and one thing needs your attention.' },
  isWhole: true,
  today: TOTALS,
  weekBefore: { ...TOTALS, hitRate: 0.81, savedMs: 11.2 * 3_600_000, requests: 88_000 },
  warnings: [
    {
      text: 'What is removed to make room was used 14 hours ago.',
      whatToDo: 'The store is too small for a day of builds: give it more with --max-size.',
    },
  ],
  tail: { events: EVENTS, position: '42' },
  figures: figures(),
  newestRuns: ROWS.slice(0, 3),
};

export const NEW_SERVER: Now = {
  ...NOW,
  health: { status: 'good', sentence: 'All is well.' },
  today: {
    hits: 0,
    misses: 0,
    savedMs: 0,
    runs: 0,
    bytesReceived: 0,
    bytesSent: 0,
    requests: 0,
    errors: 0,
  },
  warnings: [],
  tail: { events: [], position: '0' },
  figures: { stepMs: 60_000, points: [] },
  newestRuns: [],
};

export const RUNS: Runs = {
  runs: ROWS,
  next: 'p2',
  choices: {
    repositories: ['acme/web', 'acme/engine', NASTY],
    branches: ['main', 'fix/login'],
    tools: ['assay', 'bazel'],
    namespaces: ['acme/web/main', 'acme/engine'],
  },
};

function stepOf(step: string, more: Partial<RunStep>): RunStep {
  return {
    step,
    outcome: 'hit-remote',
    why: 'found at this server, made 2 hours ago by ci-main',
    key: KEY,
    isStored: true,
    exitCode: 0,
    startMs: 0,
    elapsedMs: 300,
    commandMs: 12_000,
    waitedMs: 0,
    needs: [],
    isCritical: false,
    status: 'declared',
    facts: { files: 12, absent: 40, listings: 1, libraries: 6, machine: 0 },
    findings: [],
    moreFindings: 0,
    bytesUp: 0,
    bytesDown: 810_000,
    diverged: false,
    variables: [],
    ...more,
  };
}

export const RUN: Run = {
  ...rowOf('r-1', {}),
  jobs: 4,
  exitCode: 0,
  warnings: ['The upload of one result was refused: the token may not write.'],
  failures: [
    {
      step: 'test',
      exitCode: 1,
      why: 'exit code 1',
      log: {
        bytes: 400,
        text: `> web@1.0.0 test\n\n\x1b[31mFAIL\x1b[0m  test/cart.test.ts > adds <b>two</b> items\r\n  expected 3 to be 2\n${NASTY}\n\n 1 failed, 212 passed (47.8 s)\n`,
        isCut: false,
      },
    },
    { step: NASTY, exitCode: 137, why: 'the command failed', isHidden: true },
  ],
  criticalPath: ['generate', 'build', 'test'],
  previous: { id: 'r-5', elapsedMs: 51_000 },
  lookups: [],
  stepList: [
    stepOf('generate', { isCritical: true, elapsedMs: 4200, outcome: 'miss', why: 'schema.proto changed' }),
    stepOf('lint', {
      ...{ startMs: 300, elapsedMs: 220, outcome: 'miss', why: 'src/a.ts changed' },
      tries: { exitCodes: [3, 0], verdict: 'flaky' },
    }),
    stepOf('build', {
      startMs: 4200,
      elapsedMs: 31_400,
      isCritical: true,
      outcome: 'miss',
      why: 'the variable BUILD_ID differs: it is another in every run',
      needs: ['generate'],
      status: 'observed',
      variables: ['BUILD_ID', 'NODE_ENV'],
      findings: [{ kind: 'read', path: '/etc/hostname', detail: 'read by webpack, not declared' }],
      moreFindings: 3,
    }),
    stepOf('docs', { startMs: 4300, elapsedMs: 900, waitedMs: 600, key: OTHER_KEY, isStored: false }),
    stepOf('test', {
      startMs: 35_600,
      elapsedMs: 47_800,
      isCritical: true,
      outcome: 'failed',
      exitCode: 1,
      why: 'exit code 1',
      needs: ['build'],
      waitedMs: 2000,
    }),
    stepOf(NASTY, { startMs: 36_000, elapsedMs: 100, why: NASTY, variables: [NASTY], diverged: true }),
    stepOf('deploy', { startMs: 83_400, elapsedMs: 0, outcome: 'skipped', why: 'test failed' }),
  ],
};

export const GROUPED_RUN: Run = {
  ...rowOf('r-3', { tool: 'bazel', source: 'grouped', outcome: 'unknown', branch: 'main' }),
  warnings: [],
  criticalPath: [],
  failures: [],
  stepList: [],
  lookups: EVENTS,
};

export const ACTION: Action = {
  key: KEY,
  namespace: 'acme/web/main',
  command: ['sh', '-c', 'tsc -p . && node scripts/bundle.js --out dist', NASTY],
  workingDirectory: 'packages/web',
  variables: ['NODE_ENV', 'BUILD_ID'],
  platform: [{ name: 'os', value: 'linux' }],
  tools: [{ name: 'node', value: '26.10.0 (sha256 9d2f41c0)' }],
  inputs: [
    ...Array.from({ length: 8 }, (_, index) => ({
      path: `src/pages/page-${index}.ts`,
      size: 2000 * index,
      hash: KEY,
    })),
    { path: 'src/main.ts', size: 8123, hash: KEY },
    { path: 'package.json', size: 911, hash: KEY },
    { path: `src/${NASTY}`, size: 5, hash: KEY },
    { path: 'current', target: 'src/main.ts' },
  ],
  moreInputs: 3,
  declaredOutputs: ['dist'],
  result: {
    exitCode: 0,
    commandMs: 31_400,
    outputs: [
      { path: 'dist/main.js', size: 910_221, hash: OTHER_KEY },
      { path: 'dist/main.js.map', size: 2_310_221, hash: KEY },
    ],
    moreOutputs: 0,
    stdout: { bytes: 200, text: `built 312 modules\n\tin 31.4 s\n${NASTY}\n`, isCut: false },
    stderr: { bytes: 0, isCut: false },
    status: 'observed',
    facts: [
      { what: '/usr/bin/node', state: 'sha256 9d2f41c0', why: 'executed' },
      { what: NASTY, state: 'absent', why: 'looked for by node' },
    ],
    findings: [{ kind: 'read', path: '/etc/hostname', detail: 'read by webpack, not declared' }],
    receipt: {
      at: ago(130),
      where: 'ci-runner-7',
      commit: '9f2c41d07be1a5d3c0ffee00b4b3d1e5a7c90f12',
      assay: '0.2.0',
    },
    divergence: {
      key: KEY,
      namespace: 'acme/web/main',
      first: { name: 'ci-main', protocol: 'ac', at: ago(130) },
      second: { name: NASTY, protocol: 'ac', at: ago(30) },
      text: `dist/${NASTY} differs from byte 12 on (900 and 12 bytes)`,
      path: `dist/${NASTY}`,
      byte: 12,
      bytes: { first: '3c696d67207372633d78206f6e6572', second: '' },
      isStored: true,
      whatToDo: 'Run `assay reproduce` on the step.',
    },
    writer: { name: 'ci-main', protocol: 'ac', at: ago(130) },
  },
  runs: [{ run: 'r-1', step: 'build', at: ago(4), outcome: 'miss' }],
  others: [{ key: OTHER_KEY, at: ago(60 * 24), step: 'build' }],
};

export const DIFFERENCE: ActionDifference = {
  from: KEY,
  to: OTHER_KEY,
  differences: [
    { text: 'the variable BUILD_ID differs', cause: { kind: 'variable', name: 'BUILD_ID' } },
    { text: `src/${NASTY} changed`, cause: { kind: 'input', name: NASTY } },
  ],
};

export const MISSES: Misses = {
  from: ago(7 * 24 * 60),
  to: ago(0),
  readAt: ago(0),
  runs: 1480,
  misses: 3911,
  lostMs: 61.3 * 3_600_000,
  moreCauses: 12,
  causes: [
    {
      cause: { kind: 'variable', name: 'BUILD_ID' },
      text: 'The variable BUILD_ID differs',
      count: 1466,
      lostMs: 34 * 3_600_000,
      share: 34 / 61.3,
      steps: [
        { step: 'build', repository: 'acme/web', count: 1100, lostMs: 30 * 3_600_000 },
        { step: 'bundle', repository: 'acme/admin', count: 366, lostMs: 4 * 3_600_000 },
      ],
      whatToDo: 'Leave BUILD_ID out of the step’s "env", and stamp the build in a step after it.',
      example: { run: 'r-1', step: 'build', at: ago(4) },
    },
    {
      cause: { kind: 'input', name: 'VERSION.txt' },
      text: 'VERSION.txt changed',
      count: 212,
      lostMs: 9.4 * 3_600_000,
      share: 9.4 / 61.3,
      steps: [{ step: 'test', repository: 'acme/web', count: 212, lostMs: 9.4 * 3_600_000 }],
      whatToDo: 'Only the step that prints the version needs it: exclude it from the inputs of test.',
      example: { run: 'r-2', step: 'test', at: ago(11) },
    },
    {
      cause: { kind: 'input', name: NASTY },
      text: `${NASTY} changed`,
      count: 4,
      lostMs: 400_000,
      share: 0.0018,
      steps: [{ step: NASTY, repository: NASTY, count: 4, lostMs: 400_000 }],
      whatToDo: 'Nothing: it is a source file.',
      example: { run: 'r-4', step: NASTY, at: ago(3000) },
    },
  ],
};

function totals(hits: number, misses: number, failed = 0): StepTotals {
  const all = hits + misses + failed;
  const rate = all === 0 ? {} : { hitRate: hits / all };
  return { hits, misses, failed, ...rate, savedMs: hits * 41_000, ranMs: (misses + failed) * 47_000 };
}

const RUN_TOTALS = { runs: 41, elapsedMs: 3_100_000, bytesUp: 22e6, bytesDown: 910e6, lastRunAt: ago(4) };
const timed = (commit: string, minutes: number, commandMs: number) => ({
  ...{ commit: commit.repeat(5), run: 'r-1', at: ago(minutes), commandMs },
});

export const TRENDS: Trends = {
  from: '2026-08-31T00:00:00.000Z',
  to: ago(0),
  readAt: ago(0),
  weeks: Array.from({ length: 12 }, (_, at) => ({
    from: new Date(Date.parse('2026-08-31T00:00:00Z') + at * 7 * 24 * 3_600_000).toISOString(),
    runs: at < 2 ? 0 : 180 + 12 * at,
    ...totals(at < 2 ? 0 : 2000 + 190 * at, at < 2 ? 0 : 1500 - 90 * at, at < 2 ? 0 : 31),
    main: totals(at < 2 ? 0 : 900 + 60 * at, at < 2 ? 0 : 300 - 20 * at),
    pullRequests: totals(at < 4 ? 0 : 800 + 90 * at, at < 4 ? 0 : 900 - 50 * at, 20),
    others: totals(at < 2 ? 0 : 300 + 40 * at, at < 2 ? 0 : 300 - 20 * at, 11),
  })),
  steps: [
    { step: 'test', repository: 'acme/web', ...totals(812, 410, 31), medianMs: 47_800, p95Ms: 91_000 },
    {
      step: 'packages/web#bundle',
      repository: 'acme/web',
      ...totals(1100, 90),
      medianMs: 31_400,
      p95Ms: 33_900,
    },
    { step: NASTY, repository: NASTY, ...totals(0, 3), medianMs: 12, p95Ms: 950 },
    { step: '(other)', ...totals(41, 0) },
  ],
  moreSteps: 210,
  branches: [
    { branch: 'main', repository: 'acme/web', ...totals(4210, 310, 4), ...RUN_TOTALS },
    { branch: NASTY, repository: NASTY, ...totals(2, 20, 3), ...RUN_TOTALS, runs: 1, lastRunAt: ago(9000) },
    { ...totals(12, 1), ...RUN_TOTALS, runs: 2, lastRunAt: ago(12_000) },
  ],
  moreBranches: 3,
  pullRequests: [
    {
      place: 'acme/web/pr/…',
      repository: 'acme/web',
      count: 212,
      ...totals(9120, 2110, 44),
      ...RUN_TOTALS,
      newest: [
        { namespace: 'acme/web/pr/4711', branch: 'fix/login', ...totals(44, 11), ...RUN_TOTALS, runs: 3 },
        { namespace: 'acme/web/pr/4710', branch: NASTY, ...totals(0, 30, 2), ...RUN_TOTALS, runs: 1 },
      ],
    },
  ],
  slower: [
    {
      ...{ step: 'packages/web#bundle', repository: 'acme/web', namespace: 'acme/web/main', branch: 'main' },
      ...{ first: timed('9f2c41d0', 1500, 47_000), last: timed('4ac1e0b7', 1600, 31_000) },
      ...{ beforeMs: 31_400, afterMs: 47_200, runsBefore: 18, runsAfter: 7 },
    },
    {
      ...{ step: NASTY, repository: NASTY, namespace: NASTY, branch: 'main' },
      ...{ first: timed(NASTY, 1500, 900), last: timed(NASTY, 1600, 310) },
      ...{ beforeMs: 314, afterMs: 920, runsBefore: 18, runsAfter: 1 },
    },
  ],
  flaky: [
    {
      ...{ step: 'test', repository: 'acme/web', namespace: 'acme/web/pr/…', times: 14, key: KEY },
      failed: { run: 'r-2', at: ago(40), exitCode: 1 },
      passed: { run: 'r-1', at: ago(31) },
    },
    {
      ...{ step: NASTY, repository: NASTY, namespace: '', times: 1, key: OTHER_KEY },
      failed: { run: 'r-2', at: ago(400), exitCode: 137 },
      passed: { run: 'r-1', at: ago(3100) },
    },
  ],
  choices: { repositories: ['acme/web', NASTY], branches: ['main', NASTY] },
};

export const STEP_TRENDS: Trends = {
  ...TRENDS,
  weeks: TRENDS.weeks.map((week) => ({ ...week, medianMs: 31_400, p95Ms: 47_200 })),
  times: Array.from({ length: 9 }, (_, at) =>
    timed(`${at}f2c41d0`, 1600 + 90 * at, at < 4 ? 47_000 - 300 * at : 31_000 + 200 * at),
  ),
};

export const HERMETICITY: Hermeticity = {
  from: ago(7 * 24 * 60),
  to: ago(0),
  stepsReadAt: ago(0),
  counts: { declared: 131, observed: 44, unproven: 3, unwatched: 6 },
  moreSteps: 180,
  steps: [
    {
      step: 'deploy-preview',
      repository: 'acme/web',
      namespace: 'acme/web/main',
      status: 'unproven',
      at: ago(30),
      run: 'r-1',
      findings: 4,
    },
    {
      step: NASTY,
      repository: NASTY,
      namespace: NASTY,
      status: 'unwatched',
      at: ago(90),
      run: 'r-4',
      findings: 0,
    },
    {
      step: 'build',
      repository: 'acme/web',
      namespace: 'acme/web/main',
      status: 'observed',
      at: ago(4),
      run: 'r-1',
      findings: 1,
    },
    {
      step: 'lint',
      repository: 'acme/web',
      namespace: 'acme/web/main',
      status: 'declared',
      at: ago(4),
      run: 'r-1',
      findings: 0,
    },
  ],
  findings: [
    {
      kind: 'network',
      path: 'registry.example:443',
      detail: 'npm connected to it',
      step: 'deploy-preview',
      repository: 'acme/web',
      at: ago(30),
      run: 'r-1',
    },
    {
      kind: 'read',
      path: '/etc/hostname',
      detail: 'read by webpack',
      step: 'build',
      repository: 'acme/web',
      at: ago(4),
      run: 'r-1',
      lineToWrite: '"inputs": ["src/**", "/etc/hostname"]',
    },
    { kind: 'read', path: NASTY, detail: NASTY, step: NASTY, at: ago(90), run: 'r-4', lineToWrite: NASTY },
  ],
  divergences: [
    {
      key: KEY,
      namespace: 'acme/web/main',
      first: { name: 'ci-main', protocol: 'ac', at: ago(500) },
      second: { name: 'laptop-ana', protocol: 'ac', at: ago(30) },
      text: 'dist/main.js differs: it contains the time of the build',
      path: 'dist/main.js',
      byte: 4211,
      bytes: { first: '31373a30323a3131', second: '30393a35353a3430' },
      isStored: true,
      whatToDo: 'Set SOURCE_DATE_EPOCH in the step’s "env".',
    },
    {
      key: OTHER_KEY,
      namespace: '',
      text: `${NASTY} differs`,
      whatToDo: 'Run assay reproduce.',
      isStored: false,
    },
  ],
  moreDivergences: true,
  divergencesReadAt: ago(3),
};

export const STORAGE: Storage = {
  store: {
    usedBytes: 163.2e9,
    limitBytes: 200e9,
    evictedBytes: 2.2e9,
    evictedUnusedMs: 12.5 * 86_400_000,
  },
  countedAt: ago(12),
  accounts: [
    { name: 'acme/main', bytes: 40e9, floorBytes: 60e9 },
    { name: 'pull requests', bytes: 21e9, quotaBytes: 50e9 },
  ],
  teams: [
    { name: 'acme', results: 812_331, bytes: 120e9 },
    { name: 'engine', results: 91_022, bytes: 40e9 },
    { name: NASTY, results: 1, bytes: 12 },
  ],
  tools: [
    { name: 'bazel', results: 700_000, bytes: 90e9 },
    { name: 'ccache', results: 90_000, bytes: 60e9 },
    { name: 'turbo', results: 31_000, bytes: 13e9 },
  ],
  namespaces: [
    { namespace: 'acme/web/main', results: 512_331, writers: ['ci-main'], lastWriteAt: ago(1) },
    { namespace: 'acme/web/pr/4711', results: 231, writers: ['ci-pull', NASTY], lastWriteAt: ago(300) },
    { namespace: '', results: 12, writers: [] },
  ],
  deniedWrites: [
    { at: ago(2), identity: NASTY, tool: 'turbo', why: 'this needs the right results:write' },
    { at: ago(40), identity: 'laptop-ana', tool: 'ccache', why: 'this needs the right results:write' },
  ],
  tokens: [
    {
      name: 'ci-main',
      namespace: 'acme/web',
      rights: ['results:read', 'results:write'],
      expiresAt: ago(-60 * 24 * 5),
      expiresSoon: true,
    },
    {
      name: 'laptop-ana',
      namespace: 'acme',
      rights: ['results:read', 'blobs:read', 'stats'],
      expiresSoon: false,
    },
  ],
  nodes: [
    { name: 'cache-1', lastSeenAt: ago(0), isThisOne: true },
    { name: 'cache-2', lastSeenAt: ago(0.2), isThisOne: false },
  ],
};

export const EMPTY_STORAGE: Storage = {
  store: { usedBytes: 0, limitBytes: 200e9, evictedBytes: 0 },
  accounts: [],
  teams: [],
  tools: [],
  namespaces: [],
  deniedWrites: [],
  tokens: [],
  nodes: [],
};

export const SETUP: Setup = {
  address: 'http://cache.example:8980',
  needsToken: true,
  tools: TOOLS.flatMap(({ name, setup }) => (setup ? [{ name, ...setup }] : [])).map((tool, index) => ({
    name: tool.name,
    snippet: tool.snippet({ host: 'cache.example:8980', isTls: false, needsToken: true }),
    lookupsToday: index === 7 ? 1204 : 0,
    ...(index === 7 && { lastRequestAt: ago(3) }),
  })),
};
