// The interface of the store. Both engines implement it, each layer takes and returns it, and client and
// server use
// nothing else. open.ts has the layers and their order.
import type { Digest, Hash } from '../core/digest.ts';
import type { Namespace } from '../core/namespace.ts';

/**
 * The content of a put: bytes, or a stream. The store uses a piece of a stream only until it asks for the
 * next one.
 */
export type Content = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * The digest that the sender announced. An HTTP upload without Content-Length has no size. A tool with opaque
 * keys has no hash. `put` resolves to the digest in both cases.
 */
export interface Expected {
  readonly hash?: Hash | undefined;
  readonly size?: number | undefined;
}

/** A stored blob. A small blob comes as bytes, a large one as chunks that are read on demand. */
export type Blob = SmallBlob | LargeBlob;

export interface SmallBlob {
  readonly size: number;
  readonly bytes: Buffer;
}

export interface LargeBlob {
  readonly size: number;
  readonly bytes?: undefined;
  /**
   * The bytes from `offset` on, at most `length` of them, in order. The consumer may use a chunk only until
   * it asks for the next one. Throws ASSAY_BLOB_CORRUPT instead of yielding a wrong byte. `chunksPerRead` is
   * called before each read: that many chunks may come as one piece.
   */
  chunks(offset?: number, length?: number, chunksPerRead?: () => number): AsyncIterable<Buffer>;
}

export interface Blobs {
  get(hash: Hash): Promise<Blob | undefined>;
  /**
   * Resolves when the content is durable and visible. Content with another digest is refused, and nothing of
   * it is kept.
   */
  put(expected: Expected, content: Content): Promise<Digest>;
  /** Exactly the blobs that `get` would not return with that size. Leases the others for STORE.leaseMs. */
  missing(digests: readonly Digest[]): Promise<Digest[]>;
  /** Leases those that are present. */
  touch(hashes: readonly Hash[]): Promise<void>;
}

export interface ResultAddress {
  readonly namespace: Namespace;
  readonly key: Hash;
}

export interface StoredResult {
  /** The ActionResult as it was sent; unknown fields are kept. */
  readonly bytes: Buffer;
  /** Every blob that it names, including the files of its Trees. */
  readonly references: readonly Digest[];
}

/** `diverged`: the key has a result with other outputs. The first result stays, and both are recorded. */
export type ResultOutcome = 'stored' | 'unchanged' | 'diverged';

export interface ResultPutOptions {
  /** For keys whose content may change: the new result replaces the old one without a divergence. */
  readonly replace?: boolean;
}

/** Results as client and server see them. */
export interface Results {
  get(address: ResultAddress): Promise<StoredResult | undefined>;
  /** `bytes` is an ActionResult. Refused while a blob that it names is missing. */
  put(address: ResultAddress, bytes: Uint8Array, options?: ResultPutOptions): Promise<ResultOutcome>;
}

/** Results as an engine stores them, without decoding them. Resolves when the record is durable. */
export interface ResultRecords {
  get(address: ResultAddress): Promise<StoredResult | undefined>;
  /** Renews the leases of the result and of every blob that it names. */
  markUsed(address: ResultAddress, result: StoredResult): Promise<void>;
  /** Only if `replacing`, as `get` returned it, is still stored. False if another writer was first. */
  put(address: ResultAddress, result: StoredResult, replacing: StoredResult | undefined): Promise<boolean>;
}

export interface UploadStatus {
  /** How many bytes survive a crash. The next part begins here. */
  readonly committed: number;
  /** The upload has become a blob. */
  readonly isFinished: boolean;
  /** Of the whole content; set when the upload is finished. */
  readonly digest?: Digest | undefined;
}

export interface UploadPart {
  /** Of the whole content, and the same with each part. */
  readonly expected: Expected;
  readonly offset: number;
  readonly content: Content;
  /** The bytes in this part, if the sender announced them. Then space is reserved before the first byte. */
  readonly length?: number | undefined;
  /**
   * This part ends the upload: the content is verified and becomes a blob, or is refused and dropped. A
   * function is called when the content has ended.
   */
  readonly isLast: boolean | (() => boolean);
}

