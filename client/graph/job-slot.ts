// A step's turn to run its command, of which only so many run at once.
import { GRAPH } from '../limits.ts';
import type { Turn } from './schedule.ts';

/** Thrown where a step may not run its command any more: another one failed, or somebody wants it all to end. */
export class TurnRefused extends Error {}

/** Thrown where a step has waited for so long that it has to begin again. It has its turn then, and keeps it. */
export class TurnCameLate extends Error {}

export class StepTurn {
  readonly #turn: Turn;
  readonly #now: () => number;
  #waitedMs = 0;

  constructor(turn: Turn, now: () => number) {
    this.#turn = turn;
    this.#now = now;
  }

  /** Since the step was last begun. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  async take(): Promise<void> {
    const asked = this.#now();
    refuseBecauseOf(await this.#turn.take());
    const waitedMs = this.#now() - asked;
    if (waitedMs > GRAPH.lateMs) throw new TurnCameLate();
    this.#waitedMs = waitedMs;
  }

  /** Throws if it will not get one any more, or must not use the one that it has. */
  goOn(): void {
    refuseBecauseOf(this.#turn.refusal());
  }
}

function refuseBecauseOf(refusal: string | undefined): void {
  if (refusal !== undefined) throw new TurnRefused(refusal);
}
