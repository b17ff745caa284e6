import { expect, test } from 'vitest';
import { StepTurn, TurnRefused } from '../../../client/graph/step-turn.ts';
import { GRAPH } from '../../../core/limits.ts';

/** Waits as long as it is told to, by a clock of its own. */
function turnWith(waits: readonly number[], refusal?: string): StepTurn {
  let time = 0;
  const left = [...waits];
  return new StepTurn(
    async () => {
      time += left.shift() ?? 0;
      return refusal;
    },
    () => time,
  );
}

test('a short wait is told, so that it can be left out of what the step took', async () => {
  const turn = turnWith([GRAPH.lateMs]);
  expect(await turn.take()).toBe(false);
  expect(turn.waitedMs).toBe(GRAPH.lateMs);
});

test('who waited long begins again, and has not waited since', async () => {
  const turn = turnWith([GRAPH.lateMs + 1, 0]);
  expect(await turn.take()).toBe(true);
  expect(turn.waitedMs).toBe(0);
  expect(await turn.take()).toBe(false);
  expect(turn.waitedMs).toBe(0);
});

test('who is refused does not run', async () => {
  await expect(turnWith([5], 'a failed').take()).rejects.toThrow(new TurnRefused('a failed'));
});
