// A step's turn to run its command, of which only so many run at once.
import { GRAPH } from '../limits.ts';
import type { ScheduleSlot } from './schedule.ts';

/** Thrown where a step may not run its command any more: another one failed, or somebody wants it all to end. */
export class StepCancelled extends Error {}

/** Thrown where a step has waited for so long that it has to begin again. It has its turn then, and keeps it. */
export class WaitedTooLong extends Error {}

export class JobSlot {
  readonly #slot: ScheduleSlot;
  readonly #now: () => number;
  #waitedMs = 0;

  constructor(slot: ScheduleSlot, now: () => number) {
    this.#slot = slot;
    this.#now = now;
  }

  /** Since the step was last begun. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  async acquire(): Promise<void> {
    const asked = this.#now();
    refuseBecauseOf(await this.#slot.acquire());
    const waitedMs = this.#now() - asked;
    if (waitedMs > GRAPH.lateMs) throw new WaitedTooLong();
    this.#waitedMs = waitedMs;
  }

  /** Throws if it will not get one any more, or must not use the one that it has. */
  throwIfCancelled(): void {
    refuseBecauseOf(this.#slot.refusal());
  }
}

function refuseBecauseOf(refusal: string | undefined): void {
  if (refusal !== undefined) throw new StepCancelled(refusal);
}
