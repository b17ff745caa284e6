// The interface of the store. Every engine (disk, memory, fleet) implements it, each layer takes and returns
// it, and client and server use nothing else. open.ts has the layers and their order.
import type { Digest, Hash } from '../core/digest.ts';
import type { Namespace } from '../core/namespace.ts';
import type { ActionLeases, LabelGuard, LeaseRecords, UnchangedLease } from './action-leases.ts';
import type { History } from './history.ts';

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

/** What reads blobs and stores none. */
export type BlobReader = Pick<Blobs, 'get'>;

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

/** The writer of a result. A server records it; a local store does not. */
export interface Writer {
  /** The name of the identity. */
  readonly name: string;
  /** The address of the client. */
  readonly from: string;
  /** The protocol. */
  readonly via: string;
  /** In milliseconds since 1970. */
  readonly at: number;
}

export interface StoredResult {
  /** The ActionResult as it was sent; unknown fields are kept. */
  readonly bytes: Buffer;
  /** Every blob that it names, including the files of its Trees. */
  readonly references: readonly Digest[];
  readonly writer?: Writer | undefined;
  /** Set by an engine that keeps one: another text for each other result, key or writer. */
  readonly checksum?: string | undefined;
}

/**
 * `diverged`: the key has a result with other outputs. The first result stays, and both are recorded.
 * `replaced`: the key's content may change, and it had other outputs.
 */
export type ResultOutcome = 'stored' | 'unchanged' | 'diverged' | 'replaced';

export interface ResultPutOptions {
  /** For keys whose content may change: the new result replaces the old one without a divergence. */
  readonly replace?: boolean;
  /**
   * The result must not be served. It is kept as the rival of a result with other outputs, and then this is
   * `diverged`; else nothing is stored, and this is `unchanged`.
   */
  readonly asRival?: boolean;
  readonly writer?: Writer | undefined;
}

/** Results as client and server see them. */
export interface Results {
  /**
   * Sees every commit of another process before the call. With `inSameView`, before an earlier call: for the
   * further lookups of one request.
   */
  get(address: ResultAddress, inSameView?: boolean): Promise<StoredResult | undefined>;
  /** `bytes` is an ActionResult. Refused while a blob that it names is missing. */
  put(address: ResultAddress, bytes: Uint8Array, options?: ResultPutOptions): Promise<ResultOutcome>;
  /**
   * Replaces a result by what `change` makes of it, for records that a server keeps itself. Repeated if
   * another writer was first, so no change is lost. Nothing is written if `change` returns undefined. `writer`
   * is kept as the writer of the last change.
   */
  update(address: ResultAddress, change: ResultChange, writer?: Writer): Promise<void>;
}

/** Undefined as the argument: there is no result yet. */
export type ResultChange = (current: Buffer | undefined) => Uint8Array | undefined;

/** Results as an engine stores them, without decoding them. Resolves when the record is durable. */
export interface ResultRecords {
  /** `inSameView` as in Results. */
  get(address: ResultAddress, inSameView?: boolean): Promise<StoredResult | undefined>;
  /** Renews the leases of the result and of every blob that it names. */
  markUsed(address: ResultAddress, result: StoredResult): Promise<void>;
  /** Only if `replacing`, as `get` returned it, is still stored. False if another writer was first. */
  put(address: ResultAddress, result: StoredResult, replacing: StoredResult | undefined): Promise<boolean>;
  /** A page of readable records, after the position of an earlier page or from the first on. */
  after(position: string | undefined): Promise<RecordsPage>;
  /** Only if `seen` is still stored, with the same writer. Then no process finds it any more. */
  remove(address: ResultAddress, seen: StoredResult): Promise<boolean>;
}

export interface RecordsPage {
  readonly records: readonly { readonly address: ResultAddress; readonly result: StoredResult }[];
  /** Undefined after the last page. */
  readonly position: string | undefined;
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
  /** The bytes in this part, if the sender announced them. A part that could never fit is refused at once. */
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
  put(address: LabelAddress, key: Hash, guard?: LabelGuard): Promise<'stored' | 'taken'>;
  /**
   * The label `exact`; otherwise the newest label with the first prefix, then with the second, and so on.
   * Only labels whose result is a hit now count.
   */
  newest(namespace: Namespace, prefixes: readonly string[], exact?: string): Promise<Labelled | undefined>;
  /** Those with this prefix whose result is a hit now, newest first. At most STORE.listedLabels. */
  all(namespace: Namespace, prefix: string): Promise<readonly Labelled[]>;
}

