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
  /** Files that dead processes left behind were removed. */
  | { readonly type: 'swept'; readonly files: number; readonly bytes: number };

export type OnStoreEvent = (event: StoreEvent) => void;
