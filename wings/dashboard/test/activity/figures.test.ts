// Figures by minute and hour: they add up over processes, survive a restart, and lose nothing at a rollover.
import { expect, test } from 'vitest';
import { DEFAULT_NAMESPACE, parseNamespace } from '../../../../core/namespace.ts';
import { MINUTE } from '../../../../core/units.ts';
import { HISTORY_DOCUMENTS } from '../../../../server/limits.ts';
import { bucketOf, emptyLatency, LATENCY_BOUNDS, quantile } from '../../../../server/request/latency.ts';
import type { History } from '../../../../store/history.ts';
import { memoryHistory } from '../../../../test/rig/stores/memory/history.ts';
import { ActivityFigures, HOUR, TEN_MINUTES } from '../../activity/figures.ts';
import { DASHBOARD } from '../../limits.ts';

const WEB = parseNamespace('web');
const APP = parseNamespace('app');
const START = Date.parse('2026-11-17T10:58:30.000Z');

function clocked(process: string, at = START) {
  const clock = { now: at };
  return { clock, figures: new ActivityFigures(process, () => clock.now) };
}

const hits = (counters: readonly { readonly hits: number }[]) => counters.map((one) => one.hits);
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

test('counts of three minutes over the end of an hour are found by minute and by hour, stored or not', async () => {
  const history = memoryHistory();
  const { clock, figures } = clocked('a');
  for (let second = 0; second < 180; second++) {
    figures.of(WEB).lookedUp('bazel', true);
    clock.now += 1000;
    if (second % 7 === 0) await figures.flush(history);
    const span = { from: START - MINUTE, to: clock.now, stepMs: MINUTE };
    expect(sum(hits(await figures.read(history, undefined, span)))).toBe(second + 1);
  }
  const minutes = { from: START, to: clock.now, stepMs: MINUTE };
  expect(hits(await figures.read(history, [WEB], minutes))).toEqual([30, 60, 60, 30]);
  const tens = { from: START, to: clock.now, stepMs: TEN_MINUTES };
  expect(hits(await figures.read(history, undefined, tens))).toEqual([90, 90]);
  const hours = { from: START - 48 * HOUR, to: clock.now, stepMs: HOUR };
  expect(hits(await figures.read(history, undefined, hours)).slice(-2)).toEqual([90, 90]);
  await figures.flush(history, true);
  const { figures: restarted } = clocked('b', clock.now);
  expect(hits(await restarted.read(history, undefined, minutes))).toEqual([30, 60, 60, 30]);
  expect(hits(await restarted.read(history, undefined, tens))).toEqual([90, 90]);
  expect(hits(await restarted.read(history, undefined, hours)).slice(-2)).toEqual([90, 90]);
});

test('every count is in one document of each width, at all times, whatever was flushed', async () => {
  const history = memoryHistory();
  const { clock, figures } = clocked('a');
  for (let count = 1; count <= 150; count++) {
    figures.of(WEB).lookedUp('nx', true);
    clock.now += 47_000;
    if (count % 5 === 0) await figures.flush(history);
    for (const stepMs of [TEN_MINUTES, HOUR]) {
      const span = { from: START - HOUR, to: clock.now, stepMs };
      expect([count, stepMs, sum(hits(await figures.read(history, undefined, span)))]).toEqual([
        count,
        stepMs,
        count,
      ]);
    }
  }
});

test('a day is read from few documents', async () => {
  const history = memoryHistory();
  const { clock, figures } = clocked('a');
  for (; clock.now < START + 24 * HOUR; clock.now += MINUTE) {
    figures.of(WEB).requests++;
    await figures.flush(history);
  }
  let documents = 0;
  const counting: History = {
    ...history,
    async page(query) {
      const page = await history.page(query);
      documents += page.documents.length;
      return page;
    },
  };
  const { figures: other } = clocked('b', clock.now);
  const span = { from: START, to: clock.now, stepMs: TEN_MINUTES };
  const found = await other.read(counting, undefined, span);
  expect(sum(found.map(({ requests }) => requests))).toBe(24 * 60);
  expect(documents).toBeLessThan(24 * 6 + 11);
});

