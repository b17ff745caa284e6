import { expect, test } from 'vitest';
import { JobSlot, StepCancelled, WaitedTooLong } from '../../../client/graph/job-slot.ts';
import { GRAPH } from '../../../client/limits.ts';

/** Waits as long as it is told to, by a clock of its own. */
function slotWith(waits: readonly number[], refusal?: string): JobSlot {
  let time = 0;
  const left = [...waits];
  return new JobSlot(
    {
      async acquire() {
        time += left.shift() ?? 0;
        return refusal;
      },
      refusal: () => refusal,
    },
    () => time,
  );
}

test('a short wait is told, so that it can be left out of what the step took', async () => {
  const slot = slotWith([GRAPH.lateMs]);
  await slot.acquire();
  expect(slot.waitedMs).toBe(GRAPH.lateMs);
});

test('who waited long begins again, and has not waited since', async () => {
  const slot = slotWith([GRAPH.lateMs + 1, 0]);
  await expect(slot.acquire()).rejects.toThrow(WaitedTooLong);
  expect(slot.waitedMs).toBe(0);
  await slot.acquire();
  expect(slot.waitedMs).toBe(0);
});

test('who is refused does not run', async () => {
  const slot = slotWith([5], 'a failed');
  expect(() => slot.throwIfCancelled()).toThrow(new StepCancelled('a failed'));
  await expect(slot.acquire()).rejects.toThrow(new StepCancelled('a failed'));
});
