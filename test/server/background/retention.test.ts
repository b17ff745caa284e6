// Old documents of the history are removed: after 90 days, minutes after a day, and sooner if the history is too large.
import { expect, test } from 'vitest';
import { DEFAULT_NAMESPACE } from '../../../core/namespace.ts';
import { KEPT_MS, removeOld } from '../../../server/background/retention.ts';
import { HISTORY_DOCUMENTS } from '../../../server/limits.ts';
import { memoryHistory } from '../../rig/stores/memory/history.ts';

const DAY = 24 * 60 * 60 * 1000;
const NOW = Date.parse('2026-11-17T12:00:00.000Z');
const never = new AbortController().signal;

function document(kind: string, at: number, size = 1) {
  return { kind, namespace: DEFAULT_NAMESPACE, id: `${kind}-${at}`, at, bytes: Buffer.alloc(size) };
}

test('each kind is kept for its time, and not a day longer', async () => {
  const history = memoryHistory();
  for (const [kind, keptMs] of Object.entries(KEPT_MS))
    await history.put([
      document(kind, NOW - keptMs + 1),
      document(kind, NOW - keptMs - 1),
      document(kind, NOW - 1000 * DAY),
    ]);
  await removeOld({ history, limit: () => Number.POSITIVE_INFINITY, now: () => NOW }, never);
  for (const [kind, keptMs] of Object.entries(KEPT_MS)) {
    const { documents } = await history.page({ kind, limit: 10 });
    expect([kind, documents.map(({ at }) => NOW - at)]).toEqual([kind, [keptMs - 1]]);
  }
  expect(KEPT_MS.run).toBe(90 * DAY);
});

test('a store with more old documents than one batch loses all of them', async () => {
  const history = memoryHistory();
  await history.put(Array.from({ length: 1000 }, (_, number) => document('run', NOW - 91 * DAY - number)));
  await history.put([document('run', NOW)]);
  await removeOld({ history, limit: () => Number.POSITIVE_INFINITY, now: () => NOW }, never);
  expect((await history.page({ kind: 'run', limit: 2000 })).documents).toHaveLength(1);
});

test('a history beyond its share of the store loses its oldest details, and keeps the newest hour', async () => {
  const history = memoryHistory();
  const size = 1000;
  const details = (days: number) => document('run-details', NOW - days * DAY - 1, size);
  await history.put(Array.from({ length: 80 }, (_, days) => details(days)));
  await history.put([document('hour', NOW - 80 * DAY, size)]);
  const limit = (20 * size) / HISTORY_DOCUMENTS.share;
  await removeOld({ history, limit: () => limit, now: () => NOW }, never);
  const { documents } = await history.page({ kind: 'run-details', limit: 100 });
  expect(documents.map(({ at }) => Math.floor((NOW - at) / DAY))).toEqual(
    Array.from({ length: 19 }, (_, days) => days),
  );
  expect((await history.page({ kind: 'hour', limit: 10 })).documents).toHaveLength(1);
  await history.put(['run', 'step', 'flaky'].map((kind) => document(kind, NOW - 2 * 60 * 60 * 1000)));
  await removeOld({ history, limit: () => 0, now: () => NOW }, never);
  expect((await history.page({ kind: 'run-details', limit: 100 })).documents).toHaveLength(1);
  for (const kind of ['run', 'step', 'flaky'])
    expect((await history.page({ kind, limit: 100 })).documents, kind).toEqual([]);
});
