// A step's turn to run its command, of which only so many run at once.
import { GRAPH } from '../../core/limits.ts';
import type { Turn } from './schedule.ts';

/** Thrown where a step may not run its command any more: another one failed, or somebody wants it all to end. */
export class TurnRefused extends Error {}

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

  /** True if it took so long that the step has to begin again. */
  async take(): Promise<boolean> {
    const asked = this.#now();
    const refusal = await this.#turn();
    if (refusal !== undefined) throw new TurnRefused(refusal);
    const waitedMs = this.#now() - asked;
    const isLate = waitedMs > GRAPH.lateMs;
    this.#waitedMs = isLate ? 0 : waitedMs;
    return isLate;
  }
}
