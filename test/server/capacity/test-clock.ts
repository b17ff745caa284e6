// A clock for a server in a test: it stands still until the test moves it, and
// reports when the server has read it.
import { setTimeout as delay } from 'node:timers/promises';
import { vi } from 'vitest';
import type { Clock } from '../../../server/capacity/awake-clock.ts';

export class TestClock implements Clock {
  now = 0;
  #ticks = 0;

  tick(): void {
    this.#ticks++;
  }

  /** Resolves when the server has checked every connection and transfer at the new time. */
  async pass(seconds: number): Promise<void> {
    this.now += 1000 * seconds;
    const enough = this.#ticks + 2;
    await vi.waitUntil(() => this.#ticks >= enough, { timeout: 90_000, interval: 5 });
  }

  /** Enough iterations for a busy machine to reach the point where the server waits for its client. */
  async passOften(seconds: number): Promise<void> {
    for (let time = 0; time < 10; time++) {
      await this.pass(seconds);
      await delay(20);
    }
  }
}
