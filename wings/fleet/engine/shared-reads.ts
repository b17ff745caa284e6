// Reads of large blobs on one node: many readers of one cold blob share one GET, and leave a copy in the tier.
//
// Invariants:
// H1 While a blob is being read from the bucket from its beginning, a reader that starts there joins. It is given
//    the chunks of the last FLEET.sharedChunks MiB from memory.
// H2 A reader that falls behind waits for the copy in the tier, if there is a tier, and otherwise reads for itself
//    from where it is. So a slow client holds the others up for at most FLEET.slowReaderMs.
// H3 The tier decides nothing: a chunk that it cannot give comes from the bucket, and a copy that cannot be written
//    is left out. A copy is written after its read, so a slow disk does not slow a reader down, as long as the copies
//    that wait fit in FLEET.tierBacklogBytes.
// H4 Every chunk was checked against the checksum in the index before it is given out (object-reader.ts).
import type { Hash } from '../../../core/digest.ts';
import { STORE } from '../../../store/limits.ts';
import type { Blobs, Expected } from '../../../store/store.ts';
import { FLEET } from '../limits.ts';
import type { Bucket } from './bucket.ts';
import { type ObjectList, readChunks } from './object-reader.ts';

/** The copies on the disk of this node. */
export type Tier = Pick<Blobs, 'get' | 'put'>;

export interface ReadCounts {
  tierHits: number;
  tierMisses: number;
  /** Readers that joined the read of another one. */
  joined: number;
}

/** The copies of a node that are not in its tier yet. */
interface Copies extends CopyLimits {
  readonly tier: Tier;
  waitingBytes: number;
}

export interface CopyLimits {
  /** The chunks of all copies that may wait in memory. */
  readonly backlogBytes: number;
  /** A tier that takes nothing for this long is left out. */
  readonly stallMs: number;
}

export class SharedReads {
  readonly #bucket: Bucket;
  readonly #tier: Tier | undefined;
  readonly #copies: Copies | undefined;
  readonly #reads = new Map<string, SharedRead>();
  readonly counts: ReadCounts = { tierHits: 0, tierMisses: 0, joined: 0 };

  constructor(bucket: Bucket, tier: Tier | undefined, limits: CopyLimits = COPY_LIMITS) {
    this.#bucket = bucket;
    this.#tier = tier;
    this.#copies = tier && { ...limits, tier, waitingBytes: 0 };
  }

