// The events of a store: what happens beside its answers. Loggers and counters consume them.
// The store never waits for a listener, and it does not catch what a listener throws.
import type { Digest, Hash } from '../core/digest.ts';
import type { ResultAddress } from './store.ts';

export type StoreEvent =
  /** Stored bytes failed their check. The blob is out of the index and is not served. */
  | { readonly type: 'quarantined'; readonly hash: Hash; readonly detail: string }
  /** A bucket does not have an object that the index names. The blob is out of the index. */
  | { readonly type: 'lost'; readonly hash: Hash; readonly detail: string }
  /**
   * PostgreSQL no longer has what this node acknowledged in the last minute: it failed over to a standby that lacked
   * the tail. All of it is a miss from now on.
   */
  | { readonly type: 'forgotten'; readonly blobs: number; readonly results: number }
  /** A stored result failed its check and was removed. It is a miss from now on. */
  | { readonly type: 'result-dropped'; readonly address: ResultAddress; readonly detail: string }
  /** A stored result was not served, because a blob that it names is missing. */
  | { readonly type: 'incomplete'; readonly address: ResultAddress; readonly missing: readonly Digest[] }
  /** The key already has a result, and a new result came with other outputs. */
  | { readonly type: 'diverged'; readonly address: ResultAddress }
  /** The key's content may change, and a new result with other outputs has replaced one that was a hit. */
  | { readonly type: 'replaced'; readonly address: ResultAddress }
  /**
   * The least recently used entries were removed to stay within the limit. `bytes`: content that was freed.
   * `unusedMs`: how long the last of them had not been used, if the engine knows it.
   */
  | {
      readonly type: 'evicted';
      readonly results: number;
      readonly blobs: number;
      readonly bytes: number;
      readonly unusedMs?: number;
    }
  /**
   * Index and folder differed. `strays`: files without an entry. `removed`: strays that were deleted. `lost`:
   * entries without a file.
   */
  | {
      readonly type: 'reconciled';
      readonly strays: number;
      readonly removed: number;
      readonly lost: number;
    }
  | { readonly type: 'eviction-failed'; readonly detail: string }
  /** A blob was served, but its lease could not be written. */
  | { readonly type: 'unleased'; readonly detail: string }
  /** The bucket's credentials could not be renewed. Told once for each cause. The old ones are used while they are valid. */
  | { readonly type: 'credentials-not-renewed'; readonly source: string; readonly detail: string }
  | { readonly type: 'credentials-renewed'; readonly source: string }
  /** The clock of this machine differs from the bucket's. Requests are signed with the bucket's time. */
  | { readonly type: 'clock-differs'; readonly behindMs: number }
  /** Files that dead processes left in staging were removed. */
  | { readonly type: 'swept'; readonly files: number; readonly bytes: number }
  /** The database of this node must not delete objects of its bucket: why, and what to do. Repeated each hour. */
  | { readonly type: 'not-owner'; readonly detail: string }
  /** It may again. */
  | { readonly type: 'owner' }
  /** So many of the objects have no row that none of them is deleted: something else is wrong. */
  | {
      readonly type: 'too-many-orphans';
      readonly orphans: number;
      readonly listed: number;
      readonly detail: string;
    }
  /**
   * What the janitor of a fleet has removed in one round. Entries as in `evicted`, and objects of the bucket:
   * `condemned`: of uploads that nobody continues. `deleted`: those that were condemned long enough. `orphans`:
   * condemned, because no row names them. `refused`: the bucket would not delete them.
   */
  | {
      readonly type: 'cleaned';
      readonly results: number;
      readonly blobs: number;
      readonly bytes: number;
      readonly unusedMs?: number;
      readonly condemned: number;
      readonly deleted: number;
      readonly orphans: number;
      readonly refused: number;
    }
  /** This node is no longer the janitor of its fleet: PostgreSQL does not answer, or a pooler is in between. */
  | { readonly type: 'janitor-lost'; readonly detail: string };

export type OnStoreEvent = (event: StoreEvent) => void;
