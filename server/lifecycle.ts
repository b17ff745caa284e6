// Stops a server: it accepts no new work, drains connections for a limited time, and then cuts the rest. A server of
// a fleet first says at /readyz that it leaves, while it goes on working, so that no client is sent to a closed port.
// Guarantee: stop() waits for writes to the store, at most SERVER.discardMs after the last connection is
// closed.
import { setTimeout as wait } from 'node:timers/promises';
import type { ServerLimits } from './limits.ts';

/** The port of a server, as far as a stop needs it. */
interface OpenPort {
  /** Accepts no more connections. Resolves when the last one is closed. */
  close(): Promise<void>;
  closeIdle(): void;
  closeAll(): void;
}

export class Lifecycle {
  #writes = 0;
  #isLeaving = false;
  #isStopping = false;
  #onLastWrite: () => void = () => {};

  /** A load balancer must send no more requests here. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Runs a write to the store. stop() waits for it. */
  async whileWriting<T>(write: () => Promise<T>): Promise<T> {
    this.#writes++;
    try {
      return await write();
    } finally {
      this.#writes--;
      if (this.#writes === 0) this.#onLastWrite();
    }
  }

  /** `noticeMs`: how long /readyz is red before the port closes. */
  async stop(port: OpenPort, limits: ServerLimits, noticeMs: number): Promise<void> {
    this.#isLeaving = true;
    if (noticeMs > 0) await wait(noticeMs);
    this.#isStopping = true;
    await closeConnections(port, limits);
    await this.#waitForWrites(limits.discardMs);
  }

  #waitForWrites(withinMs: number): Promise<void> {
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

/**
 * Polls for idle connections: a response that began before the stop leaves its connection open as keep-alive.
 */
async function closeConnections(port: OpenPort, limits: ServerLimits): Promise<void> {
  const closed = port.close();
  port.closeIdle();
  const idlePoll = setInterval(() => port.closeIdle(), limits.idleReapMs);
  const cutTimer = setTimeout(() => port.closeAll(), limits.drainMs);
  await closed;
  clearInterval(idlePoll);
  clearTimeout(cutTimer);
}
