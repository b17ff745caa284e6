// Short answers fit, whatever was run and whatever commands printed.
import { expect, test } from 'vitest';
import type { HitReceipt } from '../../../client/run/receipt.ts';
import { explainAnswer, reportedAnswer } from '../../../client/short/explain-answer.ts';
import { ShortRun } from '../../../client/short/run-answer.ts';
import type { StepEnd } from '../../../client/view/events.ts';
import { RunCounter } from '../../../client/view/run-totals.ts';
import { digestOf } from '../../../core/digest.ts';
import { parseRelPath } from '../../../core/path.ts';
import { answerIn } from './answers.ts';

const { hash } = digestOf(Buffer.from('key'));
const key = hash.slice(0, 16);
const NASTY = '\u001b[31m\u0007\u202e"\\\n\t\u0000\u2028😀é'.repeat(200);

const END: Omit<StepEnd, 'step' | 'outcome'> = {
  ...{ key: hash, exitCode: 0, reason: 'src/a.ts changed', published: true, shared: false },
  ...{ outputsWritten: 0, commandMs: 5, elapsedMs: 5 },
};

const RECEIPT: HitReceipt = {
  ...{ at: '2026-11-19T10:00:00.000Z', where: NASTY, commit: 'c'.repeat(40), inputs: 3, status: 'declared' },
  ...{ facts: { files: 1, absent: 0, listings: 0, libraries: 0, machine: 0 }, compared: 'contents' },
};

function answerOf(ends: readonly StepEnd[], logs: Readonly<Record<string, string>> = {}) {
  const run = new ShortRun();
  const totals = new RunCounter();
  run.setWorkspace('/work/app');
  for (const end of ends) {
    const log = logs[end.step];
    if (log !== undefined)
      run.handle({ type: 'step-log', step: end.step, stream: 'stdout', bytes: Buffer.from(log) });
    run.handle({ type: 'step-warning', step: end.step, text: NASTY });
    run.handle({ type: 'step-finished', ...end });
    totals.handle({ type: 'step-finished', ...end });
  }
  return answerIn(run.answer(totals.summary(1, undefined)));
}

const thousand = (more: (index: number) => Omit<StepEnd, 'step'>) =>
  Array.from({ length: 1000 }, (_, index) => ({ step: `step ${index} ${NASTY}`, ...more(index) }));

test.each<[string, (index: number) => Omit<StepEnd, 'step'>]>([
  ['failures', () => ({ ...END, outcome: 'failed', exitCode: 1 })],
  ['refusals', () => ({ ...END, outcome: 'failed', exitCode: 125, reason: NASTY, wayOut: NASTY })],
  [
    'commands that ran for different reasons',
    (at) => ({ ...END, outcome: 'miss', reason: NASTY + at, notPublished: NASTY }),
  ],
  ['hits', () => ({ ...END, outcome: 'hit-local', receipt: RECEIPT })],
  ['skipped steps', () => ({ ...END, outcome: 'skipped', reason: NASTY })],
])('1,000 %s of hostile names and texts fit into less than 2 KiB', (_, more) => {
  const ends = thousand(more);
  const answer = answerOf(ends, Object.fromEntries(ends.map(({ step }) => [step, `${NASTY}\n`])));
  expect(answer).toMatchObject({ version: 1, answer: 'run', steps: 1000 });
});

test('a run that had to wait for a job slot says why it took so long', () => {
  const run = new ShortRun();
  run.handle({ type: 'run-waiting', jobs: 2 });
  expect(answerIn(run.answer(new RunCounter().summary(1, undefined)))).toMatchObject({
    warnings: ['had to wait for a job slot: other runs of this user held all 2 (--jobs)'],
  });
});

test('a failure has the first lines of its log, and how many failures are left out', () => {
  const log = `${'noise\n'.repeat(100_000)}\u001b[1ma.c:3:5: \u001b[31merror: \u001b[0mno ‘x’\n`;
  const ends = thousand((at) => ({ ...END, outcome: 'failed', exitCode: 1 + at })).map((end, at) => ({
    ...end,
    step: `s${at}`,
  }));
  const answer = answerOf(ends, { s0: log });
  expect(answer).toMatchObject({
    outcome: 'failed',
    failed: 1000,
    next: 'assay run --logs=failed s0',
  });
  expect(answer.moreFailures).toBeGreaterThan(900);
  const told = { tool: 'gcc', failures: 1, lines: ['a.c:3:5: error: no ‘x’'] };
  expect(answer.failures).toContainEqual({ step: 's0', exitCode: 1, key, reason: 'ended with 1', ...told });
});

test('the next command fits what happened', () => {
  const next = (end: Partial<StepEnd>) =>
    answerOf([{ ...END, step: 'pkg#a', outcome: 'failed', ...end }]).next;
  expect(next({ replayed: true })).toBe('assay run --force pkg#a');
  expect(next({ notHermetic: true })).toBe('assay audit pkg#a');
  expect(next({ outcome: 'miss' })).toBe('assay explain pkg#a');
  expect(next({ outcome: 'miss', notPublished: 'it used the network' })).toBe('assay audit pkg#a');
  expect(next({ outcome: 'hit-local' })).toBe('assay status');
  expect(next({ step: "it's; rm -rf", outcome: 'skipped' })).toBe("assay run 'it'\\''s; rm -rf'");
});

test('an explanation with 1,000 differences fits', () => {
  const differences = Array.from({ length: 1000 }, (_, at) => ({
    ...({ kind: 'input', change: 'changed' } as const),
    path: parseRelPath(`a/${'long'.repeat(50)}/${at}`),
  }));
  const entry = {
    ...{ at: '2026-11-19T10:00:00.000Z', workspace: '/work/app', step: hash, key: hash },
    ...{ command: [NASTY], outcome: 'miss' as const, reason: NASTY, notKept: NASTY, exitCode: 1 },
  };
  const answer = answerIn(explainAnswer({ ...entry, name: NASTY }, differences));
  expect(answer).toMatchObject({ answer: 'explain', outcome: 'miss', exitCode: 1 });
  expect(answer.moreDifferences).toBeGreaterThan(900);
  expect(answerIn(explainAnswer(entry, [])).differences).toBeUndefined();
  const step = {
    ...{ step: NASTY, outcome: 'miss' as const, why: NASTY, notKept: NASTY, exitCode: 0, startMs: 0 },
    ...{ elapsedMs: 1, commandMs: 1, waitedMs: 0, needs: [], findings: [], moreFindings: 0 },
    ...{ bytesUp: 0, bytesDown: 0, variables: [] },
  };
  const run = 'a'.repeat(32);
  const reported = answerIn(reportedAnswer(run, { startedAt: NASTY, step, differences, unlisted: 7 }));
  expect(reported).toMatchObject({ answer: 'explain', run, outcome: 'miss' });
  expect(reported.key).toBeUndefined();
  expect(Number(reported.moreDifferences) - Number(answer.moreDifferences)).toBeGreaterThan(0);
});
