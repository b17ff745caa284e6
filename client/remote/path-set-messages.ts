// The messages of the path sets of a remote, which HTTP and gRPC share (core/proto/assay.proto).
// Every response is decoded to its last byte or rejected, and no more of it is kept than the limits allow.
import { type Hash, isHash } from '../../core/digest.ts';
import { PATH_SETS } from '../../core/limits.ts';
import { decodeStrict } from '../../core/message.ts';
import { FIND_MARK, LIST_MARK, SET_NAME_BYTES } from '../../core/path-set.ts';
import {
  FindResultRequest,
  FindResultResponse,
  ListPathSetsResponse,
} from '../../core/proto/generated/assay.ts';
import { FLAT } from '../../core/request-shapes.ts';
import { KIB } from '../../core/units.ts';
import { REMOTE } from '../limits.ts';
import { RemoteFault, type ResultCandidate } from './remote.ts';

/** The tags and lengths in a response, generously. */
const FRAMING_BYTES = 64 * KIB;

export const MAX_SETS_BYTES = PATH_SETS.maxListBytes + FRAMING_BYTES;
export const MAX_FOUND_BYTES = REMOTE.maxResultBytes + REMOTE.inlinedBlobsBytes + FRAMING_BYTES;

/**
 * Undefined if the response is no list: then the server keeps none. Only the first sets, if a server sends
 * more than it may.
 */
export function decodeSets(bytes: Uint8Array): Uint8Array[] | undefined {
  if (bytes.length > MAX_SETS_BYTES) return undefined;
  try {
    const { mark, sets } = decodeStrict(ListPathSetsResponse, FLAT, bytes, MALFORMED);
    return mark === LIST_MARK ? sets.slice(0, PATH_SETS.maxListed) : undefined;
  } catch {
    return undefined;
  }
}

export function encodeFind(
  candidates: readonly ResultCandidate[],
  about: { instanceName: string; key: string } = { instanceName: '', key: '' },
): Uint8Array {
  const named = candidates.map(({ set, result }) => ({
    set: Buffer.from(set, 'hex').subarray(0, SET_NAME_BYTES),
    result: Buffer.from(result, 'hex'),
  }));
  const inlinedBytes = REMOTE.inlinedBlobsBytes;
  return FindResultRequest.encode({ ...about, candidates: named, inlinedBytes }).finish();
}

/** Undefined for a miss. `answer`: the result, with inlined blobs behind it. */
export function decodeFound(
  bytes: Uint8Array,
  candidates: readonly ResultCandidate[],
): { key: Hash; answer: Buffer } | undefined {
  const { mark, result: key, answer } = decodeStrict(FindResultResponse, FLAT, bytes, MALFORMED);
  if (mark !== FIND_MARK) throw new RemoteFault(MALFORMED);
  if (key === '') return undefined;
  if (!isHash(key) || !candidates.some(({ result }) => result === key))
    throw new RemoteFault('it sent a result that nobody asked for');
  return { key, answer };
}

const MALFORMED = 'its response is malformed';
