// The capacity of a running server and how much of it is in use: connections, memory for bodies, and
// semaphores for work. Guarantee: whatever exceeds a limit waits in a bounded queue or gets 503 with
// Retry-After.
//
// The number of connections is also bounded by the file descriptors of the process. The store bounds its own
// files.
import type { Socket } from 'node:net';
import { AssayError } from '../../core/errors.ts';
import { STORE } from '../../store/limits.ts';
import { Semaphore } from '../../store/shared/semaphore.ts';
import type { ServerLimits } from '../limits.ts';
import { OnePerTick } from './one-per-tick.ts';
import { keepHeapSmall } from './v8-heap.ts';

export class Capacity {
  readonly maxConnections: number;
  /** Large request bodies that are being received. */
  readonly bodies: Semaphore;
  /** Downloads that have a chunk of a large blob in memory. */
  readonly downloads: Semaphore;
  /** The downloads of these whose next chunk is being read and verified. */
  readonly reads: Semaphore;
  /** Chunks that are sent without a copy: they stay in memory until the client has taken them. */
  readonly zeroCopies: Semaphore;
  /** Large blobs that are being compressed. Beyond the limit, a client gets the blob uncompressed. */
  readonly compressions: Semaphore;
  /** Writes to clients while other downloads wait: one per iteration of the event loop. */
  readonly sends = new OnePerTick();
  readonly #limits: ServerLimits;
  readonly #surplus = new Set<Socket>();
  #connections = 0;
  #requestBytes = 0;
  #responseBytes = 0;

  /** `descriptors` is the limit of open files of this process. */
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
      /** A download that lost its permit while the client was slow may still hold a zero-copy chunk. */
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

  /** Then a response closes its connection instead of keeping it alive. */
  get hasFewConnectionsLeft(): boolean {
    return this.#connections > this.maxConnections * this.#limits.pressureConnections;
  }

  /** Then slow clients have less time, see min-rate.ts. */
  get isUnderPressure(): boolean {
    const { pressureMemory, requestMemoryBytes, responseMemoryBytes } = this.#limits;
    return (
      this.hasFewConnectionsLeft ||
      this.bodies.hasWaiters ||
      this.#requestBytes > requestMemoryBytes * pressureMemory ||
      this.#responseBytes > responseMemoryBytes * pressureMemory
    );
  }

  /** Counts a new connection, before its TLS handshake. */
  addConnection(socket: Socket): void {
    this.#connections++;
    if (this.#connections === this.#limits.crowdConnections) keepHeapSmall(true);
    socket.once('close', () => {
      if (this.#connections === this.#limits.crowdConnections) keepHeapSmall(false);
      this.#connections--;
    });
  }

  /** Marks a connection beyond the limit, after its TLS handshake: it exists only to receive a 503. */
  markSurplus(socket: Socket): void {
    if (this.#connections <= this.maxConnections) return;
    this.#surplus.add(socket);
    socket.once('close', () => this.#surplus.delete(socket));
  }

  isSurplus(socket: Socket): boolean {
    return this.#surplus.size > 0 && this.#surplus.has(socket);
  }

  rejectSurplus(socket: Socket): void {
    if (!this.isSurplus(socket)) return;
    throw new AssayError('ASSAY_OVERLOADED', `the server already has ${this.maxConnections} connections`);
  }

  /** Counts bytes of a request body that is buffered whole, until removeRequestBytes. */
  addRequestBytes(bytes: number): void {
    this.#requestBytes += bytes;
  }

  removeRequestBytes(bytes: number): void {
    this.#requestBytes -= bytes;
  }

  /**
   * Counts a response that stays in memory until its client has taken it. Throws when the memory for these is
   * full.
   */
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

/** The request memory of one call, which grows step by step and is released at once. */
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
    'requests and responses in flight fill the memory reserved for them',
  );
}
