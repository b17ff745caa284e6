// A step is flaky if it failed and passed with one key. A failure that something explains is none.
import { expect, test } from 'vitest';
import type { MissKind } from '../../../../core/metadata/run-report.ts';
import type { ReportedStep } from '../../../../core/metadata/run-report-schema.ts';
import { parseNamespace } from '../../../../core/namespace.ts';
import { contentOf } from '../../../../server/history/documents.ts';
import { memoryHistory } from '../../../../test/rig/stores/memory/history.ts';
import { Reports } from '../../runs/keep-report.ts';
import { FLAKY_KIND, type StoredFlaky } from '../../trends/flaky.ts';
import { reportOf, step } from '../reports.ts';

const WEB = parseNamespace('web');
const NOW = Date.parse('2026-11-17T12:00:00.000Z');
const [KEY, OTHER_KEY] = ['a'.repeat(64), 'b'.repeat(64)];

const passed = (kind: MissKind, key = KEY, more: Partial<ReportedStep> = {}) =>
  step('test', { outcome: 'miss', cause: { kind }, key, status: 'observed', ...more });
const failed = (kind: MissKind | undefined, key = KEY) =>
  step('test', { outcome: 'failed', exitCode: 7, key, ...(kind && { cause: { kind } }) });
const unkept = { notKept: 'it used the network', status: 'unproven' } as const;

/** What the history says after these runs, a minute apart. */
async function after(...steps: readonly ReportedStep[]) {
  const history = memoryHistory();
  const reports = new Reports();
  const runs: string[] = [];
  for (const [minute, one] of steps.entries()) {
    const report = reportOf([one], { startedAt: new Date(NOW + minute * 60_000).toISOString() });
    runs.push(report.id);
    await reports.keep(report, {
      history,
      sender: { namespace: WEB, identity: 'ci' },
      limit: Number.POSITIVE_INFINITY,
      accounts: [],
      readable: [WEB],
      blobs: undefined,
      now: NOW + 3_600_000,
    });
  }
  const { documents } = await history.page({ kind: FLAKY_KIND, limit: 10 });
  const found = documents.map((document) => contentOf<StoredFlaky>(document));
  const nameOf = (run = '') => runs.indexOf(run);
  return found.map((one) => ({
    times: one?.times,
    failed: nameOf(one?.newest.failed.run),
    passed: nameOf(one?.newest.passed.run),
    exitCode: one?.newest.failed.exitCode,
  }));
}

test('a failure, and a run with its key that passed', async () => {
  const pair = { failed: 0, passed: 1, exitCode: 7 };
  expect(await after(failed('input'), passed('failed-before'))).toEqual([{ times: 1, ...pair }]);
  expect(await after(failed('input'), passed('failed-before', KEY, unkept))).toEqual([{ times: 1, ...pair }]);
});

test.each<MissKind>(['forced', 'not-kept', 'not-cached'])(
  'a pass, and a failure with its key: %s',
  async (kind) => {
    const found = await after(passed('input', KEY, unkept), failed(kind));
    expect(found).toEqual([{ times: 1, passed: 0, failed: 1, exitCode: 7 }]);
  },
);

test('each change is counted, and the newest pair is kept', async () => {
  const found = await after(failed('input'), passed('failed-before', KEY, unkept), failed('not-kept'));
  expect(found).toEqual([{ times: 2, passed: 1, failed: 2, exitCode: 7 }]);
});

test('a try that failed, and a later one of the same run that passed', async () => {
  const tries = (exitCodes: readonly number[], verdict: 'flaky' | 'broken' | 'changed') => ({
    tries: { exitCodes, verdict },
  });
  const flaky = passed('input', KEY, tries([7, 7, 0], 'flaky'));
  expect(await after(flaky)).toEqual([{ times: 1, failed: 0, passed: 0, exitCode: 7 }]);
  expect(await after(flaky, passed('input', OTHER_KEY, tries([7, 0], 'flaky')))).toMatchObject([
    { times: 2 },
  ]);
  expect(await after(passed('input', KEY, tries([7, 0], 'changed')))).toEqual([]);
  expect(await after({ ...failed('input'), ...tries([7, 7], 'broken') })).toEqual([]);
});

test.each<[string, readonly ReportedStep[]]>([
  ['it failed twice', [failed('input'), failed('failed-before')]],
  ['it passed twice', [passed('input', KEY, unkept), passed('not-kept', KEY, unkept)]],
  ['another key passed', [failed('input'), passed('input', OTHER_KEY)]],
  ['an observed file differs', [failed('input'), passed('fact')]],
  ['an observed file differs, and it fails', [passed('input'), failed('fact')]],
  ['a client of before tells no cause of a failure', [passed('input'), failed(undefined)]],
  ['a hit replays', [failed('input'), step('test', { key: KEY, status: 'observed' })]],
])('not flaky: %s', async (_why, steps) => {
  expect(await after(...steps)).toEqual([]);
});
