// The commit that made a step slower is named, and noise names none.
import { expect, test } from 'vitest';
import { slowdownIn, type TimedRun } from '../../trends/step-times.ts';

function timesOf(...runs: readonly (readonly [commit: string, ms: number])[]): TimedRun[] {
  return runs.map(([commit, ms], at) => ({ at, ms, commit, run: `run-${at}` }));
}

/** The same numbers in each run of the test. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

const FAST = [1000, 1040, 980, 1010, 995].map((ms, at) => [`fast-${at}`, ms] as const);
const SLOW = [1500, 1460, 1530].map((ms, at) => [`slow-${at}`, ms] as const);

test('the first commit with which a step was slower, and the last one before', () => {
  const found = slowdownIn(timesOf(...FAST, ...SLOW));
  expect(found).toMatchObject({
    first: { commit: 'slow-0', run: 'run-5' },
    last: { commit: 'fast-4', run: 'run-4' },
    beforeMs: 1000,
    afterMs: 1500,
    runsBefore: 5,
    runsAfter: 3,
  });
});

test.each<[string, TimedRun[]]>([
  ['two slow runs', timesOf(...FAST, ...SLOW.slice(0, 2))],
  ['a step that got faster', timesOf(...SLOW, ...FAST)],
  [
    'one slow run among others',
    timesOf(...FAST, ['x', 9000], ...FAST.map(([name, ms]) => [`b${name}`, ms] as const)),
  ],
  [
    'a step that is fast again',
    timesOf(...FAST, ...SLOW, ...FAST.map(([name, ms]) => [`b${name}`, ms] as const)),
  ],
  ['milliseconds', timesOf(...[2, 2, 2, 2, 9, 9, 9, 9].map((ms, at) => [`c${at}`, ms] as const))],
  [
    'one commit on machines of two kinds',
    timesOf(...[...FAST, ...SLOW].map(([, ms]) => ['one', ms] as const)),
  ],
  ['no run', []],
])('%s: no commit is named', (_name, times) => {
  expect(slowdownIn(times)).toBeUndefined();
});

test('noise names no commit, and a step that takes twice as long within it does', () => {
  const random = generator(7);
  /* Most are near a second, one of ten takes half as long again. */
  const noisy = () => 1000 * (0.9 + 0.2 * random() + (random() < 0.1 ? 0.5 : 0));
  let named = 0;
  let [exact, near] = [0, 0];
  for (let round = 0; round < 300; round++) {
    const times = Array.from({ length: 60 }, (_, at) => [`c${at}`, noisy()] as const);
    if (slowdownIn(timesOf(...times))) named++;
    const slower = times.map(([commit, ms], at) => [commit, at < 40 ? ms : 2 * ms] as const);
    const commit = slowdownIn(timesOf(...slower))?.first.commit;
    if (commit === 'c40') exact++;
    if (['c39', 'c40', 'c41'].includes(commit ?? '')) near++;
  }
  expect(named).toBe(0);
  /* A slow run just before the change, or a fast one just after it, can't be told from the change itself. */
  expect(exact).toBeGreaterThan(270);
  expect(near).toBeGreaterThan(290);
});
