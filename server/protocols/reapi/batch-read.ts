// BatchReadBlobs: many small blobs in one call. The response has one entry for each digest of the request, in
// order, also for repeated digests.
import { type Digest, parseDigest, toWire } from '../../../core/digest.ts';
import { AssayError } from '../../../core/errors.ts';
import {
  BatchReadBlobsRequest,
  BatchReadBlobsResponse,
  type BatchReadBlobsResponse_Response,
  Compressor_Value,
} from '../../../core/proto/generated/reapi-services.ts';
import { ABOUT_MANY_DIGESTS } from '../../../core/proto/request-shapes.ts';
import type { RequestContext } from '../../context.ts';
import { singleRequest } from '../../grpc/method.ts';
import { wholeBlob } from '../../http/blob-bytes.ts';
import { checkBatchSize, OK, statusFor } from './batch.ts';
import { instanceOf } from './instance.ts';
import { compress } from './zstd.ts';

const NOTHING = Buffer.alloc(0);
const MISS = new AssayError('ASSAY_NOT_FOUND', 'the blob is not in the store');

export const batchReadBlobs = singleRequest(
  BatchReadBlobsRequest,
  ABOUT_MANY_DIGESTS,
  async (request, call) => {
    const { server } = call;
    instanceOf(request);
    const digests = request.digests.map(parseDigest);
    checkBatchSize(
      digests.map(({ size }) => size),
      server.limits,
    );
    const mayCompress = request.acceptableCompressors.includes(Compressor_Value.ZSTD);
    const responses = await Promise.all(digests.map((digest) => read(digest, mayCompress, call)));
    const bytes = BatchReadBlobsResponse.encode({ responses }).finish();
    server.metrics.sent(bytes.length);
    call.answerAndFree(bytes);
  },
);

async function read(
  digest: Digest,
  mayCompress: boolean,
  { server, store }: RequestContext,
): Promise<BatchReadBlobsResponse_Response> {
  const about = { digest: toWire(digest), compressor: Compressor_Value.IDENTITY };
  try {
    const blob = await store.blobs.get(digest.hash);
    const isHere = blob?.size === digest.size;
    server.metrics.lookedUp('cas', isHere);
    if (!isHere) throw MISS;
    const data = await wholeBlob(blob);
    const small = mayCompress ? compress(data) : data;
    if (small.length >= data.length) return { ...about, status: OK, data };
    return { ...about, status: OK, data: small, compressor: Compressor_Value.ZSTD };
  } catch (error) {
    return { ...about, status: statusFor(error, server), data: NOTHING };
  }
}
