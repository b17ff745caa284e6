// A lease that a server has granted to this run. The run keeps it by heartbeats, until it is released or lost.
// A run that hears nothing goes on, and sends further heartbeats: only the server can say that the lease is lost.
import { setTimeout as pause } from 'node:timers/promises';
import { type Fence, fenceText, type ReleaseReason } from '../../../core/action-lease.ts';
import { RUNNER } from './limits.ts';
import type { HeldLease } from './place.ts';
import type { LeaseReply } from './reply.ts';

export type AskAboutGrant = (
  method: 'heartbeat' | 'release',
  body: object,
) => Promise<LeaseReply | undefined>;

export class ServerGrant implements HeldLease {
  readonly fence: Fence;
  readonly #ask: AskAboutGrant;
  readonly #onLost: () => void;
  readonly #timer: NodeJS.Timeout;
  #isLost = false;
  #isOver = false;

  constructor(ask: AskAboutGrant, fence: Fence, heartbeatMs: number, onLost: () => void) {
    this.#ask = ask;
    this.fence = fence;
    this.#onLost = onLost;
    this.#timer = setInterval(() => void this.#beat(), Math.max(heartbeatMs, RUNNER.leastBeatMs));
    this.#timer.unref();
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Those who wait would wait until the heartbeats are missed, so a release that got no answer is sent again. */
  async release(reason: ReleaseReason, detail?: string): Promise<void> {
    if (this.#isOver) return;
    this.#end();
    const body = { fence: fenceText(this.fence), reason, ...(detail !== undefined && { detail }) };
    let pauseMs: number = RUNNER.releaseAgainMs;
    for (let asked = 1; !(await this.#ask('release', body)) && asked < RUNNER.releases; asked++) {
      await pause(pauseMs * (0.5 + Math.random()), undefined, { ref: false });
      pauseMs *= 2;
    }
  }

  async #beat(): Promise<void> {
    const answer = await this.#ask('heartbeat', { fence: fenceText(this.fence) });
    if (this.#isOver || answer?.outcome !== 'lost') return;
    this.#end();
    this.#isLost = true;
    this.#onLost();
  }

  #end(): void {
    this.#isOver = true;
    clearInterval(this.#timer);
  }
}
