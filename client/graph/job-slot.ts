// A step's claim to one of the --jobs slots, in which commands run.
import { GRAPH } from '../limits.ts';
import type { ScheduleSlot } from './schedule.ts';

/** Thrown if a step must not run its command: another step failed, or the run was interrupted. */
export class StepCancelled extends Error {}

/** Thrown after a wait so long that the step must start again. The step then has its slot and keeps it. */
export class WaitedTooLong extends Error {}

export class JobSlot {
  readonly #slot: ScheduleSlot;
  readonly #now: () => number;
  #waitedMs = 0;
  #hasLeft = false;

  constructor(slot: ScheduleSlot, now: () => number) {
    this.#slot = slot;
    this.#now = now;
  }

  /** Since the step last started. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** `onReturn`: called if the step had left, and did not have to queue for the slot. */
  async acquire(onReturn?: () => void): Promise<void> {
    const asked = this.#now();
    throwRefusal(await this.#slot.acquire());
    const waitedMs = this.#now() - asked;
    if (waitedMs > GRAPH.lateMs) {
      this.#waitedMs = 0;
      throw new WaitedTooLong();
    }
    this.#waitedMs += waitedMs;
    if (this.#hasLeft && waitedMs < 5) onReturn?.();
    this.#hasLeft = false;
  }

  /** The step waits for another run. It has no slot until it acquires one again. */
  leave(): void {
    this.#hasLeft = true;
    this.#slot.leave();
  }

  release(): void {
    this.#slot.release();
  }

  /** Throws if the step must not begin its command, with or without a slot. */
  throwIfCancelled(): void {
    throwRefusal(this.#slot.refusal());
  }
}

function throwRefusal(refusal: string | undefined): void {
  if (refusal !== undefined) throw new StepCancelled(refusal);
}
