// Answers that take a walk through many documents, one for each question.
//
// A reader waits only a moment. Then it gets the answer before, and the reading goes on. An answer that took longer is
// used for DASHBOARD.answerRest times as long: so the reading costs at most a twentieth of one core.

import { setTimeout as pause } from 'node:timers/promises';
import { BoundedMap } from '../../../store/shared/bounded-map.ts';
import { DASHBOARD } from '../limits.ts';

interface Held<T> {
  last?: { readonly at: number; readonly value: T };
  tookMs: number;
  running?: Promise<void> | undefined;
}

export class HeldAnswers<T> {
  readonly #now: () => number;
  readonly #answers = new BoundedMap<string, Held<T>>(DASHBOARD.heldAnswers);

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** `question` is all that the answer depends on. Undefined if it is being read for the first time. */
  async read(
    question: unknown,
    find: (at: number) => Promise<T>,
    waitMs: number = DASHBOARD.answerWaitMs,
  ): Promise<T | undefined> {
    const answer = this.#answerTo(JSON.stringify(question));
    const { last } = answer;
    const isFresh =
      last && answer.tookMs > waitMs && this.#now() - last.at < DASHBOARD.answerRest * answer.tookMs;
    if (isFresh) return last.value;
    answer.running ??= this.#find(answer, find).finally(() => {
      answer.running = undefined;
    });
    await Promise.race([answer.running, pause(waitMs, undefined, { ref: false })]);
    return answer.last?.value;
  }

  #answerTo(name: string): Held<T> {
    const answer = this.#answers.get(name) ?? { tookMs: 0 };
    this.#answers.set(name, answer);
    return answer;
  }

  async #find(answer: Held<T>, find: (at: number) => Promise<T>): Promise<void> {
    const began = performance.now();
    const at = this.#now();
    answer.last = { at, value: await find(at) };
    answer.tookMs = performance.now() - began;
  }
}
