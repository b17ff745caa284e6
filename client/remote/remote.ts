// A shared cache somewhere else, as the flow sees it. Every fault of it is one exception, RemoteFault; after the first
// the remote answers nothing more in this run. Only that it takes nothing from here is no such fault: what it has can be read
// all the same. Nothing that it says is believed: blobs are checked by the local store.
//
// Blobs travel by the list, because only the remote knows how it moves many at once: one request each, or batches.
import type { Digest } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import type { Content } from '../../store/store.ts';

export interface Remote {
  /** False after its first fault. */
  readonly usable: boolean;
  /** False once it has refused a write. */
  readonly takesWrites: boolean;
  /** Ends all that is under way; from now on it counts as faulty. */
  giveUp(why: string): void;
  /** The ActionResult under a key, or undefined for a miss. */
  getResult(key: Digest): Promise<Uint8Array | undefined>;
  /** `diverged`: another result was there first, and stays. Only an Assay says so. */
  putResult(key: Digest, result: Uint8Array): Promise<'stored' | 'diverged'>;
  /** Hands each blob to `keep`, several at a time. A blob that it does not have is its fault, `keep`'s errors are not. */
  getBlobs(digests: readonly Digest[], keep: KeepBlob): Promise<void>;
  /** Those that it lacks are read and sent; `settled` hears of each, sent or there already. */
  putBlobs(digests: readonly Digest[], read: ReadBlob, settled: OnBlobPresent): Promise<void>;
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
export type OnBlobPresent = (digest: Digest, sent: boolean) => void;

export class RemoteFault extends Error {
  constructor(why: string, options?: { cause?: unknown }) {
    super(why, options);
    this.name = 'RemoteFault';
  }
}

/** It answers, but takes nothing from here: it only gives, has no room, or wants another token for that. */
export class WriteRefused extends RemoteFault {
  /** Trying again is of no use: it is not about room, but about who asks. */
  readonly isPermanent: boolean;

  constructor(why: string, isLasting: boolean) {
    super(why);
    this.isPermanent = isLasting;
  }
}

/** The header in which an Assay tells what became of a result that it was sent. */
export const OUTCOME_HEADER = 'assay-outcome';

export interface FaultEvent {
  readonly type: 'remote-given-up' | 'remote-takes-nothing';
  readonly why: string;
}

/** What a fault means for the rest of the run; and what is to be told of it. */
export function handleFault(remote: Remote, error: unknown): FaultEvent {
  const why = messageOf(error);
  if (error instanceof WriteRefused) return { type: 'remote-takes-nothing', why };
  remote.giveUp(why);
  return { type: 'remote-given-up', why };
}

export function missingBlobFault({ hash }: Digest): RemoteFault {
  return new RemoteFault(`its result names ${hash}, which it does not have`);
}
