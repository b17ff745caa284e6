// The end of a server: it takes no new work, finishes what is under way within a bounded time or cuts it, and does not
// return before the store has let go of every upload, so that the store can be closed.

import type { Port } from './connection/port.ts';
import type { ServerLimits } from './limits.ts';

export class Lifecycle {
  #writes = 0;
  #isStopping = false;
  #onLastWrite: () => void = () => {};

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Around everything in the store that a stop has to wait for. */
  async whileWriting<T>(write: () => Promise<T>): Promise<T> {
    this.#writes++;
    try {
      return await write();
    } finally {
      this.#writes--;
      if (this.#writes === 0) this.#onLastWrite();
    }
  }

  async stop(port: Port, limits: ServerLimits): Promise<void> {
    this.#isStopping = true;
    await allClosed(port, limits);
    await this.#lastWrite(limits.discardMs);
  }

  #lastWrite(withinMs: number): Promise<void> {
    if (this.#writes === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#onLastWrite = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** A connection whose answer began before the stop is still marked as kept alive, hence the repeated look for idle ones. */
async function allClosed(port: Port, limits: ServerLimits): Promise<void> {
  const closed = port.close();
  port.closeIdle();
  const reaper = setInterval(() => port.closeIdle(), limits.idleReapMs);
  const axe = setTimeout(() => port.closeAll(), limits.drainMs);
  await closed;
  clearInterval(reaper);
  clearTimeout(axe);
}
