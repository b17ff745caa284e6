// The path sets of an action: lists them, adds one, and finds the first result that they lead to.
// A listed set is whole: a set whose blob is gone or damaged is left out. Nothing is listed before it is
// stored.
//
// The client decides whether a set holds. So the server trusts no set: it only bounds their number and bytes.

import { type Hash, parseHash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { appendBlobs } from '../../../core/inlined-blobs.ts';
import { PATH_SETS } from '../../../core/limits.ts';
import type { StepId } from '../../../core/metadata/step-id.ts';
import type { Namespace } from '../../../core/namespace.ts';
import {
  decodePathSet,
  FIND_MARK,
  LIST_MARK,
  pathSetId,
  resultKey,
  SET_NAME_BYTES,
} from '../../../core/path-set.ts';
import {
  type FindResultRequest,
  FindResultResponse,
  ListPathSetsResponse,
} from '../../../core/proto/generated/assay.ts';
import type { Blobs } from '../../../store/store.ts';
import { all } from '../../access/rights.ts';
import type { RequestContext } from '../../context.ts';
import { wholeBlob } from '../../http/blob-bytes.ts';
import { selectBlobs } from '../shared/inlined-blobs.ts';
import { earlierAction, stepIn } from './earlier.ts';
import { decodeList, encodeList, type ListEntry, listAddress, withFirst } from './list-record.ts';

/** The list of one action. */
export interface ListName {
  readonly namespace: Namespace;
  readonly key: Hash;
}

/** A set is a blob, and its list a result. */
export const GET_SETS = all('results:read', 'blobs:read');
export const PUT_SET = all('results:write');

export interface ListOptions {
  /** How many bytes of a prediction the client accepts. */
  readonly accepted: number;
  /** The server takes a publication in one request, from a client that may write. */
  readonly takesPublications: boolean;
  /** Whose earlier action the client wants to know if there is no result. */
  readonly step?: StepId | undefined;
}

/**
 * An encoded ListPathSetsResponse. Empty if there are no sets. All sets of the own namespace come first, then
 * all of the next one that the identity reads.
 */
export async function listPathSets(
  request: RequestContext,
  { namespace, key }: ListName,
  { accepted, takesPublications, step }: ListOptions,
): Promise<Buffer> {
  const {
    store,
    server: { metrics },
  } = request;
  const entries: ListEntry[] = [];
  for await (const { bytes } of store.results.everywhere(listAddress(namespace, key)))
    entries.push(...decodeList(bytes));
  const gone = new Set((await store.blobs.missing(entries.map(({ set }) => set))).map(({ hash }) => hash));
  const sets: Buffer[] = [];
  let expected: Hash | undefined;
  let bytesLeft: number = PATH_SETS.maxListBytes;
  for (const { set, result } of withoutRepeats(entries)) {
    if (gone.has(set.hash) || set.size > bytesLeft) continue;
    const bytes = await readIfWhole(set.hash, store.blobs);
    if (!bytes) continue;
    if (sets.length === 0) expected = result;
    bytesLeft -= bytes.length;
    sets.push(bytes);
  }
  metrics.lookedUp('path-sets', sets.length > 0);
  const hasSets = sets.length > 0;
  const name = { namespace, key };
  const prediction = await predict(request, name, hasSets ? expected : key, accepted);
  const isMiss = !hasSets && accepted > 0 && prediction === 'not stored';
  /* A client of an older version that gets no set asks for the action's own key, which is counted there. */
  if (isMiss) request.lookedUp('ac', 'assay', false, { namespace, key });
  const predicted = typeof prediction === 'string' ? NO_PREDICTION : prediction;
  const earlier = isMiss ? await earlierAction(request, name, step) : NO_BYTES;
  const list = { mark: LIST_MARK, sets, takesPublications, isMiss, ...predicted, earlier };
  const answer = Buffer.from(ListPathSetsResponse.encode(list).finish());
  metrics.sent(answer.length);
  return answer;
}

/** False if no list that the identity reads has a set. */
export async function hasPathSets({ store }: RequestContext, { namespace, key }: ListName): Promise<boolean> {
  for await (const { bytes } of store.results.everywhere(listAddress(namespace, key)))
    if (decodeList(bytes).length > 0) return true;
  return false;
}

type Prediction = Pick<ListPathSetsResponse, 'predicted' | 'answer'>;

const NO_BYTES = Buffer.alloc(0);
const NO_PREDICTION: Prediction = { predicted: '', answer: NO_BYTES };

/**
 * The result that the first set led to when it was recorded, which saves the client the second request. A client
 * that uses it does not ask again.
 */
async function predict(
  request: RequestContext,
  { namespace, key }: ListName,
  expected: Hash | undefined,
  accepted: number,
): Promise<Prediction | 'not stored' | 'not sent'> {
  const { inlinedBlobsBytes } = request.server.limits;
  if (!(accepted > 0) || !expected) return 'not sent';
  const result = await request.store.results.get({ namespace, key: expected });
  if (!result) return 'not stored';
  if (result.bytes.length > Math.min(accepted, inlinedBlobsBytes)) return 'not sent';
  request.predicted({ namespace, key });
  const blobs = await selectBlobs(request, result.bytes, accepted);
  return { predicted: expected, answer: appendBlobs({ result: result.bytes, blobs }) };
}

/** Of two namespaces that have the same set, the first one counts. At most as many as one list may have. */
function withoutRepeats(entries: readonly ListEntry[]): ListEntry[] {
  const seen = new Set<Hash>();
  const isNew = ({ set: { hash } }: ListEntry) => !seen.has(hash) && seen.add(hash);
  return entries.filter(isNew).slice(0, PATH_SETS.maxListed);
}

/** The damaged blob was quarantined by the read. */
async function readIfWhole(hash: Hash, blobs: Blobs): Promise<Buffer | undefined> {
  try {
    const blob = await blobs.get(hash);
    return blob && (await wholeBlob(blob));
  } catch (error) {
    if (error instanceof AssayError && error.code === 'ASSAY_BLOB_CORRUPT') return undefined;
    throw error;
  }
}

/** The set is stored as a blob already. It becomes the first of the list. */
export async function addToList(
  { store, server: { lifecycle } }: RequestContext,
  { namespace, key }: ListName,
  set: Hash,
): Promise<void> {
  const blob = await store.blobs.get(set);
  if (!blob) throw new AssayError('ASSAY_RESULT_INCOMPLETE', `missing: the path set ${set}`);
  if (blob.size > PATH_SETS.maxSetBytes)
    throw new AssayError('ASSAY_TOO_LARGE', `the limit for a path set is ${PATH_SETS.maxSetBytes} bytes`);
  const paths = decodePathSet(await wholeBlob(blob));
  const { hash: result } = resultKey(key, paths, ({ state }) => state);
  const entry = { id: pathSetId(paths), set: { hash: set, size: blob.size }, result };
  const address = listAddress(namespace, key);
  let isAdded = false;
  await lifecycle.whileWriting(() =>
    store.results.update(address, (record) => {
      const entries = withFirst(decodeList(record), entry, PATH_SETS.maxListed);
      isAdded = entries !== undefined;
      return entries && encodeList(entries);
    }),
  );
  if (isAdded) store.notePathSet(address, set);
}

type Candidates = Pick<FindResultRequest, 'candidates' | 'inlinedBytes' | 'afterPrediction' | 'step'>;

/** An encoded FindResultResponse: the first result that is stored, or none. */
export async function findResult(
  request: RequestContext,
  name: ListName,
  { candidates, inlinedBytes, afterPrediction, step }: Candidates,
): Promise<Buffer> {
  const { store } = request;
  if (candidates.length > PATH_SETS.maxListed)
    throw new AssayError('ASSAY_BAD_MESSAGE', `the limit is ${PATH_SETS.maxListed} candidates`);
  const parsed = candidates.map(({ set, result }) => ({ set, key: parseHash(result.toString('hex')) }));
  const isCounted = afterPrediction && !request.dropPrediction(name);
  for (const { set, key } of parsed) {
    const result = await store.results.get({ namespace: name.namespace, key });
    if (!result) continue;
    if (!isCounted) request.lookedUp('ac', 'assay', true, { namespace: name.namespace, key: name.key });
    markUsed(request, name, set);
    const blobs = await selectBlobs(request, result.bytes, inlinedBytes);
    return encodeFound(request, { result: key, answer: appendBlobs({ result: result.bytes, blobs }) });
  }
  request.lookedUp('ac', 'assay', false, { namespace: name.namespace, key: name.key });
  return encodeFound(request, { earlier: await earlierAction(request, name, stepIn(step)) });
}

function encodeFound(
  { server: { metrics } }: RequestContext,
  { result = '', answer = NO_BYTES, earlier = NO_BYTES }: Partial<FindResultResponse>,
): Buffer {
  const found = Buffer.from(FindResultResponse.encode({ mark: FIND_MARK, result, answer, earlier }).finish());
  metrics.sent(found.length);
  return found;
}

/**
 * Moves a set to the front, without delaying the answer. Only the order is lost if that fails. A crowded
 * server and a read-only one leave the order as it is, and so does an identity that may not write.
 */
function markUsed(
  { store, server: { capacity, lifecycle, readOnly } }: RequestContext,
  name: ListName,
  set: Uint8Array,
): void {
  if (!store.identity.rights.has('results:write')) return;
  if (readOnly || capacity.isCrowded || set.length !== SET_NAME_BYTES) return;
  const prefix = Buffer.from(set).toString('hex');
  const move = () =>
    store.results.update(listAddress(name.namespace, name.key), (record) => {
      const entries = decodeList(record);
      const used = entries.find((entry) => entry.set.hash.startsWith(prefix));
      const moved = used && withFirst(entries, used, entries.length);
      return moved && encodeList(moved);
    });
  lifecycle.whileWriting(move).catch(() => {});
}
