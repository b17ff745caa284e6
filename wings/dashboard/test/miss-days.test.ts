// The causes of misses, added up by day: over processes, after an explanation, after a failure, and within bounds.
import { expect, test } from 'vitest';
import type { MissCause } from '../../../core/metadata/run-report-schema.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { documentOf } from '../../../server/history/documents.ts';
import { causeText } from '../../../store/actions/miss-text.ts';
import type { History } from '../../../store/history.ts';
import { STORE } from '../../../store/limits.ts';
import { memoryHistory } from '../../../test/rig/stores/memory/history.ts';
import { Reports } from '../runs/keep-report.ts';
import { DAY_MS, MISS_DAY_KIND, MissDays, type RunMisses } from '../runs/miss-days.ts';
import { rankMisses } from '../runs/misses.ts';
import { miss, reportOf, step } from './reports.ts';

const WEB = parseNamespace('web');
const NOW = Date.parse('2026-11-17T12:00:00.000Z');
const FILE: MissCause = { kind: 'input', name: 'VERSION' };
const TOOL: MissCause = { kind: 'tool', name: 'cc' };

function runOf(run: string, ...misses: RunMisses['misses']): RunMisses {
  return { run, namespace: WEB, at: NOW, misses };
}

const one = (cause: MissCause, commandMs: number, name = 'build') => ({
  step: name,
  repository: 'acme/app',
  cause,
  commandMs,
});

async function ranked(history: History, days = 1) {
  const { runs, misses, lostMs, causes, moreCauses } = await rankMisses(history, [WEB], {
    from: NOW - days * DAY_MS,
    to: NOW + 1,
  });
  return {
    runs,
    misses,
    lostMs,
    moreCauses,
    causes: causes.map(({ text, count, lostMs: lost }) => [text, count, lost]),
  };
}

test('the documents of two processes add up, and a process has one for each day', async () => {
  const history = memoryHistory();
  const [first, second] = [new MissDays(), new MissDays()];
  await history.put([first.add(runOf('a', one(FILE, 100), one(TOOL, 5)))]);
  await history.put([second.add(runOf('b', one(FILE, 20, 'test')))]);
  await history.put([first.add(runOf('c'))]);
  await history.put([first.add({ ...runOf('d', one(TOOL, 1)), at: NOW - 3 * DAY_MS })]);
  expect(await ranked(history)).toEqual({
    runs: 3,
    misses: 3,
    lostMs: 125,
    moreCauses: 0,
    causes: [
      [causeText({ kind: 'input', name: 'VERSION' }), 2, 120],
      [causeText({ kind: 'tool', name: 'cc' }), 1, 5],
    ],
  });
  expect((await ranked(history, 3)).lostMs).toBe(126);
  expect((await history.page({ kind: MISS_DAY_KIND, limit: 10 })).documents).toHaveLength(3);
});

test('the steps of a cause add up over days and processes, the costliest first, with its newest run', async () => {
  const history = memoryHistory();
  const [first, second] = [new MissDays(), new MissDays()];
  await history.put([first.add(runOf('new', one(FILE, 30, 'test'), one(FILE, 50, 'build')))]);
  await history.put([second.add({ ...runOf('old', one(FILE, 40, 'test')), at: NOW - DAY_MS })]);
  const { causes } = await rankMisses(history, [WEB], { from: NOW - DAY_MS, to: NOW + 1 });
  expect(causes).toMatchObject([
    {
      cause: FILE,
      count: 3,
      lostMs: 120,
      share: 1,
      steps: [
        { step: 'test', repository: 'acme/app', count: 2, lostMs: 70 },
        { step: 'build', repository: 'acme/app', count: 1, lostMs: 50 },
      ],
      example: { run: 'new', at: new Date(NOW).toISOString() },
    },
  ]);
});

test('causes with the same loss are ranked by their count, and those without a place are counted', async () => {
  const history = memoryHistory();
  const days = new MissDays();
  const names = Array.from({ length: 60 }, (_, number) => `file-${number}`);
  const misses = names.map((name) => one({ kind: 'input', name }, 10));
  const twice = [one(TOOL, 5), one(TOOL, 5)];
  await history.put([days.add(runOf('a', ...misses, ...twice))]);
  const { causes, moreCauses } = await ranked(history);
  expect(causes[0]).toEqual([causeText({ kind: 'tool', name: 'cc' }), 2, 10]);
  expect(causes).toHaveLength(50);
  expect(moreCauses).toBe(11);
});

