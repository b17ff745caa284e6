// Blobs that came along with results (core/inlined-blobs.ts), until they are asked for. The oldest go when there is no more room.

import type { Hash } from '../../core/digest.ts';
import { type InlinedBlob, splitBlobs } from '../../core/inlined-blobs.ts';
import { REMOTE } from '../limits.ts';

/** What one of them takes in memory besides its own bytes: else those of no bytes would be free, and without end. */
const HELD_HEAD_BYTES = 512;

export class InlinedBlobs {
  readonly #blobs = new Map<Hash, Buffer>();
  #bytes = 0;

  /** Of an answer to the question for a result: the result. The rest is kept. */
  receive(answer: Buffer): Buffer {
    const { result, blobs } = splitBlobs(answer, REMOTE.inlinedBlobsBytes);
    for (const one of blobs) this.#keep(one);
    return result;
  }

  take(hash: Hash): Buffer | undefined {
    const bytes = this.#blobs.get(hash);
    this.#forget(hash);
    return bytes;
  }

  #keep({ hash, bytes }: InlinedBlob): void {
    this.#forget(hash);
    this.#blobs.set(hash, Buffer.from(bytes)); // else the whole answer stays with it
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
