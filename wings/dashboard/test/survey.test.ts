// The survey of the store: it keeps requests going, is made once for all nodes, and survives a restart.
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { digestOf } from '../../../core/digest.ts';
import { parseNamespace, protocolNamespace } from '../../../core/namespace.ts';
import type { Review, ReviewedResult, Store } from '../../../store/store.ts';
import { openMemoryStore } from '../../../test/rig/stores/memory/store.ts';
import { resultWith } from '../../../test/store/content.ts';
import { DASHBOARD } from '../limits.ts';
import { Survey } from '../overview/survey.ts';

const WEB = parseNamespace('web');
const NOW = Date.parse('2026-11-17T12:00:00.000Z');

async function storeWith(results: number): Promise<Store> {
  const store = openMemoryStore();
  for (let number = 0; number < results; number++) {
    const namespace = number % 2 === 0 ? WEB : protocolNamespace('ccache', WEB);
    const address = { namespace, key: digestOf(Buffer.from(`${number}`)).hash };
    const writer = { name: `ci-${number % 3}`, from: '', via: 'ac', at: NOW };
    await store.results.put(address, resultWith({}), { writer });
  }
  return store;
}

/** A store whose review never waits, as the one of a disk, and takes `spinMs` for each result. */
function slowlyReviewed(store: Store, results: readonly ReviewedResult[], spinMs: number) {
  let read = 0;
  const reviewed = withResults(store, async function* () {
    for (const result of results) {
      for (const end = performance.now() + spinMs; performance.now() < end; );
      read++;
      yield result;
    }
  });
  return { store: reviewed, read: () => read };
}

function withResults(store: Store, results: Review['results']): Store {
  const { review } = store;
  if (!review) throw new Error('the store has no review');
  return { ...store, review: { ...review, results } };
}

async function resultsOf(store: Store): Promise<ReviewedResult[]> {
  const results: ReviewedResult[] = [];
  for await (const result of store.review?.results() ?? []) results.push(result);
  return results;
}

test('other work goes on during a survey', async () => {
  const store = await storeWith(200);
  const slow = slowlyReviewed(store, await resultsOf(store), 1);
  const surveyed = new Survey(slow.store, () => NOW).read(60_000);
  let turns = 0;
  while (slow.read() < 200) {
    await setImmediate();
    turns++;
  }
  expect(turns).toBeGreaterThan(5);
  expect((await surveyed)?.namespaces).toMatchObject([
    [
      'web',
      {
        results: 200,
        tools: [
          ['actions (Assay, Bazel and others)', { results: 100 }],
          ['ccache', { results: 100 }],
        ],
      },
    ],
  ]);
});

test('one survey serves all nodes of a store, and a node that has just started', async () => {
  const store = await storeWith(3);
  const first = await new Survey(store, () => NOW).read(60_000);
  expect(first).toMatchObject({ at: NOW, namespaces: [['web', { results: 3, lastWriteAt: NOW }]] });
  const unread: Store = { ...store, review: undefined };
  const clock = { now: NOW + DASHBOARD.countedMs - 1 };
  const other = new Survey(unread, () => clock.now);
  expect(await other.read(0)).toEqual(first);
  /* Later it gets the old counts at once, and looks for newer ones. */
  clock.now += 10;
  expect(await other.read(0)).toEqual(first);
  const again = new Survey(store, () => clock.now);
  expect(await again.read(0)).toEqual(first);
  while ((await again.read(0))?.at === NOW) await setImmediate();
  expect((await other.read(0))?.at).toBe(clock.now);
});

test('a reader waits only a moment for the first survey', async () => {
  const store = await storeWith(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const held = withResults(store, async function* () {
    await promise;
    yield* await resultsOf(store);
  });
  const survey = new Survey(held, () => NOW);
  expect(await survey.read(1)).toBeUndefined();
  resolve();
  expect((await survey.read(60_000))?.namespaces).toHaveLength(1);
});
