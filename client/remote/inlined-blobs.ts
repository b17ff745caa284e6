// Holds the blobs that came inlined with results (core/inlined-blobs.ts) until a run asks for them. Bounded:
// the oldest are dropped first.

import type { Hash } from '../../core/digest.ts';
import { type InlinedBlob, splitBlobs } from '../../core/inlined-blobs.ts';
import { REMOTE } from '../limits.ts';

/** Memory per entry beyond its bytes. Without it, any number of empty blobs would fit. */
const HELD_HEAD_BYTES = 512;

export class InlinedBlobs {
  readonly #blobs = new Map<Hash, Buffer>();
  #bytes = 0;

  /** Splits a response into the result, which is returned, and blobs, which are kept. */
  receive(answer: Buffer): Buffer {
    const { result, blobs } = splitBlobs(answer, REMOTE.inlinedBlobsBytes);
    for (const one of blobs) this.#keep(one);
    return result;
  }

  /** The blob as it came, without taking it. */
  peek(hash: Hash): Buffer | undefined {
    return this.#blobs.get(hash);
  }

  take(hash: Hash): Buffer | undefined {
    const bytes = this.#blobs.get(hash);
    this.#forget(hash);
    return bytes;
  }

  #keep({ hash, bytes }: InlinedBlob): void {
    this.#forget(hash);
    this.#blobs.set(hash, Buffer.from(bytes)); // a copy: a slice would keep the whole response in memory
    this.#bytes += HELD_HEAD_BYTES + bytes.length;
    for (const oldest of this.#blobs.keys()) {
      if (this.#bytes <= REMOTE.heldInlinedBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(hash: Hash): void {
    const bytes = this.#blobs.get(hash);
    if (!bytes) return;
    this.#bytes -= HELD_HEAD_BYTES + bytes.length;
    this.#blobs.delete(hash);
  }
}
