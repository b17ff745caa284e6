// What the server has taken on, against what it can hold: connections, of which there may be no more than the process has
// descriptors for, and bodies that are gathered in memory. Beyond that clients are turned away with 503 and told when to
// come back. Files have their bound in the store.
import type { Socket } from 'node:net';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import { Semaphore } from '../../store/shared/semaphore.ts';
import type { ServerLimits } from '../limits.ts';
import { OnePerTick } from './one-per-tick.ts';
import { keepHeapSmall } from './v8-heap.ts';

export class Capacity {
  readonly maxConnections: number;
  /** For each large body that is being taken in. */
  readonly bodies: Semaphore;
  /**
   * For each download that has a chunk in memory, for each whose chunk is being read, and for each whose chunk stays until
   * its client has taken it.
   */
  readonly downloads: Semaphore;
  readonly reads: Semaphore;
  readonly zeroCopies: Semaphore;
  /** For each large blob that is being compressed; who comes too many gets it as it is. */
  readonly compressions: Semaphore;
  /** For each piece of a chunk that is sent while others wait. */
  readonly sends = new OnePerTick();
  readonly #limits: ServerLimits;
  readonly #surplus = new Set<Socket>();
  #connections = 0;
  #requestBytes = 0;
  #responseBytes = 0;

  /** `descriptors`: how many files the process may have open. */
  constructor(limits: ServerLimits, descriptors: number) {
    const free = descriptors - STORE.reservedDescriptors - limits.surplusConnections;
    this.#limits = limits;
    keepHeapSmall(false);
    this.bodies = new Semaphore({
      permits: limits.maxBodies,
      maxWaiting: limits.maxConnections,
      waitMs: limits.queueTimeoutMs,
    });
    this.downloads = new Semaphore({
      permits: limits.maxDownloads,
      maxWaiting: limits.maxConnections * limits.maxStreams,
      waitMs: limits.queueTimeoutMs,
    });
    this.reads = new Semaphore({
      permits: limits.maxReads,
      /** Those whose turn it is, and those that gave their turn away while a chunk was lent to them. */
      maxWaiting: limits.maxDownloads + limits.maxZeroCopyChunks,
      waitMs: limits.queueTimeoutMs,
    });
    this.zeroCopies = new Semaphore({ permits: limits.maxZeroCopyChunks, maxWaiting: 0, waitMs: 0 });
    this.compressions = new Semaphore({ permits: limits.maxCompressions, maxWaiting: 0, waitMs: 0 });
    this.maxConnections = Math.max(1, Math.min(limits.maxConnections, Math.floor((free * 2) / 3)));
  }

  get isCrowded(): boolean {
    return this.#connections >= this.#limits.crowdConnections;
  }

  /** Connections are not kept alive then for a next request that may never come. */
  get hasFewConnectionsLeft(): boolean {
    return this.#connections > this.maxConnections * this.#limits.pressureConnections;
  }

  /** Slow clients are in the way of others: they have less time then. */
  get isUnderPressure(): boolean {
    const { pressureMemory, requestMemoryBytes, responseMemoryBytes } = this.#limits;
    return (
      this.hasFewConnectionsLeft ||
      this.bodies.hasWaiters ||
      this.#requestBytes > requestMemoryBytes * pressureMemory ||
      this.#responseBytes > responseMemoryBytes * pressureMemory
    );
  }

  /** A connection, before its TLS handshake. */
  addConnection(socket: Socket): void {
    this.#connections++;
    if (this.#connections === this.#limits.crowdConnections) keepHeapSmall(true);
    socket.once('close', () => {
      if (this.#connections === this.#limits.crowdConnections) keepHeapSmall(false);
      this.#connections--;
    });
  }

  /** The same one after it. */
  markSurplus(socket: Socket): void {
    if (this.#connections <= this.maxConnections) return;
    this.#surplus.add(socket);
    socket.once('close', () => this.#surplus.delete(socket));
  }

  /** There was no place for it: it is here to be told so. */
  isSurplus(socket: Socket): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(socket);
  }

  refuseSurplus(socket: Socket): void {
    if (!this.isSurplus(socket)) return;
    throw new AssayError('ASSAY_OVERLOADED', `there are ${this.maxConnections} connections already`);
  }

  /** So many bytes more are in memory, until they are let go. */
  addRequestBytes(bytes: number): void {
    this.#requestBytes += bytes;
  }

  removeRequestBytes(bytes: number): void {
    this.#requestBytes -= bytes;
  }

  /** An answer that is in memory as a whole is sent: who does not take it keeps it there. Refused when there are too many. */
  addResponseBytes(bytes: number): void {
    if (this.#responseBytes + bytes > this.#limits.responseMemoryBytes) throw memoryFull();
    this.#responseBytes += bytes;
  }

  removeResponseBytes(bytes: number): void {
    this.#responseBytes -= bytes;
  }

  get isRequestMemoryFull(): boolean {
    return this.#requestBytes > this.#limits.requestMemoryBytes;
  }
}

/** What one call holds of that: it takes more, or is refused, and lets go of all of it. */
export class MemoryReservation {
  readonly #capacity: Capacity;
  #bytes = 0;

  constructor(capacity: Capacity) {
    this.#capacity = capacity;
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    this.#capacity.addRequestBytes(bytes);
    if (this.#capacity.isRequestMemoryFull) throw memoryFull();
  }

  release(): void {
    this.#capacity.removeRequestBytes(this.#bytes);
    this.#bytes = 0;
  }
}

export function memoryFull(): AssayError {
  return new AssayError(
    'ASSAY_OVERLOADED',
    'the bodies on their way fill the memory that is set aside for them',
  );
}
