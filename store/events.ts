// Everything that a store wants known beyond its answers. Loggers and counters consume it; nothing in the store waits
// for them, and what they throw is theirs.
import type { Digest, Hash } from '../core/digest.ts';
import type { ResultAddress } from './store.ts';

export type StoreEvent =
  /** Stored bytes no longer matched their record. They are out of the index and will not be served. */
  | { readonly type: 'quarantined'; readonly hash: Hash; readonly detail: string }
  /** A stored result was unreadable and is gone; it is a miss from now on. */
  | { readonly type: 'result-dropped'; readonly address: ResultAddress; readonly detail: string }
  /** A stored result was not served, because content that it names is gone. */
  | { readonly type: 'incomplete'; readonly address: ResultAddress; readonly missing: readonly Digest[] }
  /** The key has a result already, and a new one came with other outputs. */
  | { readonly type: 'diverged'; readonly address: ResultAddress }
  /** The least recently used was removed, because the store may hold no more. `bytes` is what became free. */
  | {
      readonly type: 'evicted';
      readonly results: number;
      readonly blobs: number;
      readonly bytes: number;
    }
  /** The index and the folder did not fit: files without an entry (some of them removed), entries without a file. */
  | {
      readonly type: 'reconciled';
      readonly strays: number;
      readonly removed: number;
      readonly lost: number;
    }
  | { readonly type: 'eviction-failed'; readonly detail: string }
  /** Content was given out, but that it is in use could not be written down. */
  | { readonly type: 'unleased'; readonly detail: string }
  /** Files that dead processes left behind were removed. */
  | { readonly type: 'swept'; readonly files: number; readonly bytes: number };

export type OnStoreEvent = (event: StoreEvent) => void;
