// Memory for copies of what is sent, used again from client to client. Left to the collector, that of clients which were cut
// off would be in nobody's use and still there until it looks at the whole heap, many seconds later.
import type { ServerLimits } from '../core/limits.ts';

export class Copies {
  readonly #limits: Pick<ServerLimits, 'copiedBytes' | 'idleCopies'>;
  readonly #idle: Buffer[] = [];

  constructor(limits: Pick<ServerLimits, 'copiedBytes' | 'idleCopies'>) {
    this.#limits = limits;
  }

  take(): Buffer {
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(this.#limits.copiedBytes);
  }

  /** Exactly once for each, when nothing reads it any more: two clients in one memory would get each other's bytes. */
  giveBack(memory: Buffer): void {
    if (this.#idle.length < this.#limits.idleCopies) this.#idle.push(memory);
  }
}