export function isLastPart({ isLast }: UploadPart): boolean {
  return typeof isLast === 'function' ? isLast() : isLast;
}

/**
 * Blobs that arrive in several parts, across broken connections and restarts of the server. The caller
 * chooses the id and its scope. An upload is dropped if it gets no part for STORE.abandonedUploadMs.
 */
export interface Uploads {
  /** Undefined if the upload never began, is finished, or was dropped. */
  status(id: string): Promise<UploadStatus | undefined>;
  /**
   * Refused with ASSAY_BAD_OFFSET unless the part begins at `committed`. If the content fails, the bytes
   * before the failure stay. A newer part interrupts an older one of the same upload, and the older one
   * fails.
   */
  append(id: string, part: UploadPart): Promise<UploadStatus>;
  cancel(id: string): Promise<void>;
}

export interface LabelAddress {
  readonly namespace: Namespace;
  readonly label: string;
}

export interface Labelled {
  readonly label: string;
  /** Of a result in the same namespace. */
  readonly key: Hash;
}

/** Names of results, found by prefix. A label keeps its result for as long as that result is a hit. */
export interface Labels {
  put(address: LabelAddress, key: Hash): Promise<'stored' | 'taken'>;
  /**
   * The label `exact`; otherwise the newest label with the first prefix, then with the second, and so on.
   * Only labels whose result is a hit now count.
   */
  newest(namespace: Namespace, prefixes: readonly string[], exact?: string): Promise<Labelled | undefined>;
}

/** Labels as an engine stores them, without regard to results. */
export interface LabelRecords {
  get(address: LabelAddress): Promise<Labelled | undefined>;
  /** Newest first, read on demand. */
  withPrefix(namespace: Namespace, prefix: string): AsyncIterable<Labelled>;
  /** Only if `replacing`, as `get` returned it, is still stored. False if another writer was first. */
  put(address: LabelAddress, key: Hash, replacing: Labelled | undefined): Promise<boolean>;
}

/** `gone`: another process removed or replaced the blob meanwhile. */
export type Health = 'whole' | 'damaged' | 'gone';

/** Called after each piece is read; the next read waits for it. */
export type OnRead = (bytes: number) => Promise<void>;

/** Reads everything in a store. Inspecting renews no lease. */
export interface Inspection {
  /** A page of blobs in the order of their hashes, after `hash` or from the first on. Empty at the end. */
  blobsAfter(hash: Hash | undefined): Promise<readonly Digest[]>;
  /** Reads the whole blob and compares its SHA-256. A wrong blob is quarantined. */
  examine(hash: Hash, onRead: OnRead): Promise<Health>;
  /** A page of results, after the position of an earlier page or from the first on. */
  resultsAfter(position: string | undefined): Promise<ResultsPage>;
}

export interface ResultsPage {
  readonly results: readonly InspectedResult[];
  readonly position: string | undefined;
}

export interface InspectedResult {
  /** Undefined for results that no client can ask for, such as the rival of another result. */
  readonly address: ResultAddress | undefined;
  readonly isReadable: boolean;
  /** How many of the blobs that it names are missing. */
  readonly missing: number;
}

export interface Store {
  readonly blobs: Blobs;
  readonly results: Results;
  readonly uploads: Uploads;
  readonly labels: Labels;
  /** Undefined if the store has no disk. */
  readonly inspect?: (() => Promise<Inspection>) | undefined;
  /** Why the store can't be read or, with `isWritten`, written now. Undefined if no fault is known. */
  readonly fault?: ((isWritten: boolean) => string | undefined) | undefined;
  close(): Promise<void>;
}

/** An engine whose blobs are verified. */
export interface Engine {
  readonly blobs: Blobs;
  readonly records: ResultRecords;
  readonly uploads: Uploads;
  readonly labels: LabelRecords;
  readonly inspect?: (() => Promise<Inspection>) | undefined;
  readonly fault?: ((isWritten: boolean) => string | undefined) | undefined;
  close(): Promise<void>;
}