/** Labels as an engine stores them, without regard to results. */
export interface LabelRecords {
  get(address: LabelAddress): Promise<Labelled | undefined>;
  /** Newest first, read on demand. */
  withPrefix(namespace: Namespace, prefix: string): AsyncIterable<Labelled>;
  /** Those that have a label. */
  namespaces(): Promise<Namespace[]>;
  /**
   * Only if `replacing`, as `get` returned it, is still stored, and the lease is unchanged. False if another writer was
   * first.
   */
  put(
    address: LabelAddress,
    key: Hash,
    replacing: Labelled | undefined,
    lease?: UnchangedLease,
  ): Promise<boolean>;
  /** Only if it still has this key. False if it has changed or is gone. */
  remove(address: LabelAddress, key: Hash): Promise<boolean>;
}

/** `gone`: another process removed or replaced the blob meanwhile. */
export type BlobHealth = 'whole' | 'damaged' | 'gone';

/** Called after each piece is read; the next read waits for it. */
export type OnRead = (bytes: number) => Promise<void>;

/** Reads everything in a store. Inspecting renews no lease. */
export interface Inspection {
  /** A page of blobs in the order of their hashes, after `hash` or from the first on. Empty at the end. */
  blobsAfter(hash: Hash | undefined): Promise<readonly InspectedBlob[]>;
  /** The checked bytes of a blob. */
  read(hash: Hash): Promise<Blob | undefined>;
  /** Reads the whole blob and compares its SHA-256. A wrong blob is quarantined. */
  examine(hash: Hash, onRead: OnRead): Promise<BlobHealth>;
  /** A page of results, after the position of an earlier page or from the first on. */
  resultsAfter(position: string | undefined): Promise<ResultsPage>;
}

export interface InspectedBlob extends Digest {
  /** The names of the tenants that have put it. */
  readonly tenants: readonly string[];
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

/** A stored result, or the rival of one, as `Review.results` found it. */
export interface ReviewedResult {
  /** Of a rival: the address of the result that it diverged from. */
  readonly address: ResultAddress;
  readonly result: StoredResult;
  readonly isRival: boolean;
}

export interface Divergence {
  readonly address: ResultAddress;
  /** The one that clients get. */
  readonly first: StoredResult;
  /** The newest of those with other outputs. */
  readonly second: StoredResult;
}

/**
 * Reads and removes the results of all namespaces, for a person who answers an incident. It asks for no
 * blob, and renews no lease.
 */
export interface Review {
  /** Every label, with the key of its result in the same namespace. */
  labels(): AsyncIterable<LabelAddress & Labelled>;
  /** Those that can be read, page by page. A result that is stored meanwhile may be left out. */
  results(): AsyncIterable<ReviewedResult>;
  /**
   * Removes a result or a rival if it is still as it was seen. When this resolves, no process serves it any
   * more. False if it has changed or is gone.
   */
  remove(seen: ReviewedResult): Promise<boolean>;
  /** Removes a label whose result is not stored. False if the label or its result has come or gone meanwhile. */
  removeDeadLabel(seen: LabelAddress & Labelled): Promise<boolean>;
  /** Each key that has a result and a rival. */
  divergences(): AsyncIterable<Divergence>;
}

/** The part of a store that each tenant has for itself. */
export interface TenantParts {
  readonly blobs: Blobs;
  readonly uploads: Uploads;
}

export interface Store extends TenantParts {
  readonly results: Results;
  readonly labels: Labels;
  /**
   * The same store as a tenant sees it; the first part of a namespace names the tenant. A blob is present for the
   * tenants that have put it, and missing for all others, although its bytes are stored once. So a result is
   * a hit only if the tenant itself has every blob that it names. Each tenant has its own upload ids. What is
   * put counts for the accounts of the namespace. Cheap to call for each request.
   *
   * The store itself sees every blob. What is put there belongs to no tenant. Only the store itself has
   * `inspect`, `review` and `history`, which show the content of all tenants.
   */
  tenant(namespace: string): Store;
  /** Undefined for a tenant: a server decides who reads which namespace. */
  readonly history?: History | undefined;
  /** Undefined for a tenant. */
  readonly actionLeases?: ActionLeases | undefined;
  /** Undefined for a tenant. */
  readonly review?: Review | undefined;
  /** Undefined if the store is in memory, and for a tenant. */
  readonly inspect?: (() => Promise<Inspection>) | undefined;
  /** Why the store can't be read or, with `isWritten`, written now. Undefined if no fault is known. */
  readonly fault?: ((isWritten: boolean) => Promise<string | undefined>) | undefined;
  /** Asks each part of the store whether it can be reached: "ok", or why not. Undefined if it has no parts. */
  readonly parts?: (() => Promise<Readonly<Record<string, string>>>) | undefined;
  close(): Promise<void>;
}

/** An engine whose blobs are verified. */
export interface Engine extends TenantParts {
  readonly records: ResultRecords;
  readonly labels: LabelRecords;
  readonly leases: LeaseRecords;
  readonly history: History;
  tenant(namespace: string): TenantParts;
  readonly inspect?: (() => Promise<Inspection>) | undefined;
  readonly fault?: ((isWritten: boolean) => Promise<string | undefined>) | undefined;
  close(): Promise<void>;
}
