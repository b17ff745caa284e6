// A client asks for predicted results while they are right about as often as wrong.
import { expect, test } from 'vitest';
import { REMOTE } from '../../../client/limits.ts';
import { Predictions } from '../../../client/remote/predictions.ts';

const repeat = (times: number, act: () => void) => Array.from({ length: times }, act);

test('predictions that are wrong are soon not asked for', () => {
  const predictions = new Predictions();
  repeat(REMOTE.wrongPredictions, () => predictions.noteWrong());
  expect(predictions.acceptedBytes).toBe(REMOTE.inlinedBlobsBytes);
  predictions.noteWrong();
  expect(predictions.acceptedBytes).toBe(0);
});

test('right predictions make up for as many wrong ones, and not in advance', () => {
  const predictions = new Predictions();
  repeat(100, () => predictions.noteRight());
  repeat(50, () => {
    predictions.noteWrong();
    predictions.noteRight();
  });
  expect(predictions.acceptedBytes).toBe(REMOTE.inlinedBlobsBytes);
  repeat(REMOTE.wrongPredictions + 1, () => predictions.noteWrong());
  expect(predictions.acceptedBytes).toBe(0);
});
