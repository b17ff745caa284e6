// Small files that were just read for their digests: who stores them next does not read them again. Bounded; what is not kept
// is read a second time.
import type { Hash } from '../../core/digest.ts';
import { STORE } from '../../store/limits.ts';
import { RUN } from '../limits.ts';
import type { FileDigests } from './file-digest.ts';

export class ContentCache {
  readonly #bytes = new Map<Hash, Buffer>();
  #left: number = RUN.keptContentBytes;

  /** The same digests, which keep what they read. */
  wrap(digests: FileDigests): FileDigests {
    return {
      digest: (name, stats, locate) => {
        let read: Buffer | undefined;
        const digest = digests.digest(name, stats, locate, (bytes, isWhole) => {
          if (isWhole && bytes.length <= Math.min(STORE.inlineBytes, this.#left)) read = Buffer.from(bytes);
        });
        if (read && !this.#bytes.has(digest.hash)) {
          this.#bytes.set(digest.hash, read);
          this.#left -= read.length;
        }
        return digest;
      },
    };
  }

  of(hash: Hash): Buffer | undefined {
    return this.#bytes.get(hash);
  }
}
