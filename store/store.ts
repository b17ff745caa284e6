// The store's verbs. The disk and memory engines speak them, each decorator takes them and gives them back, and the
// client and the server know nothing else. open.ts says which decorators stand around an engine, and in which order.
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
   * `atOnce` is asked before each read: so many chunks may come in one piece.
   */
  chunks(offset?: number, length?: number, chunksPerRead?: () => number): AsyncIterable<Buffer>;
}

export interface Blobs {
  get(hash: Hash): Promise<Blob | undefined>;
  /** Resolves when the content is durable and visible. Wrong content is refused, and nothing of it is kept. */
  put(expected: Expected, content: Content): Promise<Digest>;
  /** Exactly those that `get` would not return with that size. The others are leased: they stay for STORE.leaseMs. */
  missing(digests: readonly Digest[]): Promise<Digest[]>;
  /** Leases those of them that are there. */
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
  /** Says that it was a hit, with everything that it names. */
  markUsed(address: ResultAddress, result: StoredResult): Promise<void>;
  /** Only while `replacing`, as `get` gave it, is still what is there; false if another writer was first. */
  put(address: ResultAddress, result: StoredResult, replacing: StoredResult | undefined): Promise<boolean>;
}

export interface UploadStatus {
  /** How many bytes will be there after a crash: the next part begins here. */
  readonly committed: number;
  /** The upload is a blob now, and no upload any more. */
  readonly isFinished: boolean;
  /** Of the whole; known once it is finished. */
  readonly digest?: Digest | undefined;
}

export interface UploadPart {
  /** Of the whole, and the same with each part. */
  readonly expected: Expected;
  readonly offset: number;
  readonly content: Content;
  /** Of the content, where its sender has announced it: room is found for all of it before the first byte. */
  readonly length?: number | undefined;
  /**
   * With this part the whole is there: it is verified and becomes a blob, or is refused and dropped. A function is asked
   * when the content has ended.
   */
  readonly isLast: boolean | (() => boolean);
}

export function isLastPart({ isLast }: UploadPart): boolean {
  return typeof isLast === 'function' ? isLast() : isLast;
}

/**
 * Blobs that arrive in several parts, over connections that break and servers that are started anew. An id is opaque,
 * and scoped by the caller; one that nobody continues for STORE.abandonedUploadMs is forgotten.
 */
export interface Uploads {
  /** Undefined for one that was never begun, is finished, or is forgotten. */
  status(id: string): Promise<UploadStatus | undefined>;
  /**
   * Refused with ASSAY_BAD_OFFSET unless the part begins where the upload stands. What arrives before its content fails
   * stays. A part for an upload on which another is still arriving takes its place: the other one fails.
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

/** Names of results that are found by their beginning. A label never changes what it names while that is there. */
export interface Labels {
  put(address: LabelAddress, key: Hash): Promise<'stored' | 'taken'>;
  /**
   * The label `exact`, else of all that begin with the first of the prefixes the newest, else with the second … Only
   * those count whose result would be a hit now.
   */
  newest(namespace: Namespace, prefixes: readonly string[], exact?: string): Promise<Labelled | undefined>;
}

/** What an engine keeps of labels: it knows nothing of results. */
export interface LabelRecords {
  get(address: LabelAddress): Promise<Labelled | undefined>;
  /** Newest first, found as they are asked for. */
  withPrefix(namespace: Namespace, prefix: string): AsyncIterable<Labelled>;
  /** Only while `replacing`, as `get` gave it, is still what is there; false if another writer was first. */
  put(address: LabelAddress, key: Hash, replacing: Labelled | undefined): Promise<boolean>;
}

/** `gone`: somebody has removed it, or stored it anew, meanwhile. */
export type Health = 'whole' | 'damaged' | 'gone';

/** `onRead` hears of every piece before the next one is read, and may make it wait. */
export type OnRead = (bytes: number) => Promise<void>;

/** All that a store holds, for whoever looks through it. Nothing that is looked at counts as used. */
export interface Inspection {
  /** Some in the order of their hashes, behind that one or from the first on; none where there are no more. */
  blobsAfter(hash: Hash | undefined): Promise<readonly Digest[]>;
  /** Reads it whole and compares its SHA-256; what is wrong is quarantined. */
  examine(hash: Hash, onRead: OnRead): Promise<Health>;
  /** Some behind a position that an earlier page gave, or from the first on. */
  resultsAfter(position: string | undefined): Promise<ResultsPage>;
}

export interface ResultsPage {
  readonly results: readonly InspectedResult[];
  readonly position: string | undefined;
}

export interface InspectedResult {
  /** Undefined for what no client can ask for, such as what is kept beside another result. */
  readonly address: ResultAddress | undefined;
  readonly isReadable: boolean;
  /** How much of what it names is not there. */
  readonly missing: number;
}

export interface Store {
  readonly blobs: Blobs;
  readonly results: Results;
  readonly uploads: Uploads;
  readonly labels: Labels;
  /** Undefined where there is no disk that could go bad. */
  readonly inspect?: (() => Promise<Inspection>) | undefined;
  /** Why it can't be used now, or not be written to; undefined as above, or when nothing is known to be wrong. */
  readonly fault?: ((isWritten: boolean) => string | undefined) | undefined;
  close(): Promise<void>;
}

/** An engine whose blobs are checked already. */
export interface Engine {
  readonly blobs: Blobs;
  readonly records: ResultRecords;
  readonly uploads: Uploads;
  readonly labels: LabelRecords;
  readonly inspect?: (() => Promise<Inspection>) | undefined;
  readonly fault?: ((isWritten: boolean) => string | undefined) | undefined;
  close(): Promise<void>;
}