test('a document of another form is left out', async () => {
  const history = memoryHistory();
  await history.put([new MissDays().add(runOf('a', one(FILE, 30)))]);
  const name = { kind: MISS_DAY_KIND, namespace: WEB, id: 'f'.repeat(16), at: NOW - DAY_MS / 2 };
  await history.put([documentOf(name, { runs: 7, misses: 7, lostMs: 7, causes: [], droppedCauses: 0 })]);
  expect(await ranked(history)).toMatchObject({ runs: 1, misses: 1, lostMs: 30 });
});

test('an explained miss moves to its cause', async () => {
  const history = memoryHistory();
  const days = new MissDays();
  const [before, after] = [runOf('a', one({ kind: 'first-run' }, 70)), runOf('a', one(FILE, 70))];
  days.add(before);
  await history.put([days.explain(before, after)]);
  expect(await ranked(history)).toMatchObject({
    runs: 1,
    misses: 1,
    lostMs: 70,
    causes: [[causeText({ kind: 'input', name: 'VERSION' }), 1, 70]],
  });
});

test('a report that could not be stored is in no sum', async () => {
  const history = memoryHistory();
  let isFull = true;
  const put: History['put'] = async (documents) => {
    if (isFull) throw new Error('the disk is full');
    await history.put(documents);
  };
  const reports = new Reports();
  const context = {
    history: { ...history, put },
    sender: { namespace: WEB, identity: 'ci' },
    limit: Number.POSITIVE_INFINITY,
    accounts: [],
    readable: undefined,
    blobs: undefined,
    now: NOW,
  };
  const at = { startedAt: new Date(NOW - 1000).toISOString() };
  await expect(reports.keep(reportOf([miss('a', FILE, 900)], at), context)).rejects.toThrow('full');
  isFull = false;
  await reports.keep(reportOf([miss('a', FILE, 5), step('b')], at), context);
  expect(await ranked(history)).toMatchObject({
    runs: 1,
    lostMs: 5,
    causes: [[causeText({ kind: 'input', name: 'VERSION' }), 1, 5]],
  });
});

test('reports at once, on a store that stores later ones first, are all in the sums', async () => {
  const history = memoryHistory();
  const waiting: (() => void)[] = [];
  const put: History['put'] = async (documents) => {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      setTimeout(() => waiting.pop()?.(), 1);
    });
    await history.put(documents);
  };
  const reports = new Reports();
  const context = {
    history: { ...history, put },
    sender: { namespace: WEB, identity: 'ci' },
    limit: Number.POSITIVE_INFINITY,
    accounts: [],
    readable: undefined,
    blobs: undefined,
    now: NOW,
  };
  const at = { startedAt: new Date(NOW - 1000).toISOString() };
  await Promise.all(
    Array.from({ length: 20 }, () => reports.keep(reportOf([miss('a', FILE, 5)], at), context)),
  );
  expect(await ranked(history)).toMatchObject({ runs: 20, lostMs: 100 });
});

test('a day has a bound: the causes that cost least are dropped, and the totals stay exact', async () => {
  const history = memoryHistory();
  const days = new MissDays();
  const name = (number: number) => `${number}-`.padEnd(490, `${number}`);
  const misses = Array.from({ length: 2000 }, (_, number) =>
    one({ kind: 'input', name: name(number) }, number),
  );
  for (let from = 0; from < misses.length; from += 100)
    await history.put([days.add(runOf(`run-${from}`, ...misses.slice(from, from + 100)))]);
  const [document] = (await history.page({ kind: MISS_DAY_KIND, limit: 1 })).documents;
  expect(document?.bytes.length).toBeLessThan(STORE.historyDocumentBytes);
  const found = await ranked(history);
  expect(found).toMatchObject({ runs: 20, misses: 2000, lostMs: (1999 * 2000) / 2 });
  expect(found.causes.length + found.moreCauses).toBe(2000);
  expect(found.causes[0]).toEqual([`${name(1999)} changed`, 1, 1999]);
});
