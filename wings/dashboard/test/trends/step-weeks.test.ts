// What steps did, added up by week: totals are exact whatever is added up together, over processes, and within a bound.
import { expect, test } from 'vitest';
import { parseNamespace } from '../../../../core/namespace.ts';
import { contentOf } from '../../../../server/history/documents.ts';
import type { HistoryDocument } from '../../../../store/history.ts';
import { STORE } from '../../../../store/limits.ts';
import { type DurationBuckets, durationBucketOf, durationQuantile } from '../../trends/durations.ts';
import {
  OTHER,
  type RunSteps,
  runsIn,
  type StepCounts,
  type StoredWeek,
  stepsIn,
  stepWeeks,
  weekOf,
} from '../../trends/step-weeks.ts';

const WEB = parseNamespace('web');
const NOW = Date.parse('2026-11-17T12:00:00.000Z');

function runOf(branch: string, steps: readonly string[], more: Partial<RunSteps> = {}): RunSteps {
  return {
    namespace: WEB,
    at: NOW,
    repository: 'acme/app',
    branch,
    elapsedMs: 10,
    bytesUp: 1,
    bytesDown: 2,
    steps: steps.map((step) => ({ step, outcome: 'misses', savedMs: 0, commandMs: 100 })),
    ...more,
  };
}

const weekIn = (document: HistoryDocument) => contentOf<StoredWeek>(document) ?? {};
const rowsIn = (document: HistoryDocument) => [...stepsIn(weekIn(document), () => true)];
const sum = (rows: readonly StepCounts[], read: (row: StepCounts) => number) =>
  rows.reduce((total, row) => total + read(row), 0);

test('a week begins on Monday', () => {
  for (const day of ['2026-11-16T00:00:00.000Z', '2026-11-17T12:00:00.000Z', '2026-11-22T23:59:59.999Z'])
    expect(new Date(weekOf(Date.parse(day))).toISOString()).toBe('2026-11-16T00:00:00.000Z');
  expect(new Date(weekOf(0)).toISOString()).toBe('1969-12-29T00:00:00.000Z');
});

test('each branch and step has its counts, and a run that is taken back leaves none', () => {
  const weeks = stepWeeks();
  const hit = { step: 'build', outcome: 'hits', savedMs: 90, commandMs: 100 } as const;
  const failed = { step: 'build', outcome: 'failed', savedMs: 0, commandMs: 7 } as const;
  weeks.add(runOf('main', ['build']));
  const before = rowsIn(weeks.add(runOf('main', [], { steps: [hit, failed] })));
  weeks.add(runOf('main', ['build', 'lint']));
  weeks.remove(runOf('main', ['build', 'lint']));
  const after = weeks.add(runOf('fix', ['build']));
  const [main, , fix] = rowsIn(after);
  expect(main).toEqual(before[0]);
  expect(main).toMatchObject({ branch: 'main', hits: 1, misses: 1, failed: 1, savedMs: 90, ranMs: 107 });
  expect(fix).toMatchObject({ branch: 'fix', step: 'build', misses: 1 });
  expect([...runsIn(weekIn(after))].map(({ branch, runs, bytesDown }) => [branch, runs, bytesDown])).toEqual([
    ['main', 2, 4],
    ['fix', 1, 2],
  ]);
});

test('beyond the bound, the branches with the fewest steps become one, and no total changes', () => {
  const weeks = stepWeeks();
  const steps = Array.from({ length: 20 }, (_, at) => `step-${at}`);
  let newest = weeks.add(runOf('main', steps));
  for (let branch = 0; branch < 200; branch++) newest = weeks.add(runOf(`branch-${branch}`, steps));
  for (let again = 0; again < 5; again++) newest = weeks.add(runOf('branch-0', steps));
  const rows = rowsIn(newest);
  expect(rows.length).toBeLessThanOrEqual(1000);
  expect(sum(rows, ({ misses }) => misses)).toBe(206 * 20);
  expect(sum(rows, ({ durations }) => durations.get(durationBucketOf(100)) ?? 0)).toBe(206 * 20);
  const of = (branch: string) => rows.filter((row) => row.branch === branch);
  expect(of('main').map(({ misses }) => misses)).toEqual(steps.map(() => 1));
  expect(of(OTHER)).toHaveLength(20);
  /* What was made one stays one: a branch that came again has no row with a part of its counts. */
  expect(of('branch-0')).toEqual([]);
  expect([...runsIn(weekIn(newest))].reduce((total, { runs }) => total + runs, 0)).toBe(206);
});

test('a hostile week has a bound, too: more steps, branches and repositories than fit, with long names', () => {
  const weeks = stepWeeks();
  const long = (kind: string, at: number) => `${kind}-${at}-`.padEnd(490, `${at}`);
  let newest: HistoryDocument | undefined;
  for (let at = 0; at < 40; at++) {
    const steps = Array.from({ length: 100 }, (_, index) => long('step', at * 100 + index));
    const more = { repository: long('repository', at) };
    newest = weeks.add(runOf(at % 2 === 0 ? 'main' : long('branch', at), steps, more));
  }
  if (!newest) throw new Error('no week');
  expect(newest.bytes.length).toBeLessThan(STORE.historyDocumentBytes);
  expect(rowsIn(newest).length).toBeLessThanOrEqual(1000);
  expect(sum(rowsIn(newest), ({ misses }) => misses)).toBe(4000);
});

test('a quantile is right to 4 %', () => {
  const durations: DurationBuckets = new Map();
  for (let ms = 1; ms <= 10_000; ms++)
    durations.set(durationBucketOf(ms), (durations.get(durationBucketOf(ms)) ?? 0) + 1);
  for (const share of [0.5, 0.95]) {
    const found = durationQuantile(durations, share) ?? 0;
    expect(Math.abs(found / (share * 10_000) - 1)).toBeLessThan(0.04);
  }
  expect(durationQuantile(new Map(), 0.5)).toBeUndefined();
  expect(durationBucketOf(0)).toBe(0);
  expect(durationBucketOf(Number.MAX_SAFE_INTEGER)).toBe(durationBucketOf(2 ** 32));
});
