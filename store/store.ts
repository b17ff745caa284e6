// The store's verbs. The disk and memory engines speak them, each decorator takes them and gives them back, and the
// client and the server know nothing else. stack.ts says which decorators stand around an engine, and in which order.
import type { Digest, Hash } from '../core/digest.ts';
import type { Namespace } from '../core/namespace.ts';

/** What is put: bytes in hand, or a stream of them. A piece of a stream is the store's only until it asks for the next. */
export type Content = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * What was announced. HTTP uploads without Content-Length do not know their size, and those of tools whose keys are not
 * hashes of the content do not know their hash: they learn both from what `put` resolves to.
 */
export interface Expected {
  readonly hash?: Hash | undefined;
  readonly size?: number | undefined;
}

/** A stored blob. Small ones come as bytes, large ones as chunks that are read when asked for. */
export type Blob = SmallBlob | LargeBlob;

export interface SmallBlob {
  readonly size: number;
  readonly bytes: Buffer;
}

export interface LargeBlob {
  readonly size: number;
  readonly bytes?: undefined;
  /**
   * The bytes from `offset` on, `length` of them at most, in order. A chunk's memory belongs to the consumer only until
   * it asks for the next one. Throws ASSAY_BLOB_CORRUPT before it would yield bytes that are not the right ones.
   */
  chunks(offset?: number, length?: number): AsyncIterable<Buffer>;
}

export interface Blobs {
  get(hash: Hash): Promise<Blob | undefined>;
  /** Resolves when the content is durable and visible. Wrong content is refused, and nothing of it is kept. */
  put(expected: Expected, content: Content): Promise<Digest>;
  /** Exactly those that `get` would not return with that size. */
  missing(digests: readonly Digest[]): Promise<Digest[]>;
  /** Says that these are in use. */
  touch(hashes: readonly Hash[]): Promise<void>;
}

export interface ResultAddress {
  readonly namespace: Namespace;
  readonly key: Hash;
}

export interface StoredResult {
  /** The ActionResult as it was sent: unknown fields come back intact. */
  readonly bytes: Buffer;
  /** Everything it names, the leaves of Trees included. */
  readonly references: readonly Digest[];
}

/** `diverged`: the key has a result already, with other outputs; the first one stays, both are recorded. */
export type ResultOutcome = 'stored' | 'unchanged' | 'diverged';

export interface ResultPutOptions {
  /** For keys whose content may change: another result takes the place of the one that is there, and is no divergence. */
  readonly replace?: boolean;
}

/** What clients and the server see. */
export interface Results {
  get(address: ResultAddress): Promise<StoredResult | undefined>;
  /** `bytes` is an ActionResult; refused while anything that it names is missing. */
  put(address: ResultAddress, bytes: Uint8Array, options?: ResultPutOptions): Promise<ResultOutcome>;
}

/** What an engine keeps: it does not look inside. Resolves when the record is durable. */
export interface ResultRecords {
  get(address: ResultAddress): Promise<StoredResult | undefined>;
  /** Only while `replacing`, as `get` gave it, is still what is there; false if another writer was first. */
  put(address: ResultAddress, result: StoredResult, replacing: StoredResult | undefined): Promise<boolean>;
}

export interface Store {
  readonly blobs: Blobs;
  readonly results: Results;
  close(): Promise<void>;
}