test('a clock that is set back loses nothing and counts nothing twice', async () => {
  const history = memoryHistory();
  const { clock, figures } = clocked('a');
  for (const minutes of [1, -3, 2, -90, 1]) {
    figures.of(WEB).lookedUp('nx', true);
    await figures.flush(history);
    clock.now += minutes * MINUTE;
  }
  await figures.flush(history, true);
  const { figures: later } = clocked('b', START + 3 * HOUR);
  for (const stepMs of [MINUTE, TEN_MINUTES, HOUR]) {
    const span = { from: START - 3 * HOUR, to: START + 3 * HOUR, stepMs };
    expect([stepMs, sum(hits(await later.read(history, undefined, span)))]).toEqual([stepMs, 5]);
  }
});

test('the same hours a week before are found by the hour, when their minutes are gone', async () => {
  const history = memoryHistory();
  const { clock, figures } = clocked('a');
  figures.of(WEB).lookedUp('nx', true);
  await figures.flush(history, true);
  clock.now += 7 * 24 * HOUR;
  await history.removeBefore('minute', clock.now - HISTORY_DOCUMENTS.minutesKeptMs, 100);
  figures.of(WEB).lookedUp('nx', false);
  const day = (now: number) => ({ from: now - 11 * HOUR, to: now, stepMs: HOUR });
  expect(sum(hits(await figures.read(history, undefined, day(clock.now - 7 * 24 * HOUR))))).toBe(1);
  expect(sum(hits(await figures.read(history, undefined, day(clock.now))))).toBe(0);
  expect(sum((await figures.read(history, undefined, day(clock.now))).map(({ misses }) => misses))).toBe(1);
});

test('two processes on one store add up, and namespaces are apart', async () => {
  const history = memoryHistory();
  const [one, two] = [clocked('a').figures, clocked('b').figures];
  one.of(WEB).lookedUp('nx', true);
  two.of(WEB).lookedUp('nx', false);
  two.of(APP).requests++;
  await Promise.all([one.flush(history), two.flush(history)]);
  const span = { from: START - MINUTE, to: START + MINUTE, stepMs: HOUR };
  const read = async (namespaces: readonly (typeof WEB)[] | undefined) => {
    const [all] = await one.read(history, namespaces, span);
    return [all?.hits, all?.misses, all?.requests];
  };
  expect(await read(undefined)).toEqual([1, 1, 1]);
  expect(await read([WEB])).toEqual([1, 1, 0]);
  expect(await read([APP])).toEqual([0, 0, 1]);
  expect(await read([])).toEqual([0, 0, 0]);
});

test('what could not be stored is stored with the next flush', async () => {
  const history = memoryHistory();
  const { clock, figures } = clocked('a');
  figures.of(WEB).requests++;
  clock.now += MINUTE;
  figures.of(WEB).requests++;
  const failing = { ...history, put: () => Promise.reject(new Error('the disk is full')) };
  await expect(figures.flush(failing)).rejects.toThrow('full');
  await figures.flush(history);
  const { figures: other } = clocked('b', clock.now);
  const span = { from: START - MINUTE, to: clock.now + MINUTE, stepMs: HOUR };
  expect(sum((await other.read(history, undefined, span)).map(({ requests }) => requests))).toBe(2);
});

test('namespaces beyond the limit are counted together', () => {
  const { figures } = clocked('a');
  for (let n = 0; n < DASHBOARD.maxNamespaces + 50; n++) figures.of(parseNamespace(`n${n}`)).requests++;
  expect(figures.of(DEFAULT_NAMESPACE).requests).toBe(50);
});

test('a duration is in the bucket of the first bound that is not less', () => {
  for (const milliseconds of [0, 0.1, 0.25, 0.26, 0.5, 0.51, 1, 3, 8, 8.1, 100, 8192, 8193, 1e9]) {
    const expected = LATENCY_BOUNDS.findIndex((bound) => milliseconds <= bound);
    expect([milliseconds, bucketOf(milliseconds)]).toEqual([
      milliseconds,
      expected === -1 ? LATENCY_BOUNDS.length : expected,
    ]);
  }
});

test('a quantile is the bound of the bucket in which it lies', () => {
  const latency = emptyLatency();
  expect(quantile(latency, 0.5)).toBeUndefined();
  for (let n = 1; n <= 100; n++) {
    const bucket = bucketOf(n <= 90 ? 0.9 : n <= 99 ? 30 : 1000);
    latency[bucket] = (latency[bucket] ?? 0) + 1;
  }
  expect([0.5, 0.9, 0.99, 1].map((share) => quantile(latency, share))).toEqual([1, 1, 32, 1024]);
});
