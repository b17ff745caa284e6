// A step's claim to one of the --jobs slots, in which commands run: first to a slot of its run, then to one of those that
// all runs of the user share.
import type { HeldJob, JobAsked, SharedJobs } from '../jobs/shared-jobs.ts';
import { GRAPH } from '../limits.ts';
import type { ScheduleSlot } from './schedule.ts';

/** Thrown if a step must not run its command: another step failed, or the run was interrupted. */
export class StepCancelled extends Error {}

/** Thrown after a wait so long that the step must start again. The step then has its slot and keeps it. */
export class WaitedTooLong extends Error {}

export interface SharedSlots {
  readonly jobs: SharedJobs;
  readonly asked: Omit<JobAsked, 'refusal'>;
}

export class JobSlot {
  readonly #slot: ScheduleSlot;
  readonly #now: () => number;
  readonly #shared: SharedSlots | undefined;
  #held: HeldJob | undefined;
  #waitedMs = 0;
  #hasLeft = false;

  /** Without `shared`, the slots of the run are all that bounds its commands. */
  constructor(slot: ScheduleSlot, now: () => number, shared?: SharedSlots) {
    this.#slot = slot;
    this.#now = now;
    this.#shared = shared;
  }

  /** Since the step last started. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** `onReturn`: called if the step had left, and did not have to queue for the slot. */
  async acquire(onReturn?: () => void): Promise<void> {
    const asked = this.#now();
    throwRefusal(await this.#slot.acquire());
    await this.#takeShared();
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
    this.#releaseShared();
    this.#slot.leave();
  }

  release(): void {
    this.#releaseShared();
    this.#slot.release();
  }

  /** The step has ended. Its run learns that by itself: after a failure no other command may begin. */
  close(): void {
    this.#releaseShared();
  }

  async #takeShared(): Promise<void> {
    if (!this.#shared || this.#held) return;
    const { jobs, asked } = this.#shared;
    const held = await jobs.acquire({ ...asked, refusal: () => this.#slot.refusal() });
    if (typeof held === 'string') throw new StepCancelled(held);
    this.#held = held;
    // The step whose end gave the slot back may have failed, or a signal has come: the run learns that first.
    await new Promise((resolve) => setImmediate(resolve));
    throwRefusal(this.#slot.refusal());
  }

  #releaseShared(): void {
    this.#held?.release();
    this.#held = undefined;
  }

  /** Throws if the step must not begin its command, with or without a slot. */
  throwIfCancelled(): void {
    throwRefusal(this.#slot.refusal());
  }
}

function throwRefusal(refusal: string | undefined): void {
  if (refusal !== undefined) throw new StepCancelled(refusal);
}
