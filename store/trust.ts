// Which blobs were read and found right, not long ago: small ones whole, large ones chunk by chunk, so that who reads no
// further than a part of one does not make the server check that part each time. Bounded: the oldest verdicts go first, and
// those that hold no longer go with the next that comes.
import type { Hash } from '../core/digest.ts';
import { STORE } from '../core/limits.ts';

interface Verdict {
  readonly generation: number;
  /** Counts from the first chunk. */
  readonly until: number;
  /** Those that were found right are 1. */
  readonly chunks: Uint8Array;
}

/** Most blobs have one chunk, and nothing is remembered of it before it was found right. */
const ONLY_CHUNK = Uint8Array.of(1);

export class Trust {
  readonly #now: () => number;
  readonly #verdicts = new Map<Hash, Verdict>();

  constructor(now: () => number) {
    this.#now = now;
  }

  get size(): number {
    return this.#verdicts.size;
  }

  has(hash: Hash, generation: number, chunk = 0): boolean {
    return this.#current(hash, generation)?.chunks[chunk] === 1;
  }

  /** That chunk, of so many that the blob has. */
  add(hash: Hash, generation: number, chunk = 0, of = 1): void {
    const verdict = this.#current(hash, generation) ?? this.#begin(hash, generation, of);
    verdict.chunks[chunk] = 1;
  }

  #current(hash: Hash, generation: number): Verdict | undefined {
    const verdict = this.#verdicts.get(hash);
    return verdict?.generation === generation && this.#now() < verdict.until ? verdict : undefined;
  }

  #begin(hash: Hash, generation: number, chunks: number): Verdict {
    const marks = chunks === 1 ? ONLY_CHUNK : new Uint8Array(chunks);
    const verdict = { generation, until: this.#now() + STORE.trustMs, chunks: marks };
    this.#verdicts.delete(hash);
    this.#verdicts.set(hash, verdict);
    this.#forgetOldest();
    return verdict;
  }

  /** They lie in the order in which they end. */
  #forgetOldest(): void {
    const now = this.#now();
    for (const [hash, { until }] of this.#verdicts) {
      if (now < until && this.#verdicts.size <= STORE.trustEntries) return;
      this.#verdicts.delete(hash);
    }
  }
}
