// The messages of the path sets of a remote, which HTTP and gRPC share (core/proto/assay.proto).
// Every response is decoded to its last byte or rejected, and no more of it is kept than the limits allow.
import { type Hash, isHash } from '../../core/digest.ts';
import { PATH_SETS } from '../../core/limits.ts';
import { decodeStrict } from '../../core/message.ts';
import type { StepId } from '../../core/metadata/step-id.ts';
import {
  COMPARISON_HEADER,
  FIND_MARK,
  LIST_MARK,
  PUBLISH_MARK,
  SET_NAME_BYTES,
} from '../../core/path-set.ts';
import {
  FindResultRequest,
  FindResultResponse,
  ListPathSetsResponse,
  PublishResponse,
} from '../../core/proto/generated/assay.ts';
import { FLAT } from '../../core/proto/request-shapes.ts';
import { KIB } from '../../core/units.ts';
import { REMOTE } from '../limits.ts';
import type { Predictions } from './predictions.ts';
import { type Asking, type PathSetList, type Purpose, RemoteFault, type ResultCandidate } from './remote.ts';

/** The tags and lengths in a response, generously. */
const FRAMING_BYTES = 64 * KIB;

/** The sets, and a prediction: a result and its inlined blobs, each up to the accepted size. */
export const MAX_LIST_BYTES = PATH_SETS.maxListBytes + 2 * REMOTE.inlinedBlobsBytes + FRAMING_BYTES;
export const MAX_PUBLISHED_BYTES = FRAMING_BYTES;
export const MAX_FOUND_BYTES = REMOTE.maxResultBytes + REMOTE.inlinedBlobsBytes + FRAMING_BYTES;

/** A list as it came. `answer`: the predicted result, with inlined blobs behind it. */
export interface ReceivedList {
  readonly sets: readonly Uint8Array[];
  readonly takesPublications: boolean;
  readonly isMiss: boolean;
  readonly predicted?: FoundAnswer | undefined;
  /** Of a miss: an encoded EarlierAction, or empty. */
  readonly earlier: Uint8Array;
}

export interface FoundAnswer {
  readonly key: Hash;
  readonly answer: Buffer;
}

/**
 * Undefined if the response is no list: then the server keeps none. Only the first sets, if a server sends
 * more than it may.
 */
export function decodeReceivedList(bytes: Uint8Array): ReceivedList | undefined {
  if (bytes.length > MAX_LIST_BYTES) return undefined;
  try {
    const list = decodeStrict(ListPathSetsResponse, FLAT, bytes, MALFORMED);
    const { mark, sets, takesPublications, isMiss, predicted, answer, earlier } = list;
    if (mark !== LIST_MARK) return undefined;
    return {
      sets: sets.slice(0, PATH_SETS.maxListed),
      takesPublications,
      isMiss,
      earlier,
      ...(isHash(predicted) && { predicted: { key: predicted, answer } }),
    };
  } catch {
    return undefined;
  }
}

/**
 * How many bytes of a prediction to ask for. A client that asks for none learns nothing of a miss either, so a lookup that wants to
 * know of the step before asks for one byte, in which no result fits.
 */
export function inlinedFor({ acceptedBytes }: Predictions, { step }: Asking): number {
  return step === undefined ? acceptedBytes : Math.max(1, acceptedBytes);
}

/** `hold` splits an answer into the result, which it returns, and inlined blobs, which it keeps. */
export function listFrom(
  { sets, isMiss, predicted }: ReceivedList,
  hold: (answer: Buffer) => Uint8Array,
  predictions: Predictions,
): PathSetList {
  if (!predicted) return { sets, isMiss };
  const use = () => {
    predictions.noteRight();
    return hold(predicted.answer);
  };
  return { sets, isMiss, predicted: { key: predicted.key, use } };
}

export function encodeFind(
  candidates: readonly ResultCandidate[],
  afterPrediction: boolean,
  step: StepId | undefined,
  about: { instanceName: string; key: string } = { instanceName: '', key: '' },
): Uint8Array {
  const named = candidates.map(({ set, result }) => ({
    set: Buffer.from(set, 'hex').subarray(0, SET_NAME_BYTES),
    result: Buffer.from(result, 'hex'),
  }));
  const inlinedBytes = REMOTE.inlinedBlobsBytes;
  const asked = { candidates: named, inlinedBytes, afterPrediction, step: stepBytes(step) };
  return FindResultRequest.encode({ ...about, ...asked }).finish();
}

export function stepBytes(step: StepId | undefined): Buffer {
  return Buffer.from(step ?? '', 'hex');
}

/** For a miss, `onEarlier` gets what the server sent beside it. `answer`: the result, with inlined blobs behind it. */
export function decodeFound(
  bytes: Uint8Array,
  candidates: readonly ResultCandidate[],
  onEarlier: Asking['onEarlier'],
): FoundAnswer | undefined {
  const { mark, result: key, answer, earlier } = decodeStrict(FindResultResponse, FLAT, bytes, MALFORMED);
  if (mark !== FIND_MARK) throw new RemoteFault(MALFORMED);
  if (key === '') {
    if (earlier.length > 0) onEarlier?.(earlier);
    return undefined;
  }
  if (!isHash(key) || !candidates.some(({ result }) => result === key))
    throw new RemoteFault('it sent a result that nobody asked for');
  return { key, answer };
}

/** Throws if the server did not understand the request. */
export function decodePublished(bytes: Uint8Array): 'stored' | 'diverged' | 'listed' {
  const { mark, outcome } = decodeStrict(PublishResponse, FLAT, bytes, MALFORMED);
  if (mark !== PUBLISH_MARK) throw new RemoteFault(MALFORMED);
  return outcome === 'diverged' || outcome === 'listed' ? outcome : 'stored';
}

/** What a request sends besides the usual headers. */
export function headersFor(purpose: Purpose = 'use'): Record<string, string> {
  return purpose === 'compare' ? { [COMPARISON_HEADER]: '1' } : {};
}

const MALFORMED = 'its response is malformed';
