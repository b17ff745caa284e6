// Predicted results: sent before the client asked for them, and counted when it is known whether the client used them.
// A client that can't use one asks for another result within milliseconds, and that lookup is counted instead.
// So every action is counted once. Behind a load balancer the second request may come to another node. That node does not
// count a hit again; but if it has no result either, the action is counted as a hit here and as a miss there. Taking the
// hit back would make counters fall, which Prometheus reads as a restart.
import { ACCOUNTING } from '../limits.ts';
import type { AskedResult } from './accounting.ts';

interface Waiting {
  readonly asked: AskedResult;
  readonly at: number;
  isDropped: boolean;
}

export class PredictedResults {
  readonly #count: (asked: AskedResult) => void;
  readonly #now: () => number;
  /** The oldest first. */
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** `count` takes a prediction that was used. `now` is monotonic. */
  constructor(count: (asked: AskedResult) => void, now: () => number = () => performance.now()) {
    this.#count = count;
    this.#now = now;
  }

  add(asked: AskedResult): void {
    if (this.#waiting.length >= ACCOUNTING.maxPredictions) this.settle(Number.POSITIVE_INFINITY);
    this.#waiting.push({ asked, at: this.#now(), isDropped: false });
    this.#timer ??= setInterval(() => this.settle(), ACCOUNTING.predictionMs / 2).unref();
  }

  /** The newest one of this caller for this action. False if there is none, or if it is counted already. */
  drop({ identity, namespace, key }: AskedResult): boolean {
    const found = this.#waiting.findLast(
      ({ asked, isDropped }) =>
        !isDropped &&
        asked.key === key &&
        asked.namespace === namespace &&
        asked.identity.name === identity.name,
    );
    if (found) found.isDropped = true;
    return found !== undefined;
  }

  /** Counts those that are older than ACCOUNTING.predictionMs at that time. */
  settle(at = this.#now()): void {
    const isDue = (one: Waiting) => at - one.at >= ACCOUNTING.predictionMs;
    const due = this.#waiting.filter(isDue);
    this.#waiting = this.#waiting.filter((one) => !isDue(one));
    for (const { asked, isDropped } of due) if (!isDropped) this.#count(asked);
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** No request comes after this. */
  close(): void {
    this.settle(Number.POSITIVE_INFINITY);
  }
}
