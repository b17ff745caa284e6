// Predicted results are counted once: as a hit when the client does not come back, else by what it asks for then.
import { expect, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { ACCOUNTING } from '../../../server/limits.ts';
import type { AskedResult } from '../../../server/request/accounting.ts';
import { PredictedResults } from '../../../server/request/predictions.ts';
import { MAIN, OTHER } from '../access/identities.ts';

const asked = (key: string, identity = MAIN): AskedResult => {
  return { identity, headers: {}, protocol: 'assay', namespace: parseNamespace('web'), key };
};

function predictions() {
  const clock = { now: 0 };
  const counted: string[] = [];
  const results = new PredictedResults(
    ({ key }) => counted.push(key),
    () => clock.now,
  );
  return { clock, counted, results };
}

test('a prediction is counted when its time is over, unless its own caller has asked again', () => {
  const { clock, counted, results } = predictions();
  for (const key of ['a', 'b', 'c']) results.add(asked(key));
  expect(results.drop(asked('b', OTHER))).toBe(false);
  expect(results.drop(asked('b'))).toBe(true);
  expect(results.drop(asked('b'))).toBe(false);
  clock.now = ACCOUNTING.predictionMs - 1;
  results.settle();
  expect(counted).toEqual([]);
  clock.now++;
  results.settle();
  expect(counted).toEqual(['a', 'c']);
  expect(results.drop(asked('a'))).toBe(false);
});

test('each of two predictions for one action is dropped for itself', () => {
  const { counted, results } = predictions();
  results.add(asked('a'));
  results.add(asked('a'));
  expect([results.drop(asked('a')), results.drop(asked('a')), results.drop(asked('a'))]).toEqual([
    true,
    true,
    false,
  ]);
  results.close();
  expect(counted).toEqual([]);
});

test('there is a bound, beyond which they are counted at once, and the end counts the rest', () => {
  const { counted, results } = predictions();
  for (let number = 0; number <= ACCOUNTING.maxPredictions; number++) results.add(asked(`${number}`));
  expect(counted).toHaveLength(ACCOUNTING.maxPredictions);
  results.close();
  expect(counted).toHaveLength(ACCOUNTING.maxPredictions + 1);
});
