// FindMissingBlobs: which of these the client has to send. What is there is said to be in use by that.
import { parseDigest } from '../../../core/digest.ts';
import {
  FindMissingBlobsRequest,
  FindMissingBlobsResponse,
} from '../../../core/proto/generated/reapi-services.ts';
import { ABOUT_MANY_DIGESTS } from '../../../core/request-shapes.ts';
import { taking } from '../../grpc/method.ts';
import { instanceOf } from './instance.ts';

export const findMissingBlobs = taking(FindMissingBlobsRequest, ABOUT_MANY_DIGESTS, async (request, call) => {
  instanceOf(request);
  const missing = await call.server.store.blobs.missing(request.blobDigests.map(parseDigest));
  const missingBlobDigests = missing.map(({ hash, size }) => ({ hash, sizeBytes: size }));
  call.answer(FindMissingBlobsResponse.encode({ missingBlobDigests }).finish());
});
