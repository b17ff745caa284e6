// BatchUpdateBlobs: many small blobs in one call. Each blob has its own status.
import { AssayError } from '../../../core/errors.ts';
import type { Status } from '../../../core/proto/generated/google/rpc/status.ts';
import {
  BatchUpdateBlobsRequest,
  type BatchUpdateBlobsRequest_Request,
  BatchUpdateBlobsResponse,
  Compressor_Value,
} from '../../../core/proto/generated/reapi-services.ts';
import { BATCH_UPDATE } from '../../../core/proto/request-shapes.ts';
import type { RequestContext } from '../../context.ts';
import { singleRequest } from '../../grpc/method.ts';
import { checkBatchSize, OK, statusFor } from './batch.ts';
import { digestIn, instanceOf } from './instance.ts';
import { decompress } from './zstd.ts';

export const batchUpdateBlobs = singleRequest(
  BatchUpdateBlobsRequest,
  BATCH_UPDATE,
  async (request, call) => {
    const { server } = call;
    instanceOf(request);
    checkBatchSize(request.requests.map(sizeInMemory), server.limits);
    const responses = await server.lifecycle.whileWriting(() =>
      Promise.all(
        request.requests.map(async (one) => ({
          ...(one.digest && { digest: one.digest }),
          status: await put(one, call),
        })),
      ),
    );
    call.answer(BatchUpdateBlobsResponse.encode({ responses }).finish());
  },
);

function sizeInMemory({ digest, data }: BatchUpdateBlobsRequest_Request): number {
  return Math.max(data.length, digest?.sizeBytes ?? 0);
}

async function put(
  request: BatchUpdateBlobsRequest_Request,
  { server, store }: RequestContext,
): Promise<Status> {
  try {
    const digest = digestIn(request.digest);
    await store.blobs.put(digest, contentOf(request, digest.size));
    return OK;
  } catch (error) {
    return statusFor(error, server);
  }
}

function contentOf({ data, compressor }: BatchUpdateBlobsRequest_Request, size: number): Uint8Array {
  if (compressor === Compressor_Value.IDENTITY) return data;
  if (compressor === Compressor_Value.ZSTD) return decompress(data, size);
  throw new AssayError('ASSAY_UNSUPPORTED', 'the compressor must be zstd or identity');
}
