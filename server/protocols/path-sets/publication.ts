// Stores a result, its small blobs and its path set, which came in one request.
// The order is that of single requests: the blobs, then the result, then the set. So a reader never sees a
// result whose blobs are missing, or a set without its blob.
//
// The body is the result with the blobs behind it (core/inlined-blobs.ts). A blob with another digest than the
// announced one refuses the whole request.
import type { Hash } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import { type InlinedBlob, splitBlobs } from '../../../core/inlined-blobs.ts';
import { PUBLISH_MARK } from '../../../core/path-set.ts';
import { PublishResponse } from '../../../core/proto/generated/assay.ts';
import { all } from '../../access/rights.ts';
import type { RequestContext } from '../../context.ts';
import { addToList, hasPathSets, type ListName } from './lists.ts';

export const PUBLISH = all('blobs:write', 'results:write');

interface Publication {
  /** The key of the result. */
  readonly result: Hash;
  /** The path set that leads to it. */
  readonly set: Hash | undefined;
  /** Store nothing if the action has path sets: the client has compared its result with none. */
  readonly isFirst: boolean;
  /** The result must not be served: it is what a check of the stored one made (`--check-hits`). */
  readonly asRival: boolean;
}

/** An encoded PublishResponse. */
export async function publishPathSet(
  request: RequestContext,
  name: ListName,
  { result: key, set, isFirst, asRival }: Publication,
  body: Buffer,
): Promise<Buffer> {
  const { store, server } = request;
  const { result, blobs } = splitBlobs(body);
  if (blobs.length > server.limits.maxPublishedBlobs)
    throw new AssayError('ASSAY_BATCH_TOO_LARGE', `the limit is ${server.limits.maxPublishedBlobs} blobs`);
  if (isFirst && (await hasPathSets(request, name))) return encode('listed');
  const outcome = await server.lifecycle.whileWriting(async () => {
    await putAll(request, blobs);
    return store.results.put({ namespace: name.namespace, key }, result, { asRival });
  });
  if (set) await addToList(request, name, set);
  return encode(outcome);
}

/** All at once, so that they share a commit. Waits for all of them, also if one fails. */
async function putAll({ store }: RequestContext, blobs: readonly InlinedBlob[]): Promise<void> {
  const puts = blobs.map(({ hash, bytes }) => store.blobs.put({ hash, size: bytes.length }, bytes));
  for (const put of await Promise.allSettled(puts)) if (put.status === 'rejected') throw put.reason;
}

function encode(outcome: string): Buffer {
  return Buffer.from(PublishResponse.encode({ mark: PUBLISH_MARK, outcome }).finish());
}
