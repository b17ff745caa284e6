// What happens when the bucket says NoSuchKey: the read is a miss, and the blob stays.
//
// Invariants:
// N1 A blob is removed as lost only if the bucket says NoSuchKey again, FLEET.lostAfterMs after the first time, and
//    the canary can be read before and after that. A bucket that answers for another one, or is empty after an
//    outage, removes nothing, also if that begins or ends meanwhile.
// N2 Any other failure of the bucket (NoSuchBucket, 403, 5xx) means nothing.
import type { Hash } from '../../../core/digest.ts';
import { FLEET } from '../limits.ts';
import type { Bucket } from './bucket.ts';
import type { ObjectList } from './object-reader.ts';

type Remove = (hash: Hash, generation: number, detail: string) => Promise<void>;

interface Suspect {
  readonly timer: NodeJS.Timeout;
  readonly examined: Promise<void>;
}

export class LostObjects {
  readonly #bucket: Bucket;
  readonly #remove: Remove;
  readonly #waitMs: number;
  /** By hash and generation. */
  readonly #suspects = new Map<string, Suspect>();

  constructor(bucket: Bucket, remove: Remove, waitMs: number = FLEET.lostAfterMs) {
    this.#bucket = bucket;
    this.#remove = remove;
    this.#waitMs = waitMs;
  }

  /** Asks once more, later. */
  suspect(hash: Hash, generation: number, list: ObjectList): void {
    const key = `${hash} ${generation}`;
    if (this.#suspects.has(key) || this.#suspects.size >= FLEET.maxSuspects) return;
    const { promise: examined, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#examine(hash, generation, list)
        .catch(() => {})
        .finally(() => {
          this.#suspects.delete(key);
          resolve();
        });
    }, this.#waitMs);
    timer.unref();
    this.#suspects.set(key, { timer, examined });
  }

  /** Resolves when all that are suspected now have been examined. */
  async settled(): Promise<void> {
    const suspects = [...this.#suspects.values()];
    for (const { timer } of suspects) timer.ref();
    await Promise.all(suspects.map(({ examined }) => examined));
  }

  async #examine(hash: Hash, generation: number, { names }: ObjectList): Promise<void> {
    if (!(await this.#bucket.canReadCanary())) return;
    for (const name of names) {
      if (await this.#bucket.has(name)) continue;
      if (await this.#bucket.canReadCanary())
        await this.#remove(hash, generation, 'the bucket has lost its object');
      return;
    }
  }

  close(): void {
    for (const { timer } of this.#suspects.values()) clearTimeout(timer);
  }
}
