// Keeps the bytes of small files that were read for their digests, so that storing them reads no file twice.
// The cache is bounded by RUN.contentCacheBytes; a file that does not fit is read again.
import type { Hash } from '../../core/digest.ts';
import { STORE } from '../../store/limits.ts';
import { RUN } from '../limits.ts';
import type { FileDigests } from './file-digest.ts';

export class ContentCache {
  readonly #bytes = new Map<Hash, Buffer>();
  #left: number = RUN.contentCacheBytes;

  /** The same digests; each small file that they read goes into this cache. */
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
