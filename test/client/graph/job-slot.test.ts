import { expect, test } from 'vitest';
import { JobSlot, StepCancelled, WaitedTooLong } from '../../../client/graph/job-slot.ts';
import { GRAPH } from '../../../client/limits.ts';

/** A slot whose waits take the given times, by a simulated clock. */
function slotWith(waits: readonly number[], refusal?: string): JobSlot {
  let time = 0;
  const left = [...waits];
  return new JobSlot(
    {
      async acquire() {
        time += left.shift() ?? 0;
        return refusal;
      },
      release() {},
      leave() {},
      refusal: () => refusal,
    },
    () => time,
  );
}

test('a short wait is measured, so that the step’s duration can exclude it', async () => {
  const slot = slotWith([GRAPH.lateMs]);
  await slot.acquire();
  expect(slot.waitedMs).toBe(GRAPH.lateMs);
});

test('a step that waited too long starts again, with its wait reset', async () => {
  const slot = slotWith([GRAPH.lateMs + 1, 0]);
  await expect(slot.acquire()).rejects.toThrow(WaitedTooLong);
  expect(slot.waitedMs).toBe(0);
  await slot.acquire();
  expect(slot.waitedMs).toBe(0);
});

test('a cancelled step does not get a slot', async () => {
  const slot = slotWith([5], 'a failed');
  expect(() => slot.throwIfCancelled()).toThrow(new StepCancelled('a failed'));
  await expect(slot.acquire()).rejects.toThrow(new StepCancelled('a failed'));
});
