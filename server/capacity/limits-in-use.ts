// What the server has taken on, against what it can hold: connections, of which there may be no more than the process has
// descriptors for, and bodies that are gathered in memory. Beyond that clients are turned away with 503 and told when to
// come back. Files have their bound in the store.
import type { Socket } from 'node:net';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import { Semaphore } from '../../store/shared/semaphore.ts';
import type { ServerLimits } from '../limits.ts';
import { Turns } from './one-per-tick.ts';
import { keepHeapSmall } from './v8-heap.ts';

export class Load {
  readonly maxConnections: number;
  /** For each large body that is being taken in. */
  readonly bodies: Semaphore;
  /**
   * For each download that has a chunk in memory, for each whose chunk is being read, and for each whose chunk stays until
   * its client has taken it.
   */
  readonly downloads: Semaphore;
  readonly reads: Semaphore;
  readonly lent: Semaphore;
  /** For each large blob that is being compressed; who comes too many gets it as it is. */
  readonly compressions: Semaphore;
  /** For each piece of a chunk that is sent while others wait. */
  readonly sends = new Turns();
  readonly #limits: ServerLimits;
  readonly #surplus = new Set<Socket>();
  #connections = 0;
  #heldBytes = 0;
  #lentBytes = 0;

  /** `descriptors`: how many files the process may have open. */
  constructor(limits: ServerLimits, descriptors: number) {
    const free = descriptors - STORE.reservedDescriptors - limits.surplusConnections;
    this.#limits = limits;
    keepHeapSmall(false);
    this.bodies = new Semaphore({
      permits: limits.maxBodies,
      maxWaiting: limits.maxConnections,
      waitMs: limits.turnWaitMs,
    });
    this.downloads = new Semaphore({
      permits: limits.maxDownloads,
      maxWaiting: limits.maxConnections * limits.maxStreams,
      waitMs: limits.turnWaitMs,
    });
    this.reads = new Semaphore({
      permits: limits.maxReads,
      /** Those whose turn it is, and those that gave their turn away while a chunk was lent to them. */
      maxWaiting: limits.maxDownloads + limits.lentChunks,
      waitMs: limits.turnWaitMs,
    });
    this.lent = new Semaphore({ permits: limits.lentChunks, maxWaiting: 0, waitMs: 0 });
    this.compressions = new Semaphore({ permits: limits.maxCompressions, maxWaiting: 0, waitMs: 0 });
    this.maxConnections = Math.max(1, Math.min(limits.maxConnections, Math.floor((free * 2) / 3)));
  }

  get isCrowded(): boolean {
    return this.#connections >= this.#limits.crowd;
  }

  /** Connections are not kept alive then for a next request that may never come. */
  get hasFewConnectionsLeft(): boolean {
    return this.#connections > this.maxConnections * this.#limits.pressedConnections;
  }

  /** Slow clients are in the way of others: they have less time then. */
  get isPressed(): boolean {
    const { pressedBytes, heldBytes, lentBytes } = this.#limits;
    return (
      this.hasFewConnectionsLeft ||
      this.bodies.hasWaiters ||
      this.#heldBytes > heldBytes * pressedBytes ||
      this.#lentBytes > lentBytes * pressedBytes
    );
  }

  /** A connection, before its TLS handshake. */
  connected(socket: Socket): void {
    this.#connections++;
    if (this.#connections === this.#limits.crowd) keepHeapSmall(true);
    socket.once('close', () => {
      if (this.#connections === this.#limits.crowd) keepHeapSmall(false);
      this.#connections--;
    });
  }

  /** The same one after it. */
  welcome(socket: Socket): void {
    if (this.#connections <= this.maxConnections) return;
    this.#surplus.add(socket);
    socket.once('close', () => this.#surplus.delete(socket));
  }

  /** There was no place for it: it is here to be told so. */
  isSurplus(socket: Socket): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(socket);
  }

  admit(socket: Socket): void {
    if (!this.isSurplus(socket)) return;
    throw new AssayError('ASSAY_OVERLOADED', `there are ${this.maxConnections} connections already`);
  }

  /** So many bytes more are in memory, until they are let go. */
  hold(bytes: number): void {
    this.#heldBytes += bytes;
  }

  letGo(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  /** An answer that is in memory as a whole is sent: who does not take it keeps it there. Refused when there are too many. */
  lend(bytes: number): void {
    if (this.#lentBytes + bytes > this.#limits.lentBytes) throw memoryIsFull();
    this.#lentBytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#lentBytes -= bytes;
  }

  get isFull(): boolean {
    return this.#heldBytes > this.#limits.heldBytes;
  }
}

/** What one call holds of that: it takes more, or is refused, and lets go of all of it. */
export class Holding {
  readonly #load: Load;
  #bytes = 0;

  constructor(load: Load) {
    this.#load = load;
  }

  take(bytes: number): void {
    this.#bytes += bytes;
    this.#load.hold(bytes);
    if (this.#load.isFull) throw memoryIsFull();
  }

  letGo(): void {
    this.#load.letGo(this.#bytes);
    this.#bytes = 0;
  }
}

export function memoryIsFull(): AssayError {
  return new AssayError(
    'ASSAY_OVERLOADED',
    'the bodies on their way fill the memory that is set aside for them',
  );
}
