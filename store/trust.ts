// Which blobs were read and found whole, not long ago. Bounded: the oldest verdict goes first.
import type { Hash } from '../core/digest.ts';
import { STORE } from '../core/limits.ts';

interface Verdict {
  readonly generation: number;
  readonly until: number;
}

export class Trust {
  readonly #now: () => number;
  readonly #verdicts = new Map<Hash, Verdict>();

  constructor(now: () => number) {
    this.#now = now;
  }

  has(hash: Hash, generation: number): boolean {
    const verdict = this.#verdicts.get(hash);
    return verdict !== undefined && verdict.generation === generation && this.#now() < verdict.until;
  }

  add(hash: Hash, generation: number): void {
    this.#verdicts.delete(hash);
    this.#verdicts.set(hash, { generation, until: this.#now() + STORE.trustMs });
    if (this.#verdicts.size <= STORE.trustEntries) return;
    for (const oldest of this.#verdicts.keys()) {
      this.#verdicts.delete(oldest);
      return;
    }
  }
}
