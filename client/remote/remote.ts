// A shared cache somewhere else, as the flow sees it. Every fault of it is one exception, RemoteFault; after the first
// the remote answers nothing more in this run. Nothing that it says is believed: blobs are checked by the local store.
//
// Blobs travel by the list, because only the remote knows how it moves many at once: one request each, or batches.
import type { Digest } from '../../core/digest.ts';
import type { Content } from '../../store/store.ts';

export interface Remote {
  /** False after its first fault. */
  readonly usable: boolean;
  /** Ends all that is under way; from now on it counts as faulty. */
  giveUp(why: string): void;
  /** The ActionResult under a key, or undefined for a miss. */
  getResult(key: Digest): Promise<Uint8Array | undefined>;
  putResult(key: Digest, result: Uint8Array): Promise<void>;
  /** Hands each blob to `keep`, several at a time. A blob that it does not have is its fault, `keep`'s errors are not. */
  getBlobs(digests: readonly Digest[], keep: KeepBlob): Promise<void>;
  /** Those that it lacks are read and sent; `settled` hears of each, sent or there already. */
  putBlobs(digests: readonly Digest[], read: ReadBlob, settled: SettledBlob): Promise<void>;
  close(): Promise<void>;
}

export interface RemoteOptions {
  readonly url: URL;
  readonly token?: string | undefined;
  readonly now: () => number;
}

export type KeepBlob = (digest: Digest, content: Content) => Promise<void>;
/** From `offset` on, for what has been sent in part already. */
export type ReadBlob = (digest: Digest, offset: number) => Promise<Content>;
export type SettledBlob = (digest: Digest, sent: boolean) => void;

export class RemoteFault extends Error {
  constructor(why: string, options?: { cause?: unknown }) {
    super(why, options);
    this.name = 'RemoteFault';
  }
}

export function lacks({ hash }: Digest): RemoteFault {
  return new RemoteFault(`its result names ${hash}, which it does not have`);
}
