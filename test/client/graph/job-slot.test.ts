import { expect, test } from 'vitest';
import { StepTurn, TurnCameLate, TurnRefused } from '../../../client/graph/job-slot.ts';
import { GRAPH } from '../../../client/limits.ts';

/** Waits as long as it is told to, by a clock of its own. */
function turnWith(waits: readonly number[], refusal?: string): StepTurn {
  let time = 0;
  const left = [...waits];
  return new StepTurn(
    {
      async take() {
        time += left.shift() ?? 0;
        return refusal;
      },
      refusal: () => refusal,
    },
    () => time,
  );
}

test('a short wait is told, so that it can be left out of what the step took', async () => {
  const turn = turnWith([GRAPH.lateMs]);
  await turn.take();
  expect(turn.waitedMs).toBe(GRAPH.lateMs);
});

test('who waited long begins again, and has not waited since', async () => {
  const turn = turnWith([GRAPH.lateMs + 1, 0]);
  await expect(turn.take()).rejects.toThrow(TurnCameLate);
  expect(turn.waitedMs).toBe(0);
  await turn.take();
  expect(turn.waitedMs).toBe(0);
});

test('who is refused does not run', async () => {
  const turn = turnWith([5], 'a failed');
  expect(() => turn.goOn()).toThrow(new TurnRefused('a failed'));
  await expect(turn.take()).rejects.toThrow(new TurnRefused('a failed'));
});
