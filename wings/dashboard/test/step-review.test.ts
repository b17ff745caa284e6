// The steps for the page Hermeticity: read for each reader while they are few, and in the background if that takes long.
import { expect, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { documentOf } from '../../../server/history/documents.ts';
import type { History, HistoryPage } from '../../../store/history.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import { StepReview } from '../overview/step-review.ts';

const WEB = parseNamespace('web');
const NOW = Date.parse('2026-11-17T10:00:00Z');

function stepDocument(name: string, status: string) {
  const step = { step: name, namespace: 'web', status, at: '', run: 'r', findings: 0, list: [] };
  return documentOf({ kind: 'step', namespace: WEB, id: name, at: NOW - 1000 }, step);
}

async function historyWith(...names: readonly string[]): Promise<History> {
  const { history } = openMemoryStore();
  if (!history) throw new Error('a store in memory keeps a history');
  await history.put(names.map((name) => stepDocument(name, 'declared')));
  return history;
}

test('what is read in time is what the history has now', async () => {
  const history = await historyWith('a', 'b');
  const review = new StepReview(history, () => NOW);
  expect(await review.read(undefined, 30)).toMatchObject({ counts: { declared: 2 }, moreSteps: 0, at: NOW });
  await history.put([stepDocument('b', 'unproven')]);
  expect((await review.read(undefined, 30))?.steps.map(({ step }) => step)).toEqual(['b', 'a']);
  expect((await review.read([parseNamespace('other')], 30))?.steps).toEqual([]);
});

test('a reader waits only a moment: it gets the answer before, and there is one reading at a time', async () => {
  const history = await historyWith('a');
  const opened = Promise.withResolvers<void>();
  let pages = 0;
  const slow: History = Object.assign(Object.create(history), {
    async page(query: Parameters<History['page']>[0]): Promise<HistoryPage> {
      pages++;
      await opened.promise;
      return history.page(query);
    },
  });
  let now = NOW;
  const review = new StepReview(slow, () => now);
  expect(await review.read(undefined, 30, 1)).toBeUndefined();
  expect(await review.read(undefined, 30, 1)).toBeUndefined();
  expect(pages).toBe(1);
  opened.resolve();
  await expect.poll(() => review.read(undefined, 30, 1)).toMatchObject({ counts: { declared: 1 } });
  /* It took longer than a reader waits, so the answer is used for a while, and then read again. */
  const first = await review.read(undefined, 30, 0);
  await history.put([stepDocument('b', 'declared')]);
  expect(await review.read(undefined, 30, 0)).toBe(first);
  now += 24 * 60 * 60 * 1000;
  await expect.poll(() => review.read(undefined, 30, 0)).toMatchObject({ counts: { declared: 2 } });
});
