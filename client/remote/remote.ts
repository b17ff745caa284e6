// A shared cache somewhere else, as the flow sees it. Every fault of it is one exception, RemoteFault; after the first
// the remote answers nothing more in this run. Nothing that it says is believed: blobs are checked by the local store.
import type { Digest, Hash } from '../../core/digest.ts';
import type { Content } from '../../store/store.ts';

export interface Remote {
  /** False after its first fault. */
  readonly usable: boolean;
  /** Ends all that is under way; from now on it counts as faulty. */
  giveUp(why: string): void;
  /** The ActionResult under a key, or undefined for a miss. */
  getResult(key: Hash): Promise<Uint8Array | undefined>;
  /** undefined: it does not have it. */
  getBlob(digest: Digest): Promise<AsyncIterable<Uint8Array> | undefined>;
  has(digest: Digest): Promise<boolean>;
  putBlob(digest: Digest, content: Content): Promise<void>;
  putResult(key: Hash, result: Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export class RemoteFault extends Error {
  constructor(why: string, options?: { cause?: unknown }) {
    super(why, options);
    this.name = 'RemoteFault';
  }
}
