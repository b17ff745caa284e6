// The port for a shared remote cache. Every failure is a RemoteFault; after the first one the remote is not
// used again in this run. A refused write is the exception: reading goes on. Nothing from a remote is
// trusted: the local store verifies every blob.
//
// Blobs are passed as lists, because only the remote knows how to transfer many: one request each, or
// batches.
import type { Digest, Hash } from '../../core/digest.ts';
import { messageOf } from '../../core/errors.ts';
import type { InlinedBlob } from '../../core/inlined-blobs.ts';
import type { StepId } from '../../core/metadata/step-id.ts';
import type { Content } from '../../store/store.ts';

/** `compare`: the result is not wanted. A new one is compared with it. An Assay server counts no lookup then. */
export type Purpose = 'use' | 'compare';

/** What a lookup tells beside the key. */
export interface Asking {
  readonly purpose?: Purpose;
  /** The step of the action: for a miss, an Assay server tells what it did before. */
  readonly step?: StepId;
  /** Called for a miss with the encoded EarlierAction, if the server sent one. */
  onEarlier?(message: Uint8Array): void;
}

/** The path sets of actions at a remote, and the results that they lead to. */
export interface RemoteLists {
  /**
   * The path sets of an action. Undefined if the remote keeps no such lists: only an Assay server does, and no
   * other one is asked twice.
   */
  listPathSets(action: Hash, asking?: Asking): Promise<PathSetList | undefined>;
  /**
   * The first of these results that the remote has, in one request. For a remote that keeps lists.
   * `afterPrediction`: the list came with a prediction, which was wrong.
   */
  findResult(
    action: Hash,
    candidates: readonly ResultCandidate[],
    afterPrediction: boolean,
    asking?: Asking,
  ): Promise<FoundResult | undefined>;
}

/** The same lists, asked in this way. */
export function listsOf(remote: RemoteLists, asking: Asking): RemoteLists {
  return {
    listPathSets: (action) => remote.listPathSets(action, asking),
    findResult: (action, candidates, afterPrediction) =>
      remote.findResult(action, candidates, afterPrediction, asking),
  };
}

export interface Remote extends RemoteLists {
  /** False after the first fault. */
  readonly usable: boolean;
  /** False after the first refused write. */
  readonly takesWrites: boolean;
  /** Cancels all transfers. From now on the remote counts as faulty. */
  giveUp(why: string): void;
  /** The ActionResult of a key; undefined for a miss. */
  getResult(key: Digest): Promise<Uint8Array | undefined>;
  /** Where the last `getResult` or `findResult` found this result. Only an Assay server with tokens says so. */
  namespaceOf(key: Hash): string | undefined;
  /** `diverged`: the server had another result first and keeps it. Only an Assay server reports this. */
  putResult(key: Digest, result: Uint8Array): Promise<'stored' | 'diverged'>;
  /** A blob that came with a result and that `getBlobs` has not passed on yet. It is not verified. */
  inlinedBlob(hash: Hash): Buffer | undefined;
  /** Passes each blob to `keep`, several at a time. A missing blob is a fault; an error of `keep` is not. */
  getBlobs(digests: readonly Digest[], keep: KeepBlob): Promise<void>;
  /**
   * Reads and sends the blobs that the remote lacks. Calls `onPresent` for each one, sent or already present.
   */
  putBlobs(digests: readonly Digest[], read: ReadBlob, onPresent: OnBlobPresent): Promise<void>;
  /** Adds a path set that the remote has as a blob. False if the remote keeps no lists. */
  addPathSet(action: Hash, set: Hash): Promise<boolean>;
  /** The server announced that it takes results with their blobs. Only an Assay server does, over HTTP. */
  readonly takesPublications: boolean;
  /**
   * Sends a result, its small blobs and its path set in one request. `listed`: the action has path sets by
   * now, and nothing was stored. For a remote that takes publications.
   */
  publish(publication: Publication): Promise<'stored' | 'diverged' | 'listed'>;
  /**
   * Sends a result that must not be served; the remote has its blobs. True if the remote keeps it beside a
   * result of the same key with other outputs. For a remote that takes publications.
   */
  putRival(action: Hash, key: Digest, result: Uint8Array): Promise<boolean>;
  /** The newest form of reports of runs that the server takes. 0: none. Only an Assay server takes any. */
  readonly reportForm: number;
  close(): Promise<void>;
}

export interface Publication {
  /** The key of the action. */
  readonly action: Hash;
  /** The key of the result. */
  readonly key: Digest;
  readonly result: Uint8Array;
  /** Every other blob that the result names is at the remote already. */
  readonly blobs: readonly InlinedBlob[];
  /** The path set that leads to the result. It is among the blobs, or at the remote already. */
  readonly set: Hash | undefined;
  /** Store nothing if the action has path sets. */
  readonly isFirst: boolean;
}

export interface PathSetList {
  /** Encoded, the most recently used first. */
  readonly sets: readonly Uint8Array[];
  /** Without sets: the remote has no result under the action's own key either. */
  readonly isMiss: boolean;
  readonly predicted?: PredictedResult | undefined;
}

/**
 * The result that the first set led to when it was recorded. Here and now the set may lead to another one.
 * Without sets, the result under the action's own key.
 */
export interface PredictedResult {
  readonly key: Hash;
  /** The result. Call it only if the key is the wanted one: then the remote holds the inlined blobs. */
  use(): Uint8Array;
}

export interface ResultCandidate {
  /** The digest of the path set that leads to the result. */
  readonly set: Hash;
  readonly result: Hash;
}

export interface FoundResult {
  readonly key: Hash;
  readonly result: Uint8Array;
}

export interface RemoteOptions {
  readonly url: URL;
  readonly token?: string | undefined;
  readonly now: () => number;
  /** What the server takes the client for. */
  readonly tool?: 'assay' | 'gocacheprog';
  /** The bundle that an import is writing from. An Assay server records it with each write. */
  readonly bundle?: Hash;
}

export type KeepBlob = (digest: Digest, content: Content) => Promise<void>;
/** `offset`: where to start, for a blob that was partly sent. */
export type ReadBlob = (digest: Digest, offset: number) => Promise<Content>;
export type OnBlobPresent = (digest: Digest, sent: boolean) => void;

export class RemoteFault extends Error {
  constructor(why: string, options?: { cause?: unknown }) {
    super(why, options);
    this.name = 'RemoteFault';
  }
}

/** The remote refuses writes: it is read-only, full, or wants another token. */
export class WriteRefused extends RemoteFault {
  /** A retry is useless: the refusal is about the token, not about space. */
  readonly isPermanent: boolean;

  constructor(why: string, isLasting: boolean) {
    super(why);
    this.isPermanent = isLasting;
  }
}

/** The response header with the outcome of a result upload to an Assay server. */
export const OUTCOME_HEADER = 'assay-outcome';

interface FaultEvent {
  readonly type: 'remote-given-up' | 'remote-takes-nothing';
  readonly why: string;
}

/** Gives up the remote unless it only refused a write, and returns the event to report. */
export function handleFault(remote: Remote, error: unknown): FaultEvent {
  const why = messageOf(error);
  if (error instanceof WriteRefused) return { type: 'remote-takes-nothing', why };
  remote.giveUp(why);
  return { type: 'remote-given-up', why };
}

export function missingBlobFault({ hash }: Digest): RemoteFault {
  return new RemoteFault(`its result names ${hash}, which it does not have`);
}
