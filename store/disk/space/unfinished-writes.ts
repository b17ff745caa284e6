// The writes whose bytes still arrive, and which of them makes way if nothing is left to evict.
// Guarantee: a write holds space only for bytes that have arrived (S1 of space.ts), whatever it announced.
import type { AssayError } from '../../../core/errors.ts';
import type { IncomingWrite, Reservation } from '../../layers/limit.ts';
import { STORE } from '../../limits.ts';
import type { Holder } from '../accounts/accounts.ts';
import { allocatedBytes } from '../index/byte-count.ts';
import type { SpaceRequest } from './space-queue.ts';

/** What an unfinished write needs of the space. */
interface Admission {
  /** Reserves the bytes. A promise if the write has to wait for them. */
  acquire(request: SpaceRequest): Promise<void> | undefined;
  /** That many reserved bytes count as usage from now on. */
  settle(request: SpaceRequest): void;
  /** All bytes of the write have arrived. */
  complete(write: UnfinishedWrite): void;
  /** The write holds no reservation any more. */
  end(write: UnfinishedWrite): void;
  /** The write begins to wait. */
  changed(): void;
}

export class UnfinishedWrite implements Reservation {
  readonly isForIndex: boolean;
  /** Resolves when the write holds nothing any more. */
  readonly ended: Promise<void>;
  readonly #admission: Admission;
  readonly #incoming: IncomingWrite;
  readonly #writer: Holder | undefined;
  readonly #markEnded: () => void;
  #arrived = 0;
  /** Whole blocks, for which space was acquired, and those of them that are not counted as usage yet. */
  #acquired = 0;
  #reserved = 0;
  #isWaiting = false;
  #isEnded = false;
  /** When the last STORE.slowWriteBytes were complete, and what has arrived since. */
  #movedAt = performance.now();
  #moved = 0;

  constructor(admission: Admission, incoming: IncomingWrite, writer: Holder | undefined) {
    const { announced, staged } = incoming;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.isForIndex = staged === 0 && announced !== undefined && announced <= STORE.inlineBytes;
    this.ended = promise;
    this.#markEnded = resolve;
    this.#admission = admission;
    this.#writer = writer;
    this.#incoming = incoming;
  }

  /** What ending the write would free. */
  get held(): number {
    return allocatedBytes(this.#incoming.staged) + this.#acquired;
  }

  get isWaiting(): boolean {
    return this.#isWaiting;
  }

  /** From this time on it counts as stalled, unless more bytes arrive. */
  get stalledAt(): number {
    return this.#movedAt + STORE.slowWriteMs;
  }

  /** Rounded for all bytes together: a sender of single bytes would reserve a block for each otherwise. */
  grow(bytes: number): Promise<void> | undefined {
    this.#arrived += bytes;
    this.#moved += bytes;
    if (this.#moved >= STORE.slowWriteBytes) this.#restart();
    const more = allocatedBytes(this.#arrived) - this.#acquired;
    if (more <= 0) return undefined;
    const { isForIndex } = this;
    const request = { bytes: more, isForIndex, writer: this.#writer, write: this };
    const waiting = this.#admission.acquire(request);
    if (waiting) return this.#wait(waiting, more);
    this.#acquired += more;
    this.#reserved += more;
    return undefined;
  }

  async #wait(waiting: Promise<void>, more: number): Promise<void> {
    this.#isWaiting = true;
    this.#admission.changed();
    try {
      await waiting;
      this.#acquired += more;
      this.#reserved += more;
      if (this.#isEnded) this.markStored(more);
    } finally {
      this.#isWaiting = false;
      this.#restart();
    }
  }

  #restart(): void {
    this.#movedAt = performance.now();
    this.#moved = 0;
  }

  markStored(bytes: number): void {
    const stored = Math.min(bytes, this.#reserved);
    this.#reserved -= stored;
    this.#admission.settle({ bytes: stored, isForIndex: this.isForIndex });
  }

  complete(): void {
    this.#admission.complete(this);
  }

  /** Bytes that still wait are released as soon as they are admitted. */
  end(): void {
    this.#isEnded = true;
    this.markStored(this.#reserved);
    this.#admission.end(this);
    this.#markEnded();
  }

  cancel(error: AssayError): void {
    this.#incoming.cancel(error);
  }
}

/** The write that makes way for `first`, or how long to wait until one does. Undefined if none holds space. */
export function makingWay(
  writes: Iterable<UnfinishedWrite>,
  first: UnfinishedWrite | undefined,
  now: number,
): UnfinishedWrite | { readonly inMs: number } | undefined {
  const holding = [...writes].filter((write) => write.held > 0 || write === first);
  const arriving = holding.filter(({ isWaiting }) => !isWaiting);
  const slowest = arriving.toSorted((a, b) => a.stalledAt - b.stalledAt)[0];
  if (slowest) return slowest.stalledAt <= now ? slowest : { inMs: slowest.stalledAt - now };
  // All of them wait for one another. The oldest is never chosen, so one of them ends.
  return holding.at(-1);
}