  /** Whole chunks from number `first` on, before number `end`. */
  async *chunks(hash: Hash, list: ObjectList, first: number, end: number): AsyncGenerator<Buffer> {
    let next = first;
    if (this.#tier) {
      for await (const chunk of fromTier(this.#tier, hash, list, next, end)) {
        next++;
        yield chunk;
      }
      if (next === end) this.counts.tierHits++;
      else this.counts.tierMisses++;
    }
    if (next === 0 && end === list.checksums.length) {
      for await (const chunk of this.#shared(hash, list)) {
        next++;
        yield chunk;
      }
    }
    if (next < end && next > first && this.#tier) {
      for await (const chunk of fromTier(this.#tier, hash, list, next, end)) {
        next++;
        yield chunk;
      }
    }
    yield* readChunks(this.#bucket, list, next, end);
  }

  /** Ends early if the reader falls behind, after the copy in the tier is complete (H2). */
  async *#shared(hash: Hash, list: ObjectList): AsyncGenerator<Buffer> {
    const key = `${hash} ${list.names[0]}`;
    let read = this.#reads.get(key);
    if (read?.hasBeginning || (read && this.#tier)) this.counts.joined++;
    else {
      read = new SharedRead(this.#bucket, this.#copies, hash, list);
      const started = read;
      this.#reads.set(key, started);
      void started.run().finally(() => {
        if (this.#reads.get(key) === started) this.#reads.delete(key);
      });
    }
    yield* read.chunks();
  }
}

const COPY_LIMITS: CopyLimits = { backlogBytes: FLEET.tierBacklogBytes, stallMs: FLEET.tierStallMs };

/** One GET with several readers. */
class SharedRead {
  readonly #bucket: Bucket;
  readonly #copies: Copies | undefined;
  readonly #hash: Hash;
  readonly #list: ObjectList;
  readonly #window = new Map<number, Buffer>();
  /** The number of the next chunk that each reader needs. */
  readonly #readers = new Set<{ next: number }>();
  readonly #stop = new AbortController();
  #produced = 0;
  #failure: { readonly cause: unknown } | undefined;
  #isEnded = false;
  /** For readers: there is a chunk, or the end. */
  #produces = Promise.withResolvers<void>();
  /** For the GET: a reader has taken a chunk, or is gone. */
  #consumes = Promise.withResolvers<void>();

  constructor(bucket: Bucket, copies: Copies | undefined, hash: Hash, list: ObjectList) {
    this.#bucket = bucket;
    this.#copies = copies;
    this.#hash = hash;
    this.#list = list;
  }

  get hasBeginning(): boolean {
    return this.#produced === 0 || this.#window.has(0);
  }

  async run(): Promise<void> {
    const copy = this.#copies && new TierCopy(this.#copies, { hash: this.#hash, size: this.#list.size });
    try {
      const count = this.#list.checksums.length;
      for await (const chunk of readChunks(this.#bucket, this.#list, 0, count, this.#stop.signal)) {
        this.#window.set(this.#produced, chunk);
        this.#produced++;
        this.#wakeReaders();
        await copy?.add(chunk);
        await this.#waitForReaders();
        this.#window.delete(this.#produced - FLEET.sharedChunks);
        if (this.#readers.size === 0 && !copy) break;
      }
      await copy?.finish(true);
    } catch (cause) {
      this.#failure = { cause };
      await copy?.finish(false);
    }
    this.#isEnded = true;
    this.#wakeReaders();
  }

  #wakeReaders(): void {
    this.#produces.resolve();
    this.#produces = Promise.withResolvers<void>();
  }

  /** Before a chunk leaves the window that a reader still needs. */
  async #waitForReaders(): Promise<void> {
    const leaving = this.#produced - FLEET.sharedChunks;
    const behind = () => [...this.#readers].filter(({ next }) => next <= leaving);
    const deadline = performance.now() + FLEET.slowReaderMs;
    while (leaving >= 0 && behind().length > 0) {
      const left = deadline - performance.now();
      if (left > 0) await Promise.race([this.#consumes.promise, sleep(left)]);
      else for (const slow of behind()) this.#readers.delete(slow);
    }
  }

  #taken(): void {
    this.#consumes.resolve();
    this.#consumes = Promise.withResolvers<void>();
  }

  async *chunks(): AsyncGenerator<Buffer> {
    const reader = { next: 0 };
    this.#readers.add(reader);
    try {
      while (reader.next < this.#list.checksums.length) {
        const chunk = this.#window.get(reader.next);
        if (chunk) {
          yield chunk;
          reader.next++;
          this.#taken();
        } else if (this.#failure) throw this.#failure.cause;
        else if (this.#isEnded) return;
        else if (reader.next < this.#produced) {
          // It fell behind: the copy in the tier is not complete before the end.
          this.#readers.delete(reader);
          if (!this.#copies) return;
          await this.#produces.promise;
        } else await this.#produces.promise;
      }
    } finally {
      this.#readers.delete(reader);
      this.#taken();
      if (this.#readers.size === 0 && !this.#copies) this.#stop.abort();
    }
  }
}

/**
 * Hands chunks to a put of the tier, when the read that they come from has ended: hashing and writing a copy takes as
 * long as sending the blob, and readers come first. Chunks that wait count in the backlog of the node. While that is
 * full, the read waits for its own copy. A tier that fails or stalls is left out (H3).
 */
class TierCopy {
  readonly #copies: Copies;
  readonly #expected: Expected;
  readonly #queue: Buffer[] = [];
  #put: Promise<unknown> | undefined;
  #isEnded = false;
  #isOver = false;
  /** For the put: there is a chunk, or the end. */
  #queued = Promise.withResolvers<void>();
  /** For the read: the tier has taken a chunk. */
  #taken = Promise.withResolvers<void>();

  constructor(copies: Copies, expected: Expected) {
    this.#copies = copies;
    this.#expected = expected;
  }

  async add(chunk: Buffer): Promise<void> {
    if (this.#isOver) return;
    this.#queue.push(chunk);
    this.#copies.waitingBytes += chunk.length;
    this.#queued.resolve();
    while (this.#queue.length > 0 && this.#copies.waitingBytes > this.#copies.backlogBytes)
      await this.#waitForTier();
  }

  /** The read has ended. */
  async finish(isWhole: boolean): Promise<void> {
    this.#isEnded = true;
    if (!isWhole) this.#abandon();
    while (this.#queue.length > 0) await this.#waitForTier();
    this.#queued.resolve();
    if (this.#put) await isInTime(this.#put, this.#copies.stallMs);
  }

  async #waitForTier(): Promise<void> {
    this.#put ??= this.#copies.tier
      .put(this.#expected, this.#pieces())
      .catch(() => {})
      .finally(() => this.#abandon());
    if (!(await isInTime(this.#taken.promise, this.#copies.stallMs))) this.#abandon();
  }

  /** Content that ends early has another size, so the tier refuses it. */
  #abandon(): void {
    this.#isOver = true;
    for (const chunk of this.#queue.splice(0)) this.#copies.waitingBytes -= chunk.length;
    this.#queued.resolve();
    this.#taken.resolve();
  }

  async *#pieces(): AsyncGenerator<Buffer> {
    for (;;) {
      const chunk = this.#queue.shift();
      if (chunk) {
        this.#copies.waitingBytes -= chunk.length;
        yield chunk;
        this.#taken.resolve();
        this.#taken = Promise.withResolvers<void>();
      } else if (this.#isEnded || this.#isOver) return;
      else {
        await this.#queued.promise;
        this.#queued = Promise.withResolvers<void>();
      }
    }
  }
}

async function isInTime(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), milliseconds);
  timer.unref();
  work.then(() => resolve(true));
  return promise.finally(() => clearTimeout(timer));
}

/** Ends early if the tier does not have the blob, or finds a wrong byte in it. */
async function* fromTier(
  tier: Tier,
  hash: Hash,
  list: ObjectList,
  first: number,
  end: number,
): AsyncGenerator<Buffer> {
  const blob = await tier.get(hash).catch(() => undefined);
  if (blob?.size !== list.size) return;
  const offset = first * STORE.chunkBytes;
  const length = Math.min(end * STORE.chunkBytes, list.size) - offset;
  if (blob.bytes) {
    yield blob.bytes.subarray(offset, offset + length);
    return;
  }
  const chunks = blob.chunks(offset, length)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { value, done } = await chunks.next().catch(() => END);
      if (done || !value) return;
      yield value;
    }
  } finally {
    await chunks.return?.();
  }
}

const END = { value: undefined, done: true } as const;

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds).unref());
}
